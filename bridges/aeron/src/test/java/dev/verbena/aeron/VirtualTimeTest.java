package dev.verbena.aeron;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.QueuePair;
import io.aeron.protocol.HeaderFlyweight;
import java.io.IOException;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.DatagramChannel;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.StreamHandler;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a path does when, between two sockets whose time passes as the test says. */
class VirtualTimeTest {
  private final Hosts hosts = new Hosts();
  private final Sockets sockets = new Sockets();
  private final ByteBuffer frame = ByteBuffer.allocateDirect(200);
  private final ByteBuffer received = ByteBuffer.allocateDirect(2000);
  private RdmaChannel first;
  private RdmaChannel second;
  private InetSocketAddress peer;

  @BeforeEach
  void open() throws IOException {
    first = sockets.open(Hosts.A);
    second = sockets.open(Hosts.B);
    peer = Sockets.address(second);
    sockets.pass(1);
  }

  @AfterEach
  void close() throws IOException {
    first.close();
    second.close();
    hosts.close();
  }

  private void send() throws IOException {
    frame.clear();
    assertEquals(200, first.send(frame, peer));
  }

  private boolean receive(DatagramChannel socket) throws IOException {
    received.clear();
    return socket.receive(received) != null;
  }

  /**
   * Lets both receive until they have nothing to do. Real time passes, as the worker takes some.
   */
  private void settle() throws IOException {
    for (int idle = 0; idle < 3; idle++) {
      Worker.call(() -> null);
      sockets.pass(2);
      while (receive(first) || receive(second)) {
        idle = 0;
      }
    }
  }

  private void connect() throws IOException {
    for (int i = 0; i < 100 && sockets.counters.paths.get() == 0; i++) {
      send();
      settle();
    }
    assertEquals(1, sockets.counters.paths.get());
  }

  private void connectBack() throws IOException {
    for (int i = 0; i < 100 && sockets.counters.paths.get() == 1; i++) {
      frame.clear();
      int _ = second.send(frame, Sockets.address(first));
      settle();
    }
    assertEquals(2, sockets.counters.paths.get());
  }

  private long udp() {
    return sockets.counters.sentByUdp.get();
  }

  @Test
  void aPathIsFoundWithinTwoFrames() throws IOException {
    send();
    settle();
    send();
    settle();
    assertEquals(1, sockets.counters.paths.get());
    long udp = udp();
    send();
    assertEquals(udp, udp());
  }

  @Test
  void aSocketThatIsClosedIsLeftAtOnce() throws IOException {
    connect();
    second.close();
    assertTrue(!receive(first));
    sockets.pass(1); // The socket is polled.
    assertTrue(!receive(first));
    assertEquals(0, sockets.counters.paths.get());
    long udp = udp();
    send();
    assertEquals(udp + 1, udp());
  }

  @Test
  void aPeerThatIsSilentIsLeftAfterAsManyProbesAsThereMayBe() throws IOException {
    connect();
    for (int i = 0; i < 20; i++) { // Frames alone are no probes.
      send();
    }
    for (int i = 0; i <= Rendezvous.MAX_UNANSWERED; i++) {
      assertEquals(1, sockets.counters.paths.get());
      sockets.pass(Rendezvous.RENEWAL_MS);
      send();
    }
    assertEquals(0, sockets.counters.paths.get());
    assertEquals(1, sockets.counters.demotions.get());
    // The probes were late, not lost.
    connect();
  }

  @Test
  void aLongPauseOfThisEndIsNoSilenceOfThePeer() throws IOException {
    connect();
    for (int i = 0; i < 5; i++) {
      sockets.pass(2500);
      send();
      assertEquals(1, sockets.counters.paths.get());
      settle();
    }
    assertEquals(0, sockets.counters.demotions.get());
  }

  @Test
  void aPathThatWasNotUsedIsProbedBeforeItIsUsedAgain() throws IOException {
    connect();
    sockets.pass(3500);
    long udp = udp();
    send();
    assertEquals(udp + 1, udp());
    settle();
    send();
    assertEquals(udp + 1, udp());
    assertEquals(0, sockets.counters.demotions.get());
  }

  @Test
  void aPathThatIsNotUsedAnyMoreIsGivenBack() throws IOException {
    connect();
    int handles = handles();
    sockets.pass(40_000);
    settle();
    sockets.pass(5_000);
    settle();
    assertEquals(0, sockets.counters.paths.get());
    assertEquals(handles - 1, handles());
    connect();
  }

