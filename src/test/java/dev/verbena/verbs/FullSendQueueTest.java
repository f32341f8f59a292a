package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.CompletionOpcode;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.ToIntBiFunction;

/** What a full send queue takes no more leaves what was posted before as it is. */
class FullSendQueueTest {
  @DeviceTest
  void fullSendQueueRejectsThePosting() {
    try (Pair pair = QpExTest.rc(SendOperation.SEND)) {
      int room = pair.a.queuePair.query(QueuePairAttribute.CAP).capacity().sendRequests();
      try (Posting posting = pair.a.queuePair.startPosting()) {
        for (int i = 0; i <= 2 * room; i++) {
          posting.send().local(pair.a.memory, 0, 8);
        }
        assertEquals(0, posting.complete());
      }
      pair.b.receive(1);
      PostingRequest posting = pair.a.queuePair.startPosting().send().signaled();
      QpExTest.run(pair.a, posting.local(pair.a.memory, 0, 8));
      assertEquals(1, pair.b.completion(CompletionStatus.SUCCESS).id(0));
      assertEquals(0, pair.b.completionQueue.poll(new Completions(1)), "none of the others came");
    }
  }

  @DeviceTest
  void fullSendQueueKeepsTheRequestsOfPostings() {
    fullSendQueueKeepsItsRequests(
        (queuePair, from) -> {
          try (Posting posting = queuePair.startPosting()) {
            posting.send().local(from, 0, 8);
            return posting.complete();
          }
        });
  }

  /** libmlx5 has no request to write to by mistake when the first posting finds a full queue. */
  @DeviceTest
  void fullSendQueueKeepsTheRequestsOfLists() {
    SendList list = new SendList(1, 1);
    fullSendQueueKeepsItsRequests(
        (queuePair, from) -> {
          list.send(0).local(from, 0, 8);
          list.unsignaled(0);
          return queuePair.post(list);
        });
  }

  private static void fullSendQueueKeepsItsRequests(ToIntBiFunction<QueuePair, MemoryRegion> post) {
    List<BiConsumer<Posting, Pair>> others =
        List.of(
            (posting, pair) -> posting.send().local(pair.a.memory, 0, QpExTest.SIZE),
            (posting, pair) -> posting.sendWithImmediate(1).local(pair.a.memory, 0, QpExTest.SIZE),
            (posting, pair) -> posting.write(pair.b.memory.start(), 1).local(pair.a.memory, 0, 1),
            (posting, pair) -> posting.read(pair.b.memory.start(), 1).local(pair.a.memory, 0, 1),
            (posting, pair) -> posting.fetchAndAdd(0, 1, 1).local(pair.a.memory, 0, 8),
            (posting, pair) -> posting.write(0, 1).inline(pair.a.memory.memory().asSlice(0, 8)));
    for (BiConsumer<Posting, Pair> other : others) {
      try (Pair pair =
          Rig.orSkip(
              () ->
                  Pair.inUse(
                      QueuePairType.RC,
                      builder ->
                          builder
                              .capacity(QueuePairCapacity.of(16).withMaxInlineData(8))
                              .sendOperations(
                                  SendOperation.SEND,
                                  SendOperation.SEND_WITH_IMM,
                                  SendOperation.RDMA_WRITE,
                                  SendOperation.RDMA_READ,
                                  SendOperation.ATOMIC_FETCH_AND_ADD)))) {
        int posted = 0;
        while (post.applyAsInt(pair.a.queuePair, pair.a.memory) == 1) {
          posted++;
        }
        try (Posting posting = pair.a.queuePair.startPosting()) {
          other.accept(posting, pair);
          assertEquals(0, posting.complete());
        }
        for (int i = 0; i < posted; i++) {
          pair.b.receive(i);
          Completions received = pair.b.completion(CompletionStatus.SUCCESS);
          assertEquals(CompletionOpcode.RECV, received.opcode(0));
          assertFalse(received.flags(0).contains(CompletionFlag.WITH_IMM));
          assertEquals(8, received.byteLength(0));
        }
      }
    }
  }
}
