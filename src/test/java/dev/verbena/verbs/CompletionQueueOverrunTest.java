package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_cq;
import dev.verbena.testing.LoggedMessages;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.logging.Level;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The warning of a completion queue that its queue pairs can overrun. */
class CompletionQueueOverrunTest extends FakeDeviceFixture {
  private final LoggedMessages messages = new LoggedMessages("dev.verbena", Level.WARNING, "");

  @AfterEach
  void stopListening() {
    messages.close();
  }

  private QueuePair queuePair(CompletionQueue queue, int requests) {
    return QueuePair.builder(pd, QueuePairType.RC)
        .completions(queue)
        .capacity(QueuePairCapacity.of(requests))
        .create();
  }

  @Test
  void aQueueThatIsTooSmallIsReported() {
    CompletionQueue queue = context.createCompletionQueue(64);
    QueuePair first = queuePair(queue, 16);
    queuePair(queue, 16);
    assertEquals(List.of(), messages.all());
    first.close();
    QueuePair third = queuePair(queue, 16);
    assertEquals(List.of(), messages.all(), "the first one is gone");
    third.close();
    QueuePair fourth = queuePair(queue, 20);
    queuePair(queue, 1);
    assertEquals(1, messages.all().size());
    String message = messages.all().getFirst();
    assertTrue(message.startsWith("WARNING: completion queue "), message);
    for (String part :
        List.of("holds 64", fourth.toString(), "72 work requests", "IBV_EVENT_CQ_ERR")) {
      assertTrue(message.contains(part), message);
    }
  }

  /** Those that a queue with as many entries has room for. */
  @Test
  void sendsAndReceivesOfTheFirstQueuePairAreCountedTogether() {
    queuePair(context.createCompletionQueue(10), 16);
    assertEquals(1, messages.all().size());
    String message = messages.all().getFirst();
    assertTrue(message.contains("can have 32 work requests outstanding"), message);
  }

  @Test
  void queuesForSendsAndReceivesAreCountedApart() {
    QueuePair.builder(pd, QueuePairType.RC)
        .sendCompletions(context.createCompletionQueue(16))
        .receiveCompletions(context.createCompletionQueue(16))
        .capacity(QueuePairCapacity.of(16))
        .create();
    assertEquals(List.of(), messages.all());
  }

  @Test
  void aRequestedCapacityIsEnough() {
    CompletionQueue queue = context.createCompletionQueue(32);
    MemorySegment struct = Memory.at(queue.segment().address(), ibv_cq.sizeof());
    ibv_cq.cqe(struct, 31);
    queuePair(queue, 16);
    assertEquals(List.of(), messages.all());
    queue.resize(64);
    ibv_cq.cqe(struct, 63);
    queuePair(queue, 16);
    assertEquals(List.of(), messages.all());
    queuePair(queue, 1);
    assertEquals(1, messages.all().size());
    assertTrue(messages.all().getFirst().contains("holds 64"), messages.all().getFirst());
  }

  @Test
  void warningCanBeDisabled() {
    queuePair(context.completionQueue(4).withoutCapacityWarning().create(), 16);
    assertEquals(List.of(), messages.all());
  }

  @Test
  void sharedReceivesAreNotCounted() {
    SharedReceiveQueue shared = SharedReceiveQueue.create(pd, 16);
    CompletionQueue queue = context.createCompletionQueue(32);
    for (int i = 0; i < 2; i++) {
      QueuePair.builder(pd, QueuePairType.RC)
          .completions(queue)
          .sharedReceiveQueue(shared)
          .capacity(QueuePairCapacity.of(16))
          .create();
    }
    assertEquals(List.of(), messages.all());
  }
}