  private int handles() {
    return Worker.call(
        () ->
            hosts.network.openObjects().entrySet().stream()
                .filter(entry -> entry.getKey().toLowerCase().contains("address handle"))
                .mapToInt(java.util.Map.Entry::getValue)
                .sum());
  }

  @Test
  void aPeerWithoutTheBridgeIsAskedLessAndLess() throws IOException {
    try (DatagramChannel stock = DatagramChannel.open()) {
      stock.bind(new InetSocketAddress(Hosts.address(Hosts.B), 0));
      stock.configureBlocking(false);
      peer = Sockets.address(stock);
      send();
      settle();
      int hellos = 0;
      for (int i = 0; i < 600; i++) { // A minute.
        sockets.pass(100);
        send();
        received.clear();
        while (stock.receive(received) != null) {
          hellos += received.position() == RendezvousFrame.SIZE ? 1 : 0;
          received.clear();
        }
      }
      assertTrue(hellos >= 12 && hellos <= 20, hellos + " in a minute");
    }
  }

  @Test
  void framesByUdpAreNotKeptWaitingByAPeerWithRdma() throws IOException {
    connect();
    connectBack();
    try (DatagramChannel stock = DatagramChannel.open()) {
      stock.bind(new InetSocketAddress(Hosts.address(Hosts.B), 0));
      for (int i = 0; i < 40; i++) {
        frame.clear();
        assertEquals(200, stock.send(frame, Sockets.address(first)));
      }
    }
    // The time stands still: only the number of calls counts.
    int calls = 0;
    for (int frames = 0; frames < 40; calls++) {
      frames += receive(second) ? 1 : 0;
      frames += receive(first) ? 1 : 0;
    }
    assertTrue(calls < 80, calls + " calls for 40 frames");
  }

  @Test
  void hellosWithTheAddressOfAHostLeaveRoomForIt() throws IOException {
    connect();
    RendezvousFrame hello = new RendezvousFrame();
    try (DatagramChannel other = DatagramChannel.open()) {
      other.bind(new InetSocketAddress(Hosts.address(Hosts.B), 0));
      for (int i = 0; i < 100; i++) {
        hello.set(RendezvousFrame.Kind.HELLO, i, 1).number(i);
        int _ = other.send(hello.bytes(), Sockets.address(first));
        assertTrue(!receive(first));
        sockets.pass(2);
      }
    }
    frame.clear();
    int _ = second.send(frame, Sockets.address(first));
    settle();
    frame.clear();
    int _ = second.send(frame, Sockets.address(first));
    settle();
    assertEquals(2, sockets.counters.paths.get());
  }

  @Test
  void aSocketThatIsConnectedElsewhereHasNoPathsAndNoSources() throws IOException {
    connect();
    connectBack();
    DatagramChannel _ = first.disconnect();
    try (DatagramChannel stock = DatagramChannel.open()) {
      stock.bind(new InetSocketAddress(Hosts.address(Hosts.B), 0));
      DatagramChannel _ = first.connect(Sockets.address(stock));
      assertEquals(1, sockets.counters.paths.get());
      long dropped = sockets.counters.dropped.get();
      for (int i = 0; i <= Rendezvous.MAX_UNANSWERED; i++) {
        sockets.pass(Rendezvous.RENEWAL_MS);
        frame.clear();
        int _ = second.send(frame, Sockets.address(first));
        while (receive(first)) {}
      }
      assertTrue(sockets.counters.dropped.get() > dropped);
      assertEquals(0, sockets.counters.paths.get());
      first.close();
    }
  }

  @Test
  void aQueueThatIsLostBeforeItIsLookedAtIsReplaced() throws IOException {
    send();
    Worker.call(() -> null);
    hosts.network.removeDevice("a");
    sockets.pass(2);
    while (isOpen("queue pair")) {
      assertTrue(!receive(first));
      sockets.pass(1);
    }
    hosts.addDevice("a", Hosts.A);
    for (int i = 0; i < 100 && sockets.counters.paths.get() == 0; i++) {
      sockets.pass(1000);
      send();
      settle();
    }
    assertEquals(1, sockets.counters.paths.get());
  }

