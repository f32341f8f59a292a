package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.time.Time;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.testing.LoggedMessages;
import java.io.File;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Level;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Connects to peers that are silent by RDMA, by TCP, or by both; in a JVM of {@link
 * HybridProviderTest}, with a short head start.
 */
class ConnectRaces {
  private static final SelectorProvider PROVIDER = new HybridSelectorProvider();
  private static final SelectorProvider RDMA = RdmaSelectorProvider.provider();
  private static final InetAddress CLIENT = InetAddress.ofLiteral("127.0.0.2");
  private static final int BACKLOG = 1;
  private static final int THREADS = 8;
  private static final int CONNECTS = 12;

  /** Each test has an address of its own, since the answers are remembered. */
  private static int last = 20;

  private final InetAddress server = InetAddress.ofLiteral("127.0.0." + last++);
  private final List<AutoCloseable> opened = new ArrayList<>();
  private final SoftNetwork network;

  ConnectRaces() throws IOException {
    int port = HybridProviderTest.freePort();
    network =
        SoftNetwork.of("udp:127.0.0.2:%d,udp:%s:%d".formatted(port, server.getHostAddress(), port));
  }

  /** What is opened once. */
  @BeforeEach
  void warmUp() throws Exception {
    try (ServerSocketChannel listener = listen(RDMA, 0);
        SocketChannel client = network.call(RDMA::openSocketChannel)) {
      boolean _ = network.call(() -> client.connect(listener.getLocalAddress()));
      listener.accept().close();
    }
    Await.until(() -> network.openObjects().toString(), () -> network.openObjects().isEmpty());
  }

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable each : opened.reversed()) {
      each.close();
    }
    Await.until(() -> network.openObjects().toString(), () -> network.openObjects().isEmpty());
    network.close();
  }

  private <T extends AutoCloseable> T closing(T resource) {
    opened.add(resource);
    return resource;
  }

  private ServerSocketChannel listen(SelectorProvider provider, int port) throws Exception {
    ServerSocketChannel listener = closing(provider.openServerSocketChannel());
    return network.call(() -> listener.bind(new InetSocketAddress(server, port), BACKLOG));
  }

  private SocketChannel client() throws Exception {
    SocketChannel client = closing(PROVIDER.openSocketChannel());
    return network.call(() -> client.bind(new InetSocketAddress(CLIENT, 0)));
  }

  /** A listener of TCP whose queue is full: the kernel drops the requests for connections. */
  private ServerSocketChannel silentTcp() throws Exception {
    ServerSocketChannel listener = listen(JdkChannels.provider(), 0);
    for (int i = 0; i <= BACKLOG; i++) {
      assertTrue(
          closing(JdkChannels.provider().openSocketChannel()).connect(listener.getLocalAddress()));
    }
    return listener;
  }

  private static InetSocketAddress addressOf(ServerSocketChannel listener) throws IOException {
    return (InetSocketAddress) listener.getLocalAddress();
  }

  private FutureTask<Boolean> connecting(SocketChannel client, InetSocketAddress target) {
    return ChannelFixture.inBackground(() -> network.call(() -> client.connect(target)));
  }

  private static SocketChannel select(SocketChannel client, boolean isConnected)
      throws IOException {
    try (Selector selector = PROVIDER.openSelector()) {
      SelectionKey key = client.register(selector, SelectionKey.OP_CONNECT);
      if (!isConnected) {
        assertEquals(1, selector.select());
        assertTrue(key.isConnectable());
        assertTrue(client.finishConnect());
      }
      key.interestOps(SelectionKey.OP_WRITE);
      selector.selectedKeys().clear();
      assertEquals(1, selector.select());
    }
    assertTrue(client.isConnected());
    return client;
  }

  private static void assertTransport(boolean isRdma, SocketChannel client) {
    assertEquals(isRdma, client.toString().contains("RdmaSocketChannel"), client::toString);
  }

  private static void assertEchoes(SocketChannel client, SocketChannel server) throws IOException {
    client.configureBlocking(true);
    assertEquals(1, client.write(ByteBuffer.allocate(1)));
    assertEquals(1, server.read(ByteBuffer.allocate(2)));
    assertEquals(client.getLocalAddress(), server.getRemoteAddress());
    server.close();
    assertEquals(-1, client.read(ByteBuffer.allocate(1)));
  }

  @Test
  void silentRdmaIsConnectedByTcp() throws Exception {
    ServerSocketChannel listener = listen(PROVIDER, 0);
    InetSocketAddress target = addressOf(listener);
    network.faults().stop("udp1");
    try (LoggedMessages log =
        new LoggedMessages(
            "dev.verbena.sockets",
            Level.INFO,
            record -> record.getMessage().contains("did not answer by RDMA"))) {
      SocketChannel first = client();
      assertTrue(network.call(() -> first.connect(target)));
      assertTransport(false, first);
      assertEchoes(first, listener.accept());
      SocketChannel second = client();
      second.configureBlocking(false);
      assertTransport(false, select(second, network.call(() -> second.connect(target))));
      assertEchoes(second, listener.accept());
      assertEquals(1, log.all().size(), () -> log.all().toString());
    }
    network.faults().resume("udp1");
    assertNothingElseIsAccepted(listener);
  }

  /** Requests that were withdrawn have arrived before the one of this connection. */
  private void assertNothingElseIsAccepted(ServerSocketChannel listener) throws Exception {
    SocketChannel client = closing(network.call(RDMA::openSocketChannel));
    var connected = connecting(client, addressOf(listener));
    SocketChannel accepted = closing(listener.accept());
    assertTrue(connected.get());
    assertEquals(client.getLocalAddress(), accepted.getRemoteAddress());
    listener.configureBlocking(false);
    assertNull(listener.accept());
  }

  @Test
  void connectTimeoutOfAnyLengthTriesTcp() throws Exception {
    ServerSocketChannel listener = listen(PROVIDER, 0);
    network.faults().stop("udp1");
    for (int milliseconds : new int[] {10, 100, 1_000, 10_000}) {
      SocketChannel client =
          Await.attempt("a connect within " + milliseconds, () -> within(milliseconds, listener));
      assertTransport(false, client);
      SocketChannel accepted = listener.accept();
      while (!client.getLocalAddress().equals(accepted.getRemoteAddress())) {
        accepted = listener.accept(); // The one before has timed out.
      }
      assertEchoes(client, accepted);
      SilentPeers.answered(server);
    }
  }

  private @Nullable SocketChannel within(int milliseconds, ServerSocketChannel listener)
      throws Exception {
    SocketChannel client = client();
    try {
      return network.call(
          () -> {
            client.socket().connect(addressOf(listener), milliseconds);
            return client;
          });
    } catch (SocketTimeoutException e) { // The machine is too slow, even for TCP.
      return null;
    }
  }

  @Test
  void selectedConnectOfASilentPeerIsTcp() throws Exception {
    ServerSocketChannel listener = listen(PROVIDER, 0);
    network.faults().stop("udp1");
    SocketChannel client = client();
    client.configureBlocking(false);
    assertFalse(network.call(() -> client.connect(addressOf(listener))));
    assertTransport(false, select(client, false));
    assertEchoes(client, listener.accept());
  }

  @Test
  void blockingFinishConnectOfASilentPeerIsTcp() throws Exception {
    ServerSocketChannel listener = listen(PROVIDER, 0);
    network.faults().stop("udp1");
    SocketChannel client = client();
    client.configureBlocking(false);
    assertFalse(network.call(() -> client.connect(addressOf(listener))));
    client.configureBlocking(true);
    assertTrue(client.finishConnect());
    assertTransport(false, client);
    assertEchoes(client, listener.accept());
  }

  @Test
  void refusedByTcpAndSilentByRdmaIsRefused() throws Exception {
    InetSocketAddress unused;
    try (ServerSocketChannel listener = listen(PROVIDER, 0)) {
      unused = addressOf(listener);
    }
    network.faults().stop("udp1");
    SocketChannel blocking = client();
    var e =
        assertThrows(ConnectException.class, () -> network.call(() -> blocking.connect(unused)));
    assertEquals("Connection refused", e.getMessage());
    assertTrue(e.getSuppressed()[0].getMessage().contains("no answer by RDMA"), e::toString);
    SocketChannel selected = client();
    selected.configureBlocking(false);
    assertThrows(
        ConnectException.class,
        () -> select(selected, network.call(() -> selected.connect(unused))));
    assertFalse(selected.isOpen());
    assertFalse(SilentPeers.contains(server), "nothing answers there");
  }

  @Test
  void lateRdmaIsUsedIfTcpIsSilent() throws Exception {
    for (boolean blocking : new boolean[] {true, false}) {
      ServerSocketChannel tcp = silentTcp();
      ServerSocketChannel listener = listen(RDMA, addressOf(tcp).getPort());
      network.faults().stop("udp1");
      SocketChannel client = client();
      client.configureBlocking(blocking);
      FutureTask<SocketChannel> connected =
          ChannelFixture.inBackground(
              () -> {
                boolean isConnected = network.call(() -> client.connect(addressOf(tcp)));
                return blocking ? client : select(client, isConnected);
              });
      Await.until(client::toString, () -> isSent(client, tcp));
      network.faults().resume("udp1");
      assertTransport(true, connected.get());
      assertEchoes(client, listener.accept());
      tcp.configureBlocking(false);
      for (int i = 0; i <= BACKLOG; i++) {
        tcp.accept().close();
      }
      assertNull(tcp.accept(), "the connection by TCP was begun, and ended");
      assertFalse(SilentPeers.contains(server));
      tcp.close();
      listener.close();
    }
  }

  /** Whether the kernel has a connection of TCP that is being established: SYN_SENT. */
  private static boolean isSent(SocketChannel client, ServerSocketChannel server) {
    try {
      String peer = ":%04X 02 ".formatted(addressOf(server).getPort());
      return Files.readString(Path.of("/proc/net/tcp6")).contains(peer)
          && client.isConnectionPending();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void lateTcpIsUsedIfRdmaIsSilent() throws Exception {
    ServerSocketChannel tcp = silentTcp();
    ServerSocketChannel listener = listen(RDMA, addressOf(tcp).getPort());
    network.faults().stop("udp1");
    SocketChannel client = client();
    var connected = connecting(client, addressOf(tcp));
    Await.until(client::toString, () -> isSent(client, tcp));
    for (int i = 0; i <= BACKLOG; i++) {
      tcp.accept().close();
    }
    assertTrue(connected.get());
    assertTransport(false, client);
    assertEchoes(client, tcp.accept());
    network.faults().resume("udp1");
    assertNothingElseIsAccepted(listener);
  }

  /** The reply of RDMA waits for the program, which finds that TCP has connected. */
  @Test
  void repliedRdmaIsNotAcceptedIfTcpHasConnected() throws Exception {
    ServerSocketChannel tcp = silentTcp();
    ServerSocketChannel listener = listen(RDMA, addressOf(tcp).getPort());
    network.faults().loss(1);
    SocketChannel client = client();
    client.configureBlocking(false);
    CountDownLatch replied = new CountDownLatch(1);
    network.trace(
        line -> {
          if (line.contains(" CM REP ")) {
            replied.countDown();
          }
        });
    SocketChannel accepted;
    try (Selector selector = PROVIDER.openSelector()) {
      SelectionKey _ = client.register(selector, SelectionKey.OP_CONNECT);
      assertFalse(network.call(() -> client.connect(addressOf(tcp))));
      while (!isSent(client, tcp)) {
        assertEquals(0, selector.select(10));
      }
      network.faults().none(); // The request, which was sent, is repeated.
      replied.await();
      for (int i = 0; i <= BACKLOG; i++) {
        tcp.accept().close();
      }
      accepted = tcp.accept();
      assertEquals(1, selector.select());
      assertTrue(client.finishConnect());
    }
    assertTransport(false, client);
    assertEchoes(client, accepted);
    assertNothingElseIsAccepted(listener);
  }

  private static int descriptors() {
    return Objects.requireNonNull(new File("/proc/self/fd").list()).length;
  }

  @Test
  void closeInterruptAndTimeoutEndARace() throws Exception {
    ServerSocketChannel tcp = silentTcp();
    ServerSocketChannel _ = listen(RDMA, addressOf(tcp).getPort());
    network.faults().stop("udp1");
    int before = descriptors();
    for (int i = 0; i < 3; i++) {
      SocketChannel client = client();
      FutureTask<Boolean> connect =
          new FutureTask<>(() -> network.call(() -> client.connect(addressOf(tcp))));
      Thread thread = Thread.ofPlatform().daemon().start(connect);
      if (i < 2) {
        Await.until(client::toString, () -> isSent(client, tcp));
      } else {
        Await.until(client::toString, client::isConnectionPending);
      }
      client.close();
      ChannelFixture.causeOf(AsynchronousCloseException.class, connect);
      thread.join();
      SocketChannel interrupted = client();
      connect = new FutureTask<>(() -> network.call(() -> interrupted.connect(addressOf(tcp))));
      thread = Thread.ofPlatform().daemon().start(connect);
      Await.until(interrupted::toString, interrupted::isConnectionPending);
      thread.interrupt();
      ChannelFixture.causeOf(ClosedByInterruptException.class, connect);
      assertFalse(interrupted.isOpen());
      SocketChannel late = client();
      assertThrows(
          SocketTimeoutException.class,
          () ->
              network.call(
                  () -> {
                    late.socket().connect(addressOf(tcp), 300);
                    return null;
                  }));
      assertFalse(late.isOpen());
      SocketChannel selected = client();
      selected.configureBlocking(false);
      try (Selector selector = PROVIDER.openSelector()) {
        SelectionKey _ = selected.register(selector, SelectionKey.OP_CONNECT);
        assertFalse(network.call(() -> selected.connect(addressOf(tcp))));
        while (!isSent(selected, tcp)) {
          assertEquals(0, selector.select(10));
        }
        selected.close();
      }
    }
    network.faults().resume("udp1");
    Await.until(() -> "descriptors: " + descriptors(), () -> descriptors() <= before);
  }

  /**
   * Some are closed or interrupted meanwhile. A connection that the listener accepts is one that a
   * client has, or was of one that was disturbed: none is accepted twice.
   */
  @Test
  void manyConnectAtOnce() throws Exception {
    ServerSocketChannel listener = closing(PROVIDER.openServerSocketChannel());
    ServerSocketChannel _ =
        network.call(() -> listener.bind(new InetSocketAddress(server, 0), THREADS * CONNECTS));
    network.faults().seed(1).delay(Duration.ofMillis(40)); // About as long as the head start.
    List<Thread> threads = new ArrayList<>();
    Set<SocketAddress> connected = ConcurrentHashMap.newKeySet();
    AtomicInteger disturbed = new AtomicInteger();
    AtomicReference<Throwable> failure = new AtomicReference<>();
    for (int i = 0; i < THREADS; i++) {
      Random random = new Random(i);
      threads.add(
          network.call(
              () ->
                  Thread.ofPlatform()
                      .start(
                          () -> {
                            try {
                              for (int j = 0; j < CONNECTS; j++) {
                                connectOnce(random, addressOf(listener), connected, disturbed);
                              }
                            } catch (Throwable t) {
                              failure.set(t);
                            }
                          })));
    }
    Set<SocketAddress> accepted = new HashSet<>();
    listener.configureBlocking(false);
    while (threads.stream().anyMatch(Thread::isAlive)) {
      acceptAll(listener, accepted);
    }
    if (failure.get() != null) {
      throw new AssertionError(failure.get());
    }
    assertNothingElseIsAccepted(listener, accepted);
    assertTrue(accepted.containsAll(connected), () -> connected + " " + accepted);
    accepted.removeAll(connected);
    assertTrue(
        accepted.size() <= disturbed.get(), () -> accepted + ", disturbed: " + disturbed.get());
  }

  private void connectOnce(
      Random random,
      InetSocketAddress target,
      Set<SocketAddress> connected,
      AtomicInteger disturbed)
      throws Exception {
    SilentPeers.answered(server);
    SocketChannel client = PROVIDER.openSocketChannel();
    Thread self = Thread.currentThread();
    int kind = random.nextInt(4);
    if (kind >= 2) {
      disturbed.incrementAndGet();
      long nanos = random.nextInt(100_000_000);
      Time.after(
          nanos,
          () -> {
            if (kind == 2) {
              TransportLog.closeUnused(client);
            } else {
              self.interrupt();
            }
          });
    }
    try {
      client.configureBlocking(kind != 1);
      boolean isConnected = client.connect(target);
      if (kind == 1) {
        SocketChannel _ = select(client, isConnected);
      }
      if (kind < 2) {
        assertTrue(connected.add(client.getLocalAddress()), "a port of two connections");
        client.configureBlocking(true);
        assertEquals(-1, client.read(ByteBuffer.allocate(1)));
      }
    } catch (ClosedChannelException e) {
      assertTrue(kind >= 2, e::toString);
    } finally {
      client.close();
      while (kind == 3 && !Thread.interrupted()) {
        Thread.onSpinWait();
      }
    }
  }

  private static void acceptAll(ServerSocketChannel listener, Set<SocketAddress> accepted)
      throws IOException {
    SocketChannel next = listener.accept();
    while (next != null) {
      assertTrue(accepted.add(next.getRemoteAddress()), "accepted twice");
      next.close();
      next = listener.accept();
    }
  }

  /** Requests that were withdrawn have arrived before the one of this connection. */
  private void assertNothingElseIsAccepted(
      ServerSocketChannel listener, Set<SocketAddress> accepted) throws Exception {
    network.faults().none();
    SocketChannel client = closing(network.call(RDMA::openSocketChannel));
    var connecting = connecting(client, addressOf(listener));
    Await.until(
        accepted::toString,
        () -> {
          try {
            acceptAll(listener, accepted);
            return connecting.isDone() && accepted.remove(client.getLocalAddress());
          } catch (IOException e) {
            throw new AssertionError(e);
          }
        });
  }

  @Test
  void removedDeviceLeavesTcp() throws Exception {
    ServerSocketChannel listener = listen(PROVIDER, 0);
    network.faults().stop("udp1");
    SocketChannel client = client();
    client.configureBlocking(false);
    assertFalse(network.call(() -> client.connect(addressOf(listener))));
    network.removeDevice("udp0");
    assertTransport(false, select(client, false));
    assertEchoes(client, listener.accept());
  }
}
