package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.Verbs;
import dev.verbena.soft.device.Completion;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftChannel;
import dev.verbena.soft.device.SoftCompletionQueue;
import dev.verbena.soft.engine.Engine;
import dev.verbena.testing.Await;
import dev.verbena.values.AsyncEventType;
import dev.verbena.values.CompletionField;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionCursor;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.ExtendedCompletionQueue;
import dev.verbena.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

/** Internal errors of software devices. */
class DeviceBehaviourTest {
  /** Keeps the logger, which nothing else refers to. */
  private static final Logger LOGGER = Logger.getLogger(Engine.class.getName());

  /** Collects what is logged. */
  private static final class Log extends Handler {
    private final BlockingQueue<LogRecord> records = new LinkedBlockingQueue<>();

    @Override
    public void publish(LogRecord logRecord) {
      records.add(logRecord);
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }

  private static void send(SoftPair pair) {
    SendList list = new SendList(1, 1);
    list.send(0).local(pair.a.region, 0, 8).signaled();
    assertEquals(1, pair.a.queuePair.post(list));
  }

  @Test
  void internalErrorIsLoggedAndADeviceFatalEvent() throws Exception {
    Log log = new Log();
    LOGGER.addHandler(log);
    LOGGER.setUseParentHandlers(false);
    try (SoftPair pair = SoftPair.connected()) {
      pair.network.engine.locked(
          () -> SoftInternals.of(pair.a.queuePair).path = null); // breaks the device
      send(pair);
      assertEquals(CompletionStatus.WR_FLUSH_ERR, pair.completion());
      assertSame(AsyncEventType.DEVICE_FATAL, AsyncEvents.of(pair.a.context).take().type());
      assertInstanceOf(NullPointerException.class, log.records.take().getThrown());
    } finally {
      LOGGER.removeHandler(log);
      LOGGER.setUseParentHandlers(true);
    }
  }

  /** As {@code ibv_destroy_cq(3)} says; also if the acknowledgement comes after its beginning. */
  @Test
  void destroyingAQueueWaitsForTheAcknowledgementOfItsEvents() throws Exception {
    try (SoftPair pair = SoftPair.connected();
        Arena arena = Arena.ofConfined()) {
      Verbs verbs = pair.network.provider().verbs();
      CompletionChannel channel = pair.a.context.createCompletionChannel();
      CompletionQueue queue = pair.a.context.completionQueue(4).channel(channel).create();
      long address = queue.segment().address();
      SoftCompletionQueue soft = SoftCompletionQueue.at(address);
      Registry.at(channel.segment().address(), SoftChannel.class).add(soft);
      MemorySegment event = arena.allocate(16, 8);
      verbs.ibv_get_cq_event(channel.segment().address(), event.address(), event.address() + 8);
      Thread closing = Thread.ofPlatform().start(queue::close);
      Await.waits(closing);
      assertTrue(closing.isAlive());
      verbs.ibv_ack_cq_events(address, 1);
      closing.join();
      assertFalse(queue.isOpen());
    }
  }

  /** Not the time at which the engine began its turn. */
  @Test
  void aTimestampIsThatOfTheCompletion() {
    try (SoftPair pair = SoftPair.connected()) {
      ExtendedCompletionQueue queue =
          pair.a.context.completionQueue(4).createExtended(CompletionField.COMPLETION_TIMESTAMP);
      SoftCompletionQueue soft = SoftCompletionQueue.at(queue.segment().address());
      long before =
          pair.network.engine.locked(
              () -> {
                long start = System.nanoTime();
                while (System.nanoTime() == start) {
                  Thread.onSpinWait();
                }
                soft.add(new Completion(), false);
                return soft.device.ticks(start + 1);
              });
      try (CompletionCursor cursor = queue.startPolling()) {
        assertTrue(cursor.next());
        assertTrue(before <= cursor.timestamp(), before + " " + cursor.timestamp());
      }
    }
  }
}
