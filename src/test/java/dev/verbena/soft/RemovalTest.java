package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.soft.engine.Engine;
import dev.verbena.soft.engine.Timer;
import dev.verbena.soft.transport.SoftQueuePair;
import dev.verbena.testing.Await;
import dev.verbena.values.AsyncEventType;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

/** Devices that are removed or fail, and queues that are full on demand. */
class RemovalTest {
  private static final Duration LONG = Await.LIMIT;

  private static AsyncEventType event(Context context) throws InterruptedException {
    AsyncEvent event;
    do { // The first packet may have raised COMM_EST.
      event = AsyncEvents.of(context).poll(LONG);
      assertNotNull(event, "no event");
    } while (event.type() == AsyncEventType.COMM_EST);
    return event.type();
  }

  @Test
  void removedDeviceFlushesReportsItAndCanBeClosed() throws Exception {
    try (SoftPair pair = SoftPair.connected()) {
      pair.transfer(1, 100);
      ReceiveList receives = new ReceiveList(1, 1);
      receives.local(0, pair.b.region, 0, 8);
      assertEquals(receives.size(), pair.b.queuePair.post(receives));
      pair.network.removeDevice("soft1");
      assertEquals(AsyncEventType.DEVICE_FATAL, event(pair.b.context));
      assertEquals(CompletionStatus.WR_FLUSH_ERR, SoftPair.await(pair.b.completions));
      VerbsException gone =
          assertThrows(VerbsException.class, pair.b.context::allocateProtectionDomain);
      assertEquals(Errno.EIO, gone.errno());
      assertEquals(
          Errno.EIO,
          assertThrows(VerbsException.class, () -> pair.b.context.port(1).attributes()).errno());
      SendList sends = new SendList(1, 1);
      sends.send(0).local(pair.a.region, 0, 8).signaled();
      assertEquals(sends.size(), pair.a.queuePair.post(sends));
      assertEquals(CompletionStatus.RETRY_EXC_ERR, pair.completion(), "as after a cable is cut");
      assertThrows(IllegalArgumentException.class, () -> pair.network.removeDevice("soft1"));
      pair.network.addDevice("soft1").open().close();
    }
  }

  @Test
  void filledQueuesTakeNothing() {
    try (SoftPair pair = SoftPair.connected()) {
      SendList sends = new SendList(2, 1);
      sends.send(0).local(pair.a.region, 0, 8);
      sends.send(1).local(pair.a.region, 0, 8);
      ReceiveList receives = new ReceiveList(1, 1);
      receives.local(0, pair.a.region, 0, 8);
      pair.network.faults().fillQueues("soft0");
      assertEquals(0, pair.a.queuePair.post(sends));
      assertEquals(0, pair.a.queuePair.post(receives));
      pair.network.faults().freeQueues();
      pair.transfer(2, 100);
    }
  }

  /** Collects what the software device logs. */
  private static final class Collector extends Handler implements AutoCloseable {
    private static final Logger LOGGER = Logger.getLogger(Engine.class.getName());
    private final BlockingQueue<Throwable> thrown = new LinkedBlockingQueue<>();

    Collector() {
      LOGGER.addHandler(this);
      LOGGER.setUseParentHandlers(false);
    }

    @Override
    public void publish(LogRecord record) {
      thrown.add(record.getThrown());
    }

    @Override
    public void flush() {}

    @Override
    public void close() {
      LOGGER.removeHandler(this);
      LOGGER.setUseParentHandlers(true);
    }
  }

  @Test
  void internalErrorOfAQueuePairIsReportedAndLogged() throws Exception {
    try (Collector log = new Collector();
        SoftPair pair = SoftPair.connected()) {
      pair.transfer(1, 8);
      SoftQueuePair broken = SoftQueuePair.at(pair.a.queuePair.segment().address());
      pair.network.engine.locked(() -> broken.path = null); // The next packet cannot be sent.
      pair.post(8);
      assertEquals(AsyncEventType.DEVICE_FATAL, event(pair.a.context));
      assertEquals(CompletionStatus.WR_FLUSH_ERR, pair.completion());
      assertEquals(NullPointerException.class, log.thrown.take().getClass());
    }
    try (SoftPair other = SoftPair.connected()) {
      other.transfer(1, 8);
    }
  }

  @Test
  void internalErrorOfATimerFailsWhatIsOutstandingAndIsLogged() throws Exception {
    try (Collector log = new Collector();
        SoftPair pair = SoftPair.connected()) {
      ReceiveList receives = new ReceiveList(1, 1);
      receives.local(0, pair.b.region, 0, 8);
      assertEquals(1, pair.b.queuePair.post(receives));
      pair.network.engine.locked(
          () ->
              new Timer(
                      pair.network.engine.timers(),
                      () -> {
                        throw new ArithmeticException("planted");
                      })
                  .start(System.nanoTime()));
      assertEquals(AsyncEventType.DEVICE_FATAL, event(pair.a.context));
      assertEquals(AsyncEventType.DEVICE_FATAL, event(pair.b.context));
      assertEquals("planted", log.thrown.take().getMessage());
      assertEquals(CompletionStatus.WR_FLUSH_ERR, SoftPair.await(pair.b.completions));
      pair.reconnect();
      pair.transfer(1, 8); // The network's thread goes on.
    }
  }
}
