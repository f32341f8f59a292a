package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.Memory;
import dev.verbena.raw.ibv_cq;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The warning of a completion queue that its queue pairs can overrun. */
class CompletionQueueOverrunTest extends FakeDeviceFixture {
  private static final Logger LOGGER = Logger.getLogger("dev.verbena");

  private final List<String> messages = new CopyOnWriteArrayList<>();
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord record) {
          messages.add(record.getLevel() + ": " + record.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  @BeforeEach
  void listen() {
    LOGGER.addHandler(handler);
  }

  @AfterEach
  void stopListening() {
    LOGGER.removeHandler(handler);
  }

  private QueuePair queuePair(CompletionQueue queue, int requests) {
    return pd.queuePair(QueuePairType.RC)
        .completions(queue)
        .capacity(QueuePairCapacity.of(requests))
        .create();
  }

  @Test
  void aQueueThatIsTooSmallIsReported() {
    CompletionQueue queue = context.createCompletionQueue(64);
    QueuePair first = queuePair(queue, 16);
    queuePair(queue, 16);
    assertEquals(List.of(), messages);
    first.close();
    QueuePair third = queuePair(queue, 16);
    assertEquals(List.of(), messages, "the first one is gone");
    third.close();
    QueuePair fourth = queuePair(queue, 20);
    queuePair(queue, 1);
    assertEquals(1, messages.size());
    String message = messages.getFirst();
    assertTrue(message.startsWith("WARNING: completion queue of "), message);
    for (String part :
        List.of("holds 64", fourth.toString(), "72 work requests", "IBV_EVENT_CQ_ERR")) {
      assertTrue(message.contains(part), message);
    }
  }

  @Test
  void aRequestedCapacityIsEnough() {
    CompletionQueue queue = context.createCompletionQueue(32);
    MemorySegment struct = Memory.at(queue.segment().address(), ibv_cq.sizeof());
    ibv_cq.cqe(struct, 31);
    queuePair(queue, 16);
    assertEquals(List.of(), messages);
    queue.resize(64);
    ibv_cq.cqe(struct, 63);
    queuePair(queue, 16);
    assertEquals(List.of(), messages);
    queuePair(queue, 1);
    assertEquals(1, messages.size());
    assertTrue(messages.getFirst().contains("holds 64"), messages.getFirst());
  }

  @Test
  void warningCanBeDisabled() {
    queuePair(context.completionQueue(4).withoutCapacityWarning().create(), 16);
    assertEquals(List.of(), messages);
  }

  @Test
  void sharedReceivesAreNotCounted() {
    SharedReceiveQueue shared = pd.createSharedReceiveQueue(16);
    CompletionQueue queue = context.createCompletionQueue(32);
    for (int i = 0; i < 2; i++) {
      pd.queuePair(QueuePairType.RC)
          .completions(queue)
          .sharedReceiveQueue(shared)
          .capacity(QueuePairCapacity.of(16))
          .create();
    }
    assertEquals(List.of(), messages);
  }
}
