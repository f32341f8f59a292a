package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.Gid;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.EventType;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PortSpace;
import dev.verbena.flow.FlowCounters;
import dev.verbena.internal.time.Time;
import dev.verbena.messages.Connection;
import dev.verbena.raw.ibv_context;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AsyncEventType;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionCursor;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.DeviceMemory;
import dev.verbena.verbs.ExtendedCompletionQueue;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.ParentDomain;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.XrcDomain;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Devices that the kernel takes away: it then answers EIO, also to calls that destroy objects. */
class DeviceLossTest {
  private static final int CONNECTIONS = 50;

  private static long descriptors() throws Exception {
    try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
      return all.count();
    }
  }

  /** Creates an object of each kind that has children, or a descriptor, or memory of its own. */
  private static void useEverything(Context context) {
    ProtectionDomain domain = context.allocateProtectionDomain();
    CompletionChannel channel = context.createCompletionChannel();
    var completions = context.completionQueue(8).channel(channel).create();
    var receives = SharedReceiveQueue.builder(domain, 4).create();
    QueuePair datagrams =
        QueuePair.builder(domain, QueuePairType.UD)
            .completions(completions)
            .sharedReceiveQueue(receives)
            .capacity(QueuePairCapacity.of(4))
            .create();
    datagrams.activate();
    datagrams.attachMulticast(Gid.parse("ff0e::1"), 0);
    ProtectionDomain parent = ParentDomain.builder(domain).create();
    var _ = parent.allocateMemory(4096, AccessFlag.LOCAL_WRITE);
    var _ = MemoryWindow.allocate(domain, MemoryWindowType.TYPE_1);
    var _ = XrcDomain.open(context);
    var _ = DeviceMemory.allocate(context, 64);
    var _ = FlowCounters.on(context);
    completions.requestNotification();
  }

  @Test
  void everythingOfALostDeviceIsClosed() throws Exception {
    try (SoftNetwork network = SoftNetwork.create()) {
      var device = network.addDevice("soft0");
      device.open().close(); // Opens what a process opens once.
      long before = descriptors();
      try (Context context = device.open()) {
        useEverything(context);
        var _ = network.faults().loseDevice("soft0");
        assertTrue(context.isLost());
        VerbsException refused =
            assertThrows(VerbsException.class, context::allocateProtectionDomain);
        assertEquals(Errno.EIO, refused.errno());
      }
      assertEquals(before, descriptors());
      assertEquals(Map.of(), network.openObjects());
      network.addDevice("soft0").open().close();
    }
  }

  /** Its descriptor may be that of something else by then. */
  @Test
  void contextThatRdmaCmOpenedOnALostDeviceIsClosedOnce() throws Exception {
    InetAddress lost = InetAddress.ofLiteral("10.78.0.1");
    InetAddress other = InetAddress.ofLiteral("10.78.0.2");
    try (SoftNetwork network = SoftNetwork.create()) {
      var _ = network.addDevice("soft0", lost);
      var _ = network.addDevice("soft1", other);
      try (EventChannel channel = network.call(EventChannel::open);
          ConnectionId kept = channel.createId(PortSpace.TCP)) {
        kept.bind(new InetSocketAddress(other, 0));
        try (ConnectionId id = channel.createId(PortSpace.TCP)) {
          id.bind(new InetSocketAddress(lost, 0));
          var _ = network.faults().loseDevice("soft0");
        }
        try (EventChannel _ = network.call(EventChannel::open)) { // Has the same descriptor.
          long before = descriptors();
          ConnectionId next = channel.createId(PortSpace.TCP);
          next.bind(new InetSocketAddress(other, 0));
          next.close();
          assertEquals(before, descriptors());
        }
      }
    }
  }

  @Test
  void memoryOfALostDeviceIsReleased() throws Exception {
    try (SoftNetwork network = SoftNetwork.create();
        Context context = network.addDevice("soft0").open()) {
      ProtectionDomain domain = context.allocateProtectionDomain();
      MemorySegment allocated = domain.allocateMemory(64, AccessFlag.LOCAL_WRITE).memory();
      try (Arena arena = Arena.ofShared()) {
        var region = domain.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
        var _ = network.faults().loseDevice("soft0");
        region.close();
      } // An arena whose memory is registered could not be closed.
      domain.close();
      assertFalse(allocated.scope().isAlive(), "freed with the region");
    }
  }

  @Test
  void objectsOfAnotherContextAreClosedAfterTheirDevice() {
    try (SoftNetwork network = SoftNetwork.create()) {
      Context owner = network.addDevice("soft0").open();
      Context borrowed = Context.borrow(owner.segment().reinterpret(ibv_context.sizeof()));
      CompletionQueue queue = borrowed.completionQueue(8).createExtended();
      var _ = network.faults().loseDevice("soft0");
      owner.close();
      queue.close();
      borrowed.close();
      assertEquals(Map.of(), network.openObjects());
    }
  }

  @Test
  void eioOfADeviceThatIsNotLostIsAFailure() throws Exception {
    try (SoftNetwork network = SoftNetwork.create();
        Context context = network.addDevice("soft0").open();
        ProtectionDomain domain = context.allocateProtectionDomain()) {
      var _ = network.faults().fail("ibv_dealloc_pd", 1, Errno.EIO);
      assertEquals(Errno.EIO, assertThrows(VerbsException.class, domain::close).errno());
      assertTrue(domain.isOpen());
      assertFalse(context.isLost());
    }
  }

  @Test
  void otherFailuresOfALostDeviceAreNotIgnored() throws Exception {
    try (SoftNetwork network = SoftNetwork.create();
        Context context = network.addDevice("soft0").open();
        ProtectionDomain domain = context.allocateProtectionDomain()) {
      network.removeDevice("soft0");
      assertTrue(context.isLost());
      var _ = network.faults().fail("ibv_dealloc_pd", 1, Errno.EBUSY);
      assertEquals(Errno.EBUSY, assertThrows(VerbsException.class, domain::close).errno());
      assertTrue(domain.isOpen());
    }
  }

  @Test
  void listenersToEventsGetTheLoss() throws Exception {
    BlockingQueue<AsyncEventType> events = new LinkedBlockingQueue<>();
    try (SoftNetwork network = SoftNetwork.create();
        Context context = network.addDevice("soft0").open();
        AsyncEvents.Listening _ =
            AsyncEvents.of(context).listen(event -> events.add(event.type()))) {
      var _ = network.faults().loseDevice("soft0");
      assertEquals(AsyncEventType.DEVICE_FATAL, events.take());
      assertTrue(context.isLost());
    }
  }

  /** Connections between two devices, each end of which is kept. */
  private static final class Connected implements AutoCloseable {
    final Listener listener;
    final List<Connection> ends = new ArrayList<>();

    Connected(SoftNetwork network, InetAddress server) throws Exception {
      listener = network.call(() -> Listener.open(new InetSocketAddress(server, 0)));
      for (int i = 0; i < CONNECTIONS; i++) {
        FutureTask<Connection> accepting = new FutureTask<>(() -> Connection.accept(listener));
        Time.daemon().start(accepting);
        ends.add(network.call(() -> Connection.connect(listener.address().orElseThrow())));
        ends.add(accepting.get());
        ends.get(2 * i).send(new byte[] {(byte) i});
        assertEquals((byte) i, ends.get(2 * i + 1).receive()[0]);
      }
    }

    @Override
    public void close() {
      // At the same time: each of those that remain waits for an acknowledgement of its last
      // message.
      try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
        ends.forEach(end -> threads.execute(end::close));
      }
      listener.close();
    }
  }

  /** RDMA CM opened the context, and closes it with the network, but objects of it are in use. */
  @Test
  @InSimulation
  void objectsThatAreInUseAreClosedAfterTheNetworkOfALostDevice() throws Exception {
    SoftNetwork network = SoftNetwork.create();
    try (network;
        ExecutorService poller = Executors.newSingleThreadExecutor(Time.daemon().factory())) {
      var _ = network.addDevice("soft0", InetAddress.getByName("10.77.0.1"));
      try (EventChannel channel = network.call(EventChannel::open);
          ConnectionId id = channel.createId(PortSpace.TCP)) {
        id.bind(new InetSocketAddress("10.77.0.1", 0));
        ExtendedCompletionQueue queue = id.context().completionQueue(8).createExtended();
        CompletionCursor cursor = poller.submit(queue::startPolling).get();
        var _ = network.faults().loseDevice("soft0");
        // The context stays open, since a thread polls the queue.
        assertThrows(IllegalStateException.class, () -> endNetwork(network));
        assertTrue(queue.isOpen());
        poller.submit(cursor::close).get();
        queue.close();
      }
      assertEquals(Map.of(), network.openObjects());
    }
  }

  private static void endNetwork(SoftNetwork network) {
    network.close();
  }

  @Test
  void connectionsAreClosedAndMadeAgain() throws Exception {
    InetAddress client = InetAddress.getByName("10.77.0.1");
    InetAddress server = InetAddress.getByName("10.77.0.2");
    try (SoftNetwork network = SoftNetwork.create()) {
      var _ = network.addDevice("soft0", client);
      var _ = network.addDevice("soft1", server);
      new Connected(network, server).close();
      Map<String, Integer> before = network.openObjects();
      try (Connected connected = new Connected(network, server)) {
        FutureTask<Object> receiving =
            new FutureTask<>(
                () -> {
                  try {
                    return connected.ends.getLast().receive();
                  } catch (ConnectionException e) {
                    return e.event().type();
                  }
                });
        Time.daemon().start(receiving);
        FutureTask<Connection> accepting =
            new FutureTask<>(() -> Connection.accept(connected.listener));
        Time.daemon().start(accepting);
        var _ = network.faults().loseDevice("soft1");
        assertTrue(
            assertThrows(Exception.class, accepting::get).getCause()
                instanceof ConnectionException);
        for (int i = 0; i < 2; i++) { // Each time, not only the first.
          ConnectionException ended =
              assertThrows(ConnectionException.class, connected.listener::take);
          assertSame(EventType.DEVICE_REMOVAL, ended.event().type());
        }
        assertThrows(ConnectionException.class, connected.listener::poll);
        Await.until("the end of receive", receiving::isDone);
      }
      assertEquals(before, network.openObjects());
      var _ = network.addDevice("soft1", server);
      new Connected(network, server).close();
      assertEquals(before, network.openObjects());
    }
  }
}
