package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.soft.transport.SoftQueuePair;
import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;
import dev.verbena.soft.wire.Psn;
import dev.verbena.testing.Await;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a responder answers to requests that a test sends packet by packet. */
class ResponderTest {
  private static final Pattern ANSWER =
      Pattern.compile(
          "sent .* RC_(ACKNOWLEDGE|ATOMIC_ACKNOWLEDGE|RDMA_READ_RESPONSE_\\w+) .*psn=(\\S+).*");

  private final SoftPair pair = SoftPair.connected();
  private final Queue<String> answers = new ConcurrentLinkedQueue<>();
  private SoftQueuePair requester;
  private int first;

  @BeforeEach
  void watch() {
    pair.network.trace(
        line -> {
          Matcher answer = ANSWER.matcher(line);
          if (answer.matches()) {
            int psn = Integer.decode(answer.group(2));
            answers.add(answer.group(1) + ' ' + Psn.distance(first, psn));
          }
        });
    pair.network.engine.locked(
        () -> {
          requester = SoftInternals.of(pair.a.queuePair);
          first = requester.attributes.getInt("sq_psn");
        });
  }

  @AfterEach
  void close() {
    pair.close();
  }

  /** Sends a request for the start of the memory of b, which asks for an answer. */
  private void request(int operation, int at, int length) {
    pair.network.engine.locked(
        () -> {
          Packet packet =
              pair.network
                  .deviceNamed("soft0")
                  .packets
                  .take()
                  .reset(Opcode.RC | operation, requester.remoteNumber, Psn.plus(first, at));
          packet.ackRequested = true;
          packet.address = pair.b.region.start();
          packet.remoteKey = pair.b.region.rkey();
          packet.dmaLength = length;
          packet.length = Opcode.isWrite(operation) ? length : 0;
          requester.transmit(packet);
        });
  }

  private void assertAnswers(String... expected) {
    Await.until(() -> "answers: " + answers, () -> answers.size() >= expected.length);
    assertEquals(List.of(expected), List.copyOf(answers));
    answers.clear();
  }

  /**
   * An acknowledgement beyond a READ tells the requester that the response is lost. Soft-RoCE takes
   * one with the PSN of the READ for the response.
   */
  @Test
  void theAcknowledgementOfADuplicateDoesNotCoverALaterRead() {
    request(Opcode.WRITE_ONLY, 0, 8);
    assertAnswers("ACKNOWLEDGE 0");
    request(Opcode.READ_REQUEST, 1, 8);
    assertAnswers("RDMA_READ_RESPONSE_ONLY 1");
    request(Opcode.WRITE_ONLY, 0, 8);
    assertAnswers("ACKNOWLEDGE 0");
  }

  @Test
  void theAcknowledgementOfADuplicateDoesNotCoverALaterAtomicOperation() {
    request(Opcode.WRITE_ONLY, 0, 8);
    assertAnswers("ACKNOWLEDGE 0");
    request(Opcode.FETCH_ADD, 1, 0);
    assertAnswers("ATOMIC_ACKNOWLEDGE 1");
    request(Opcode.WRITE_ONLY, 0, 8);
    assertAnswers("ACKNOWLEDGE 0");
  }

  @Test
  void theAcknowledgementOfNewRequestsCoversDuplicates() {
    pair.network.engine.locked(
        () -> {
          request(Opcode.WRITE_ONLY, 0, 8);
          request(Opcode.WRITE_ONLY, 1, 8);
          request(Opcode.WRITE_ONLY, 0, 8);
        });
    assertAnswers("ACKNOWLEDGE 1");
  }

  @Test
  void duplicatesThatArriveTogetherAreAcknowledgedOnce() {
    request(Opcode.WRITE_ONLY, 0, 8);
    assertAnswers("ACKNOWLEDGE 0");
    request(Opcode.WRITE_ONLY, 1, 8);
    assertAnswers("ACKNOWLEDGE 1");
    request(Opcode.READ_REQUEST, 2, 8);
    assertAnswers("RDMA_READ_RESPONSE_ONLY 2");
    pair.network.engine.locked(
        () -> {
          request(Opcode.WRITE_ONLY, 0, 8);
          request(Opcode.WRITE_ONLY, 1, 8);
          request(Opcode.READ_REQUEST, 2, 8);
        });
    assertAnswers("ACKNOWLEDGE 1", "RDMA_READ_RESPONSE_ONLY 2");
  }

  @Test
  void theEndOfAReadIsSentAgain() {
    request(Opcode.READ_REQUEST, 0, 10_000);
    assertAnswers(
        "RDMA_READ_RESPONSE_FIRST 0", "RDMA_READ_RESPONSE_MIDDLE 1", "RDMA_READ_RESPONSE_LAST 2");
    request(Opcode.READ_REQUEST, 1, 5_904);
    assertAnswers("RDMA_READ_RESPONSE_FIRST 1", "RDMA_READ_RESPONSE_LAST 2");
    request(Opcode.READ_REQUEST, 2, 1_808);
    assertAnswers("RDMA_READ_RESPONSE_ONLY 2");
  }
}
