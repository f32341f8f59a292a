package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.Contexts;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.EventType;
import dev.verbena.cm.PortSpace;
import dev.verbena.internal.life.Core;
import dev.verbena.raw.ibv_context;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.engine.Engine;
import dev.verbena.soft.engine.Timer;
import dev.verbena.soft.transport.SoftQueuePair;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.values.AsyncEventType;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
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

  /** As librdmacm does: it may have been removed meanwhile. */
  @Test
  void listLeavesOutADeviceThatCannotBeOpened() throws Exception {
    try (SoftNetwork network = SoftNetwork.create()) {
      Device _ = network.addDevice("soft1", InetAddress.ofLiteral("10.78.0.1"));
      Device _ = network.addDevice("soft2", InetAddress.ofLiteral("10.78.0.2"));
      network.faults().fail("ibv_open_device", 2, Errno.ENOMEM);
      assertEquals(1, network.call(Contexts::list).size());
      assertEquals(2, network.call(Contexts::list).size());
    }
  }

  /** It is removed between the list of librdmacm and the creation of the Java object. */
  @Test
  void deviceOfAContextIsKnownAlthoughItWasRemoved() {
    try (SoftNetwork network = SoftNetwork.create()) {
      Context context = network.addDevice("soft1").open();
      network.removeDevice("soft1");
      MemorySegment struct = context.segment().reinterpret(ibv_context.sizeof());
      assertEquals("soft1", Context.borrow(struct).device().name());
      context.close();
    }
  }

  /** No list of devices closes it earlier, and all objects of the identifier have the same. */
  @Test
  void identifierHasOneContextAlthoughItsDeviceIsRemoved() throws Exception {
    InetSocketAddress local = new InetSocketAddress(InetAddress.ofLiteral("10.78.0.1"), 0);
    try (SoftNetwork network = SoftNetwork.create();
        EventChannel channel = network.call(EventChannel::open)) {
      for (boolean isAskedBefore : List.of(true, false)) {
        Device _ = network.addDevice("soft1", local.getAddress());
        ConnectionId id = channel.createId(PortSpace.TCP);
        id.bind(local);
        Context before = isAskedBefore ? id.context() : null;
        network.removeDevice("soft1");
        assertEquals(List.of(), network.call(Contexts::list));
        Context context = id.context();
        assertEquals(before == null ? context : before, id.context());
        assertTrue(context.isOpen());
        id.close();
        assertFalse(context.isOpen());
        assertTrue(Registry.of(network.fabric).stream().noneMatch(o -> o.device.isRemoved()));
      }
    }
  }

  @Test
  void removalOpensNoContext() throws Exception {
    InetSocketAddress local = new InetSocketAddress(InetAddress.ofLiteral("10.78.0.1"), 0);
    try (SoftNetwork network = SoftNetwork.create();
        EventChannel channel = network.call(EventChannel::open)) {
      Device _ = network.addDevice("soft0", InetAddress.ofLiteral("10.78.0.2"));
      Device _ = network.addDevice("soft1", local.getAddress());
      ConnectionId id = channel.createId(PortSpace.TCP);
      id.bind(local);
      network.removeDevice("soft1");
      assertEquals(EventType.DEVICE_REMOVAL, channel.take().type());
      id.close();
      assertEquals(List.of(), List.copyOf(Registry.of(network.fabric)));
    }
  }

  /** Otherwise librdmacm would keep it after the removal. */
  @Test
  void contextThatTheProgramClosedIsNotKept() throws Exception {
    try (SoftNetwork network = SoftNetwork.create()) {
      Device _ = network.addDevice("soft1", InetAddress.ofLiteral("10.78.0.1"));
      network.call(Contexts::list).getFirst().close();
      network.removeDevice("soft1");
      assertEquals(List.of(), network.call(Contexts::list));
      assertEquals(List.of(), List.copyOf(Registry.of(network.fabric)));
    }
  }

  /** The identifier has another one meanwhile; librdmacm must not close the device at its end. */
  @Test
  void contextThatIsBeingClosedIsKept() throws Exception {
    InetSocketAddress local = new InetSocketAddress(InetAddress.ofLiteral("10.78.0.1"), 0);
    try (SoftNetwork network = SoftNetwork.create();
        EventChannel channel = network.call(EventChannel::open)) {
      Device _ = network.addDevice("soft1", local.getAddress());
      Context context = network.call(Contexts::list).getFirst();
      ConnectionId id = channel.createId(PortSpace.TCP);
      id.bind(local);
      network.removeDevice("soft1");
      Core.of(context).hold();
      FutureTask<Void> closing =
          Background.inBackground(
              () -> {
                context.close();
                return null;
              });
      Await.until("the close", () -> !context.isOpen());
      assertNotEquals(context, id.context());
      id.close();
      assertEquals(1, Registry.of(network.fabric).size());
      Core.of(context).endHold();
      closing.get();
      assertEquals(List.of(), List.copyOf(Registry.of(network.fabric)));
    }
  }

  @Test
  void contextsAreThoseOfTheListAfterItHasFailed() throws Exception {
    InetSocketAddress local = new InetSocketAddress(InetAddress.ofLiteral("10.78.0.1"), 0);
    try (SoftNetwork network = SoftNetwork.create();
        EventChannel channel = network.call(EventChannel::open)) {
      Device _ = network.addDevice("soft1", local.getAddress());
      ConnectionId id = channel.createId(PortSpace.TCP);
      id.bind(local);
      network.faults().fail("rdma_get_devices", 1, Errno.ENOMEM);
      VerbsException _ = assertThrows(VerbsException.class, id::context);
      assertEquals(network.call(Contexts::list), List.of(id.context()));
    }
  }

  /** Threads list the devices, and use identifiers, while others remove and add devices. */
  @Test
  void contextsOfDevicesThatComeAndGoAreClosed() throws Exception {
    List<Context> mixed = new CopyOnWriteArrayList<>();
    try (SoftNetwork network = SoftNetwork.create()) {
      Device _ = network.addDevice("soft0", InetAddress.ofLiteral("10.78.0.9"));
      AtomicInteger changes = new AtomicInteger(300);
      List<FutureTask<Void>> tasks = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        InetAddress local = InetAddress.ofLiteral("10.78.0." + (i + 1));
        String name = "soft" + (i + 1);
        tasks.add(
            repeat(
                changes,
                () -> {
                  Device _ = network.addDevice(name, local);
                  Await.pass(Duration.ofNanos(changes.decrementAndGet() * 2_000L), "its use");
                  network.removeDevice(name);
                }));
        tasks.add(repeat(changes, () -> mixed.addAll(use(network, local))));
      }
      tasks.add(repeat(changes, () -> network.call(Contexts::list)));
      for (FutureTask<Void> task : tasks) {
        task.get();
      }
      assertEquals(1, network.call(Contexts::list).size());
      Await.until(
          () -> "not closed: " + Registry.of(network.fabric),
          () -> Registry.of(network.fabric).stream().noneMatch(o -> o.device.isRemoved()));
    }
    assertEquals(List.of(), mixed);
  }

  private interface Step {
    void run() throws Exception;
  }

  private static FutureTask<Void> repeat(AtomicInteger times, Step step) {
    return Background.inBackground(
        () -> {
          while (times.get() > 0) {
            step.run();
          }
          return null;
        });
  }

  /** Returns the contexts of the objects of one identifier, if there are several. */
  private static Set<Context> use(SoftNetwork network, InetAddress local) throws Exception {
    InetSocketAddress address = new InetSocketAddress(local, 0);
    try (Endpoint endpoint = network.call(() -> Endpoint.bind(PortSpace.TCP, address))) {
      ConnectionId id = endpoint.id();
      Set<Context> all = new HashSet<>(List.of(id.context(), id.domain().context()));
      try (CompletionQueue queue = id.context().createCompletionQueue(1)) {
        all.add(queue.context());
      }
      return all.size() > 1 ? all : Set.of();
    } catch (VerbsException e) {
      return Set.of(); // There is no device, or it was removed.
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