  private boolean isOpen(String object) {
    return Worker.call(() -> hosts.network.openObjects().containsKey(object));
  }

  @Test
  void aQueueThatFailedIsLeftOnce() throws Exception {
    connect();
    CountDownLatch blocked = new CountDownLatch(1);
    Worker.run(
        () -> {
          try {
            blocked.await();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
        });
    hosts.network.removeDevice("a");
    for (int i = 0; i < 1000 || sockets.counters.paths.get() > 0; i++) {
      assertTrue(!receive(first));
    }
    assertTrue(Worker.waiting() < 10, Worker.waiting() + " tasks");
    blocked.countDown();
  }

  @Test
  void aDeviceThatIsLostWhileNoSocketUsesItIsClosed() throws IOException {
    connect();
    first.close();
    second.close();
    while (isOpen("queue pair")) {
      Thread.onSpinWait();
    }
    hosts.network.removeDevice("a");
    hosts.network.removeDevice("b");
    while (isOpen("context")) {
      Thread.onSpinWait();
    }
  }

  @Test
  void aDeviceThatCannotBeOpenedHidesNoOther() {
    hosts.network.faults().fail("ibv_open_device", 1, dev.verbena.Errno.EIO);
    assertEquals(Optional.empty(), Devices.obstacle(Hosts.address(Hosts.B)));
    assertEquals(1, Worker.call(() -> hosts.network.openObjects().get("context")));
  }

  @Test
  void rdmaOnlyHoldsForAddressesWithoutAPath() throws IOException {
    Sockets only = new Sockets("rdma-only *");
    try (RdmaChannel socket = only.open(Hosts.A)) {
      for (int port = 1; port <= 2000; port++) {
        frame.clear();
        int sent = socket.send(frame, new InetSocketAddress(Hosts.address("127.0.0.9"), port));
        assertEquals(200, sent);
      }
      assertEquals(0, only.counters.sentByUdp.get());
      assertEquals(2000, only.counters.dropped.get());
    }
  }

  @Test
  void thereIsABoundOfPaths() throws IOException {
    for (int port = 1; port <= 2000; port++) {
      frame.clear();
      int _ = first.send(frame, new InetSocketAddress(Hosts.address("127.0.0.9"), port));
    }
    assertEquals(2000, udp());
    send(); // One too many: by UDP, for ever.
    settle();
    send();
    settle();
    assertEquals(0, sockets.counters.paths.get());
    sockets.pass(40_000);
    settle();
    connect();
  }

  @Test
  void aBusyDeviceOfAWildcardSocketLeavesRoomForTheOthers() throws IOException {
    hosts.addIpv6Device();
    try (RdmaChannel all = sockets.open("::");
        RdmaChannel six = sockets.open(Hosts.SIX)) {
      int port = Sockets.address(all).getPort();
      InetSocketAddress four = new InetSocketAddress(Hosts.address(Hosts.A), port);
      InetSocketAddress other = new InetSocketAddress(Hosts.address(Hosts.SIX), port);
      for (int i = 0; i < 100 && sockets.counters.paths.get() < 2; i++) {
        sendOnce(first, four);
        sendOnce(six, other);
        settle();
        while (receive(all) || receive(six)) {}
      }
      assertEquals(2, sockets.counters.paths.get());
      // Both send more than is received.
      SocketAddress last = null;
      for (int changes = 0; changes < 16; ) {
        for (int i = 0; i < 2; i++) {
          sendOnce(first, four);
          sendOnce(six, other);
        }
        received.clear();
        SocketAddress from = all.receive(received);
        if (from != null) {
          changes = from.equals(last) ? 0 : changes + 1;
          last = from;
        }
      }
    }
  }

  private void sendOnce(DatagramChannel from, InetSocketAddress to) throws IOException {
    frame.clear();
    int _ = from.send(frame, to); // 0 if the queue is full.
  }

  /** Whenever a batch has more, a message follows, and none is passed over. */
  @Test
  void aProbeIsNotOneMoreMessageOfABatch() throws IOException {
    connect();
    Set<Integer> numbers = new HashSet<>();
    ByteBuffer byUdp = ByteBuffer.allocateDirect(5000).put(6, (byte) 3); // After a probe.
    for (int sent = 0; sent < 60; ) {
      for (int i = 0; i < 4; i++) {
        frame.putInt(100, sent++);
        send();
        sockets.pass(Rendezvous.RENEWAL_MS / (1 + i));
        assertEquals(5000, first.send(byUdp.clear(), peer));
      }
      while (numbers.size() < sent) {
        if (receive(second) && received.position() == 200) {
          numbers.add(received.getInt(100));
        }
        while (second.hasMore() && second.hasMore()) {
          assertTrue(receive(second));
          assertEquals(200, received.position());
          numbers.add(received.getInt(100));
        }
      }
      while (receive(first)) {} // The answers to the probes.
    }
  }

  @Test
  void aDeviceThatChangesIsLeftAndFoundAgain() throws IOException {
    connect();
    hosts.network.faults().portDown("a", 1);
    sockets.pass(5000);
    assertTrue(!receive(first));
    Worker.call(() -> null);
    assertTrue(!receive(first));
    assertEquals(0, sockets.counters.paths.get());
    assertEquals(1, sockets.counters.demotions.get());
    hosts.network.faults().portUp("a", 1);
    sockets.pass(10_000);
    connect();
  }

  @Test
  void aSocketThatIsClosedSendsNothing() throws IOException {
    connect();
    first.close();
    long udp = udp();
    frame.clear();
    assertThrows(ClosedChannelException.class, () -> first.send(frame, peer));
    assertEquals(200, frame.remaining());
    assertEquals(udp, udp());
    assertEquals(0, sockets.counters.paths.get());
  }

  @Test
  void aCookieCountsOnlyOnTheQueueThatItWasGivenFor() throws IOException {
    hosts.addIpv6Device();
    Device device =
        hosts.network.addDevice("d", Hosts.address("127.0.0.7"), Hosts.address("fd00::7"));
    try (RdmaChannel all = sockets.open("::");
        DatagramChannel four = open(Hosts.A);
        DatagramChannel six = open(Hosts.SIX);
        RawPeer peer = new RawPeer(device)) {
      Offer offer = hello(four, all, peer);
      ByteBuffer probe = new RendezvousFrame().set(RendezvousFrame.Kind.PROBE, 1, 1).bytes();
      peer.send(probe, offer);
      assertTrue(!receive(all));
      peer.send(frame.clear(), offer);
      assertTrue(receive(all));

      Offer other = hello(six, all, peer);
      long dropped = sockets.counters.dropped.get();
      peer.send(frame.clear(), new Offer(other.address(), offer.cookie(), other.maximum()));
      while (sockets.counters.dropped.get() == dropped) {
        assertTrue(!receive(all));
      }
    }
  }

  private static DatagramChannel open(String address) throws IOException {
    DatagramChannel socket = DatagramChannel.open();
    socket.bind(new InetSocketAddress(Hosts.address(address), 0));
    socket.configureBlocking(false);
    return socket;
  }

  /** Sends a HELLO to a wildcard socket, and returns what it offers. */
  private Offer hello(DatagramChannel from, RdmaChannel to, RawPeer peer) throws IOException {
    InetAddress address = Sockets.address(from).getAddress();
    RendezvousFrame hello = new RendezvousFrame();
    hello.set(RendezvousFrame.Kind.HELLO, 1, 1).number(peer.number());
    hello.send(from, new InetSocketAddress(address, Sockets.address(to).getPort()));
    while (true) {
      Worker.call(() -> null);
      sockets.pass(2);
      assertTrue(!receive(to));
      received.clear();
      if (from.receive(received) != null) {
        assertTrue(hello.read(received, 0, received.position()));
        return hello.offer();
      }
    }
  }

  private static DatagramQueue queue(String address) {
    return Worker.call(() -> Devices.of(Hosts.address(address)).createQueue(16, null));
  }

  @Test
  void aQueueThatFailedHandsOutNothingMore() {
    DatagramQueue from = queue(Hosts.A);
    DatagramQueue to = queue(Hosts.B);
    AddressHandle handle = Worker.call(() -> from.handleTo(to.address(), 1));
    Offer offer = new Offer(to.address(), 1, 4096);
    while (!to.next() || !to.hasMore()) { // One is handled, and more have arrived.
      for (int i = 0; i < 4; i++) {
        boolean _ = from.send(frame.clear(), handle, offer);
      }
    }
    to.fail("of the test");
    assertTrue(!to.next());
    from.fail("of the test");
    assertTrue(!from.send(frame.clear(), handle, offer));
    Worker.run(from::close);
    Worker.run(to::close);
  }

  @Test
  void completionsThatFailedEndTheQueue() throws ReflectiveOperationException {
    DatagramQueue from = queue(Hosts.A);
    DatagramQueue to = queue(Hosts.B);
    AddressHandle handle = Worker.call(() -> from.handleTo(to.address(), 1));
    breakUp(to);
    assertTrue(!to.next());
    assertTrue(to.failure().contains("WR_FLUSH_ERR"), to.failure());
    breakUp(from);
    for (int i = 0; i < 1000 && from.failure() == null; i++) {
      boolean _ = from.send(frame.clear(), handle, new Offer(to.address(), 1, 4096));
    }
    assertTrue(from.failure().contains("WR_FLUSH_ERR"), from.failure());
    Worker.run(from::close);
    Worker.run(to::close);
  }

  private static void breakUp(DatagramQueue queue) throws ReflectiveOperationException {
    Field field = DatagramQueue.class.getDeclaredField("queuePair");
    field.setAccessible(true);
    ((QueuePair) field.get(queue)).fail();
  }

  @Test
  void anErrorOfTheWorkerEndsAWait() {
    Pending<Object> pending =
        Worker.ask(
            () -> {
              throw new OutOfMemoryError("of the test");
            });
    Worker.call(() -> null);
    assertTrue(pending.failure().contains("of the test"));
  }

  @Test
  void aMessageOfAGroupHasTheAddressOfItsSender() throws IOException {
    InetSocketAddress group = new InetSocketAddress(Hosts.address("224.20.30.39"), 9999);
    Sockets members = new Sockets("rdma-multicast *");
    try (RdmaChannel sender = members.open(Hosts.A, group, false);
        RdmaChannel receiver = members.open(Hosts.B, group, true)) {
      for (int messages = 0; messages < 2; ) {
        sendOnce(sender, group);
        Worker.call(() -> null);
        members.pass(2);
        received.clear();
        SocketAddress from = receiver.receive(received);
        assertTrue(from == null || from.equals(Sockets.address(sender)), "from " + from);
        messages += from == null ? 0 : 1;
      }
    }
  }

  @Test
  void aMessageOfAQueueThatFailsIsNotOneMoreForEver() throws IOException {
    connect();
    while (!second.hasMore()) {
      int _ = first.send(frame.clear(), peer);
      boolean _ = receive(second);
    }
    Devices.use(List::of);
    while (second.hasMore()) {
      assertTrue(!receive(second));
    }
  }

  @Test
  void aQueueThatCannotBeClosedLeavesNoOtherOpen() throws IOException {
    hosts.addIpv6Device();
    RdmaChannel all = sockets.open("::");
    int port = Sockets.address(all).getPort();
    for (String address : List.of(Hosts.A, Hosts.SIX)) {
      int _ = all.send(frame.clear(), new InetSocketAddress(Hosts.address(address), port));
      Worker.call(() -> null);
    }
    hosts.network.faults().fail("ibv_dealloc_pd", 1, Errno.ENOMEM);
    all.close();
    Worker.call(() -> null);
    Map<String, Integer> after = Worker.call(hosts.network::openObjects);
    assertEquals(1, after.get("protection domain"), after.toString());
  }

  @Test
  void manyPeersOfAWildcardSocketWaitForTheWorkerOnly() throws IOException {
    try (RdmaChannel all = sockets.open("0.0.0.0")) {
      for (int i = 0; i < 200; i++) {
        int _ = all.send(frame.clear(), new InetSocketAddress(Hosts.address(Hosts.B), 20000 + i));
      }
      int _ = all.send(frame.clear(), peer);
      for (int i = 0; i < 50 && sockets.counters.paths.get() == 0; i++) {
        Worker.call(() -> null);
        sockets.pass(100);
        int _ = all.send(frame.clear(), peer);
        boolean _ = receive(all);
        boolean _ = receive(second);
      }
      assertEquals(1, sockets.counters.paths.get());
    }
  }

  @Test
  void aDeviceThatComesBackIsFoundBeforeAeronGivesUp() throws IOException {
    Sockets only = new Sockets("rdma-only *");
    hosts.network.removeDevice("a");
    try (RdmaChannel from = only.open(Hosts.A)) {
      for (int i = 0; i < 3; i++) {
        sendOnce(from, peer);
        Worker.call(() -> null);
        only.pass(500);
      }
      hosts.addDevice("a", Hosts.A);
      hosts.look();
      for (int i = 0; i < 30 && only.counters.paths.get() == 0; i++) {
        only.pass(100);
        sendOnce(from, peer);
        settle();
        boolean _ = receive(from);
      }
      assertEquals(1, only.counters.paths.get());
    }
  }

  @Test
  void aSetupBeforeTheQueueOfAGroupDecides() throws IOException {
    InetSocketAddress group = new InetSocketAddress(Hosts.address("224.20.30.39"), 9999);
    Sockets members = new Sockets("rdma-multicast *");
    ByteBuffer setup = ByteBuffer.allocateDirect(200).order(ByteOrder.LITTLE_ENDIAN);
    setup.putShort(6, (short) HeaderFlyweight.HDR_TYPE_SETUP).putInt(32, 5000);
    try (RdmaChannel sender = members.open(Hosts.A, group, false)) {
      int _ = sender.send(setup, group);
      for (int i = 0; i < 20; i++) {
        Worker.call(() -> null);
        members.pass(2);
        sendOnce(sender, group);
        assertEquals(0, members.counters.sentByRdma.get());
      }
      assertEquals(1, members.counters.tooLong.get());
    }
  }

  @Test
  void membersOfAGroupAnswerByUdp() throws IOException {
    InetSocketAddress group = new InetSocketAddress(Hosts.address("224.20.30.39"), 9999);
    InetSocketAddress control = new InetSocketAddress(Hosts.address("224.20.30.40"), 9999);
    Sockets members = new Sockets("rdma-multicast *");
    try (RdmaChannel member = members.open(Hosts.A, group, true)) {
      for (int i = 1; i <= 20; i++) {
        sendOnce(member, control);
        Worker.call(() -> null);
        members.pass(2);
        boolean _ = receive(member);
        assertEquals(i, members.counters.sentByUdp.get());
      }
    }
  }

  @Test
  void aReasonIsLoggedOnceWhateverTheNumbersOfItsObjects() throws IOException {
    List<String> lines = new ArrayList<>();
    Handler handler =
        new StreamHandler() {
          @Override
          public synchronized void publish(LogRecord line) {
            lines.add(line.getMessage());
          }
        };
    Logger logger = Logger.getLogger("dev.verbena.aeron");
    logger.addHandler(handler);
    for (int i = 0; i < 3; i++) {
      hosts.network.faults().fail("ibv_modify_qp", 1, Errno.EMFILE);
      try (RdmaChannel socket = sockets.open(Hosts.A)) {
        sendOnce(socket, peer);
      }
      Worker.call(() -> null);
    }
    logger.removeHandler(handler);
    assertTrue(lines.size() <= 1, lines.toString()); // None if another test had the reason.
  }

  @Test
  void aSendQueueThatWasFullIsUsedAgain() throws IOException {
    connect();
    hosts.network.faults().fillQueues("a");
    while (first.send(frame.clear(), peer) > 0) {}
    hosts.network.faults().freeQueues();
    for (int i = 0; i < 100; i++) {
      settle();
      int sent = first.send(frame.clear(), peer);
      assertTrue(sent > 0 || i == 0);
    }
    assertEquals(1, sockets.counters.paths.get());
  }

  @Test
  void messagesOfAGroupPassAsManyRoutersAsItsFrames() throws IOException {
    InetSocketAddress group = new InetSocketAddress(Hosts.address("224.20.30.39"), 9999);
    Group of = new Group(group, Hosts.address(Hosts.B), true);
    DatagramQueue member =
        Worker.call(() -> Devices.of(Hosts.address(Hosts.B)).createQueue(16, of));
    Sockets members = new Sockets("rdma-multicast *");
    try (RdmaChannel sender = members.open(Hosts.A, group, false)) {
      sender.setOption(StandardSocketOptions.IP_MULTICAST_TTL, 5);
      while (!member.next()) {
        sendOnce(sender, group);
        Worker.call(() -> null);
        members.pass(2);
        boolean _ = receive(sender);
      }
      assertEquals(5, member.memory().get(member.offset() - 12)); // Of the header of IPv4.
    }
    Worker.run(member::close);
  }
}
