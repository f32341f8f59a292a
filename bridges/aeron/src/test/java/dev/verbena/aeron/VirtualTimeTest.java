package dev.verbena.aeron;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
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
    hosts.addDevice("c", Hosts.SIX);
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
      for (int i = 0; i < 10; i++) {
        sendOnce(first, four);
        sendOnce(six, other);
      }
      Set<InetAddress> senders = new HashSet<>();
      for (int i = 0; i < 4; i++) {
        received.clear();
        senders.add(((InetSocketAddress) all.receive(received)).getAddress());
      }
      assertEquals(2, senders.size());
    }
  }

  private void sendOnce(DatagramChannel from, InetSocketAddress to) throws IOException {
    frame.clear();
    assertEquals(200, from.send(frame, to));
  }

  @Test
  void aProbeIsNotOneMoreMessageOfABatch() throws IOException {
    connect();
    send();
    sockets.pass(Rendezvous.RENEWAL_MS);
    ByteBuffer tooLong = ByteBuffer.allocateDirect(5000).put(6, (byte) 3); // By UDP, after a probe.
    assertEquals(5000, first.send(tooLong, peer));
    send();
    assertTrue(receive(second));
    assertTrue(second.hasMore(), "the message after the probe");
    assertTrue(second.hasMore());
    assertTrue(receive(second));
    assertTrue(!second.hasMore());

    send();
    sockets.pass(Rendezvous.RENEWAL_MS);
    tooLong.clear();
    assertEquals(5000, first.send(tooLong, peer));
    long messages = sockets.counters.receivedByRdma.get();
    while (sockets.counters.receivedByRdma.get() == messages) {
      receive(second);
    }
    assertTrue(!second.hasMore());
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
}
