package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.Contexts;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.PortSpace;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.engine.Engine;
import dev.verbena.soft.engine.Timer;
import dev.verbena.soft.transport.SoftQueuePair;
import dev.verbena.testing.Await;
import dev.verbena.values.AsyncEventType;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
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

  /** librdmacm opened it. */
  @Test
  void contextOfARemovedDeviceIsClosedWithItsLastIdentifier() throws Exception {
    InetSocketAddress local = new InetSocketAddress(InetAddress.ofLiteral("10.78.0.1"), 0);
    try (SoftNetwork network = SoftNetwork.create()) {
      Device _ = network.addDevice("soft0", InetAddress.ofLiteral("10.78.0.2"));
      for (int i = 0; i < 3; i++) {
        Device _ = network.addDevice("soft1", local.getAddress());
        try (Endpoint endpoint = network.call(() -> Endpoint.bind(PortSpace.TCP, local))) {
          assertEquals("soft1", endpoint.id().context().device().name());
          network.removeDevice("soft1");
          Await.until("the event of the removal", () -> endpoint.end().isPresent());
        }
        Await.until(
            () -> "not closed: " + Registry.of(network.fabric),
            () -> Registry.of(network.fabric).stream().noneMatch(o -> o.device.isRemoved()));
      }
    }
  }

  /** An identifier was bound to it, whose context the program has not asked for. */
  @Test
  void contextThatNobodyAskedForIsClosedWithItsLastIdentifier() throws Exception {
    InetSocketAddress local = new InetSocketAddress(InetAddress.ofLiteral("10.78.0.1"), 0);
    try (SoftNetwork network = SoftNetwork.create()) {
      for (int i = 0; i < 3; i++) {
        Device _ = network.addDevice("soft1", local.getAddress());
        EventChannel channel = network.call(EventChannel::open);
        ConnectionId id = channel.createId(PortSpace.TCP);
        id.bind(local);
        network.removeDevice("soft1");
        id.close();
        channel.close();
        assertEquals(List.of(), List.copyOf(Registry.of(network.fabric)));
      }
    }
  }

  /** Otherwise the list that was not made would keep the context of the first device. */
  @Test
  void contextIsClosedAlthoughAListOfDevicesFailed() throws Exception {
    try (SoftNetwork network = SoftNetwork.create()) {
      Device _ = network.addDevice("soft1", InetAddress.ofLiteral("10.78.0.1"));
      Device _ = network.addDevice("soft2", InetAddress.ofLiteral("10.78.0.2"));
      network.faults().fail("ibv_open_device", 2, Errno.ENOMEM);
      VerbsException _ = assertThrows(VerbsException.class, () -> network.call(Contexts::list));
      network.removeDevice("soft1");
      network.removeDevice("soft2");
      assertEquals(List.of(), network.call(Contexts::list));
      assertEquals(List.of(), List.copyOf(Registry.of(network.fabric)));
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
