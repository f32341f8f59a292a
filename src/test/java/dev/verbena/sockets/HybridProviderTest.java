package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.cm.Listener;
import dev.verbena.internal.ConfiguredDevices;
import dev.verbena.internal.Providers;
import dev.verbena.internal.time.Time;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.testing.LoggedMessages;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.BindException;
import java.net.ConnectException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Level;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.platform.commons.util.ReflectionUtils;
import org.junit.platform.engine.TestEngine;
import org.junit.platform.launcher.core.LauncherFactory;
import org.opentest4j.AssertionFailedError;

/**
 * The provider for a whole JVM, on software devices over UDP: this host has their addresses, so
 * that each connection could be one of TCP.
 */
@Tag("host")
class HybridProviderTest {
  private static final String LEFT = "127.0.0.2";
  private static final String RIGHT = "127.0.0.3";
  private static final String OTHER = "127.0.0.4";

  /** Without a device. */
  private static final String WITHOUT = "127.0.0.12";

  /** Runs a program in a JVM of its own, whose default provider is the hybrid one. */
  private static void run(Class<?> main, String... options) throws Exception {
    List<String> all =
        new ArrayList<>(List.of("-Ddev.verbena.sockets.fallback=" + Await.LIMIT.toMillis()));
    all.addAll(List.of(options)); // The last one counts.
    int port = freePort();
    new ForkedJvm()
        .withNativeAccess()
        .with("-XX:TieredStopAtLevel=1", "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED")
        .with("-Djava.nio.channels.spi.SelectorProvider=" + HybridSelectorProvider.class.getName())
        .with(
            Stream.of(LEFT, RIGHT, OTHER)
                .map(host -> "udp:%s:%d".formatted(host, port))
                .collect(Collectors.joining(",", "-Ddev.verbena.soft=", "")))
        .with(all.toArray(String[]::new))
        .withJarOf(Test.class)
        .withJarOf(AssertionFailedError.class)
        .withJarOf(ReflectionUtils.class)
        .withJarOf(TestEngine.class)
        .withJarOf(LauncherFactory.class)
        .withJarOf(Class.forName("org.junit.jupiter.engine.JupiterTestEngine"))
        .run(main)
        .succeeded();
  }

  /** A UDP port that nobody has. */
  static int freePort() throws IOException {
    try (DatagramSocket socket = new DatagramSocket(0)) {
      return socket.getLocalPort();
    }
  }

  private static InetSocketAddress address(String host) {
    return new InetSocketAddress(host, 0);
  }

  private static boolean isRdma(SocketChannel channel) {
    return channel.toString().contains("RdmaSocketChannel");
  }

  private static int port(ServerSocketChannel listener) throws IOException {
    return ((InetSocketAddress) listener.getLocalAddress()).getPort();
  }

  private static void assertEchoes(SocketChannel client, SocketChannel server) throws IOException {
    client.configureBlocking(true);
    server.configureBlocking(true);
    assertEquals(1, client.write(ByteBuffer.wrap(new byte[] {42})));
    ByteBuffer target = ByteBuffer.allocate(1);
    assertEquals(1, server.read(target));
    assertEquals(42, target.get(0));
    assertEquals(1, server.write(target.clear()));
    assertEquals(1, client.read(target.clear()));
    assertEquals(client.getLocalAddress(), server.getRemoteAddress());
    assertEquals(server.getLocalAddress(), client.getRemoteAddress());
  }

  /** Connects a channel that is registered with a selector before, as programs do. */
  private static SocketChannel connectSelected(String from, InetSocketAddress to)
      throws IOException {
    SocketChannel client = SocketChannel.open();
    client.configureBlocking(false);
    try (Selector selector = Selector.open()) {
      SelectionKey key = client.register(selector, SelectionKey.OP_CONNECT);
      client.bind(address(from));
      boolean isConnected = client.connect(to);
      while (!isConnected) {
        assertTrue(client.isConnectionPending());
        assertEquals(1, selector.select());
        assertTrue(key.isConnectable());
        isConnected = client.finishConnect();
        assertTrue(isConnected, "ready, and not connected");
      }
    }
    assertTrue(client.isConnected());
    return client;
  }

  @Test
  void listenerAcceptsBoth() throws Exception {
    run(Both.class);
  }

  /** Connects by TCP and by RDMA to one port, to a listener that waits in each way. */
  static final class Both {
    private Both() {}

    public static void main(String[] args) throws Exception {
      for (String host : List.of(RIGHT, "0.0.0.0")) {
        try (ServerSocketChannel listener = ServerSocketChannel.open().bind(address(host))) {
          InetSocketAddress target = new InetSocketAddress(RIGHT, port(listener));
          acceptEach(listener, target);
          acceptInTurns(listener, target);
          listener.configureBlocking(false);
          acceptEach(listener, target);
          listener.configureBlocking(true);
          acceptBySocket(listener.socket(), target);
          endOfWaiting(listener);
        }
      }
      portsAreThoseOfBoth();
    }

    private static SocketChannel accept(ServerSocketChannel listener) throws IOException {
      if (listener.isBlocking()) {
        return listener.accept();
      }
      try (Selector selector = Selector.open()) {
        SelectionKey key = listener.register(selector, SelectionKey.OP_ACCEPT);
        assertEquals(1, selector.select());
        assertTrue(key.isAcceptable());
        SocketChannel accepted = listener.accept();
        selector.selectedKeys().clear();
        assertEquals(0, selector.selectNow());
        key.cancel();
        return accepted;
      }
    }

    private static void acceptEach(ServerSocketChannel listener, InetSocketAddress target)
        throws Exception {
      for (int i = 0; i < 3; i++) {
        var accepted = ChannelBehaviour.inBackground(() -> accept(listener));
        try (SocketChannel client = SocketChannel.open().bind(address(LEFT))) {
          client.connect(target);
          assertTrue(isRdma(client), client::toString);
          try (SocketChannel server = accepted.get()) {
            assertInstanceOf(RdmaSocketChannel.class, server);
            assertEchoes(client, server);
          }
        }
        accepted = ChannelBehaviour.inBackground(() -> accept(listener));
        try (Socket client = new Socket(target.getAddress(), target.getPort());
            SocketChannel server = accepted.get()) {
          assertFalse(server instanceof RdmaSocketChannel);
          server.write(ByteBuffer.wrap(new byte[] {7}));
          assertEquals(7, client.getInputStream().read());
        }
      }
    }

    /** A client of TCP does not wait until there are no more of RDMA. */
    private static void acceptInTurns(ServerSocketChannel listener, InetSocketAddress target)
        throws Exception {
      List<FutureTask<SocketChannel>> clients = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        SocketChannel client = SocketChannel.open().bind(address(LEFT));
        clients.add(ChannelBehaviour.inBackground(() -> client.connect(target) ? client : null));
      }
      listener.accept().close();
      try (Socket client = new Socket(target.getAddress(), target.getPort())) {
        Await.until("a connection of TCP to accept", () -> isQueued(target.getPort()));
        try (SocketChannel server = listener.accept()) {
          assertEquals(client.getLocalSocketAddress(), server.getRemoteAddress());
        }
        for (int i = 1; i < clients.size(); i++) {
          listener.accept().close();
        }
      }
      for (FutureTask<SocketChannel> client : clients) {
        client.get().close();
      }
    }

    /** Whether a connection waits for accept: the last step may come after the client's connect. */
    private static boolean isQueued(int port) {
      try {
        String listens = ":%04X \\S+ 0A \\S+:(?!0{8})".formatted(port);
        return Pattern.compile(listens).matcher(Files.readString(Path.of("/proc/net/tcp6"))).find();
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    }

    private static void acceptBySocket(ServerSocket listener, InetSocketAddress target)
        throws Exception {
      listener.setSoTimeout(1);
      assertThrows(SocketTimeoutException.class, listener::accept);
      listener.setSoTimeout(0);
      var accepted = ChannelBehaviour.inBackground(listener::accept);
      try (Socket client = SocketChannel.open().socket()) {
        client.setTcpNoDelay(true);
        client.bind(address(LEFT));
        client.connect(target, 60_000);
        assertTrue(isRdma(client.getChannel()), client::toString);
        try (Socket server = accepted.get()) {
          OutputStream out = server.getOutputStream();
          out.write(new byte[] {1, 2, 3});
          InputStream in = client.getInputStream();
          assertEquals(1, in.read());
          while (in.available() < 2) {
            Thread.onSpinWait();
          }
          assertEquals(2, in.available());
        }
      }
    }

    private static void endOfWaiting(ServerSocketChannel listener) throws Exception {
      var closed = ChannelBehaviour.inBackground(listener::accept);
      Await.pass(Duration.ofMillis(100), "it waits, in C");
      listener.close();
      assertInstanceOf(
          AsynchronousCloseException.class,
          assertThrows(ExecutionException.class, closed::get).getCause());
      try (ServerSocketChannel other = ServerSocketChannel.open().bind(address(RIGHT))) {
        Thread.currentThread().interrupt();
        assertThrows(ClosedByInterruptException.class, other::accept);
        assertTrue(Thread.interrupted());
        assertFalse(other.isOpen());
      }
    }

    private static void portsAreThoseOfBoth() throws Exception {
      try (ServerSocket tcp = new ServerSocket(0, 1, InetAddress.getByName(RIGHT));
          ServerSocketChannel listener = ServerSocketChannel.open()) {
        InetSocketAddress taken = new InetSocketAddress(RIGHT, tcp.getLocalPort());
        assertThrows(BindException.class, () -> listener.bind(taken));
        listener.bind(address(RIGHT));
        try (ServerSocketChannel again = ServerSocketChannel.open()) {
          assertThrows(BindException.class, () -> again.bind(listener.getLocalAddress()));
        }
      }
    }
  }

  @Test
  void peerWithoutRdmaIsConnectedByTcp() throws Exception {
    run(WithoutRdma.class, "-Ddev.verbena.sockets.fallback=300");
  }

  /** Connects to servers that have no RDMA, or do not answer by RDMA. */
  static final class WithoutRdma {
    private WithoutRdma() {}

    public static void main(String[] args) throws Exception {
      refused();
      withoutDevice();
      unanswered();
      nobody();
      loopback();
      unix();
    }

    /** Where a device has the address, and nobody listens by RDMA. */
    private static void refused() throws Exception {
      try (ServerSocket tcp = new ServerSocket(0, 50, InetAddress.getByName(RIGHT))) {
        connectBothWays(tcp);
      }
    }

    private static void connectBothWays(ServerSocket tcp) throws Exception {
      InetSocketAddress target = (InetSocketAddress) tcp.getLocalSocketAddress();
      try (SocketChannel client = SocketChannel.open().bind(address(LEFT))) {
        client.setOption(StandardSocketOptions.IP_TOS, 8);
        assertTrue(client.connect(target));
        assertServed(client, tcp);
        assertEquals(8, client.getOption(StandardSocketOptions.IP_TOS));
      }
      try (SocketChannel client = connectSelected(LEFT, target)) {
        assertServed(client, tcp);
      }
      try (SocketChannel client = SocketChannel.open().bind(address(LEFT))) {
        client.configureBlocking(false);
        boolean isConnected = client.connect(target);
        client.configureBlocking(true);
        assertTrue(isConnected || client.finishConnect());
        assertServed(client, tcp);
      }
      try (Socket client = SocketChannel.open().socket()) {
        client.connect(target, 60_000);
        client.setSoTimeout(1);
        assertThrows(SocketTimeoutException.class, () -> client.getInputStream().read());
        client.setSoTimeout(0);
        assertServed(client.getChannel(), tcp);
      }
    }

    private static void assertServed(SocketChannel client, ServerSocket tcp) throws IOException {
      assertFalse(isRdma(client), client::toString);
      client.configureBlocking(true);
      try (Socket server = tcp.accept()) {
        assertEquals(client.getLocalAddress(), server.getRemoteSocketAddress());
        server.getOutputStream().write(new byte[] {9});
        ByteBuffer target = ByteBuffer.allocate(1);
        assertEquals(1, client.read(target));
        assertEquals(9, target.get(0));
        assertEquals(1, client.write(target.clear()));
        assertEquals(9, server.getInputStream().read());
        client.shutdownOutput();
        assertEquals(-1, server.getInputStream().read());
        assertTrue(client.socket().isOutputShutdown());
      }
    }

    /** Where the peer has no device: RDMA is not tried. */
    private static void withoutDevice() throws Exception {
      try (ServerSocket tcp = new ServerSocket(0, 50, InetAddress.getByName(WITHOUT))) {
        connectBothWays(tcp);
      }
    }

    /** Where the peer does not answer by RDMA: nobody accepts the request. */
    private static void unanswered() throws Exception {
      try (ServerSocket tcp = new ServerSocket(0, 50, InetAddress.getByName(RIGHT));
          Listener _ = Listener.open((InetSocketAddress) tcp.getLocalSocketAddress());
          LoggedMessages log =
              new LoggedMessages("dev.verbena.sockets", Level.FINE, "connection to")) {
        SilentPeers.answered(tcp.getInetAddress()); // This machine may have been slow before.
        connectBothWays(tcp);
        assertTrue(log.next().contains("no answer by RDMA within"));
        log.all().forEach(line -> assertTrue(line.contains("no answer by RDMA lately"), line));
      }
    }

    /** Where nobody listens at all: the failure is that of TCP, and has the one of RDMA. */
    private static void nobody() throws Exception {
      int port;
      try (ServerSocket tcp = new ServerSocket(0, 1, InetAddress.getByName(RIGHT))) {
        port = tcp.getLocalPort();
      }
      InetSocketAddress target = new InetSocketAddress(RIGHT, port);
      SocketChannel blocking = SocketChannel.open();
      var e = assertThrows(ConnectException.class, () -> blocking.connect(target));
      assertEquals("Connection refused", e.getMessage());
      assertTrue(e.getSuppressed()[0].getMessage().contains("RDMA"), e::toString);
      assertFalse(blocking.isOpen());
      assertThrows(ConnectException.class, () -> connectSelected(LEFT, target));
    }

    /** An address without a device. */
    private static void loopback() throws Exception {
      try (ServerSocketChannel listener = ServerSocketChannel.open().bind(address("127.0.0.1"))) {
        var accepted = ChannelBehaviour.inBackground(listener::accept);
        try (SocketChannel client = SocketChannel.open(listener.getLocalAddress());
            SocketChannel server = accepted.get()) {
          assertFalse(isRdma(client));
          assertFalse(server instanceof RdmaSocketChannel);
          assertEchoes(client, server);
        }
      }
    }

    private static void unix() throws Exception {
      Path file = Files.createTempDirectory("hybrid").resolve("socket");
      try (ServerSocketChannel listener =
              ServerSocketChannel.open(StandardProtocolFamily.UNIX)
                  .bind(UnixDomainSocketAddress.of(file));
          SocketChannel client = SocketChannel.open(UnixDomainSocketAddress.of(file));
          SocketChannel server = listener.accept()) {
        assertEquals(1, client.write(ByteBuffer.allocate(1)));
        assertEquals(1, server.read(ByteBuffer.allocate(1)));
      }
      Files.delete(file);
      Files.delete(file.getParent());
    }
  }

  @Test
  void rulesDecide() throws Exception {
    run(
        ByRules.class,
        "-Ddev.verbena.sockets.rules=tcp " + OTHER + ";rdma-only " + RIGHT + ";both *:0-65535");
  }

  /** Connects by rules. */
  static final class ByRules {
    private ByRules() {}

    public static void main(String[] args) throws Exception {
      Path file = Files.createTempFile("transports", ".jfr");
      try (LoggedMessages log =
              new LoggedMessages("dev.verbena.sockets", Level.FINE, "connection to");
          Recording recording = new Recording()) {
        recording.enable("dev.verbena.SocketTransport");
        recording.start();
        assertTransport(OTHER, false);
        assertTransport(RIGHT, true);
        assertEquals(2, log.all().size(), log.all()::toString);
        assertTrue(log.next().endsWith("TCP (tcp " + OTHER + ")"));
        assertTrue(log.next().endsWith("RDMA (rdma-only " + RIGHT + ")"));
        recording.stop();
        recording.dump(file);
      }
      assertEquals(
          List.of("listener at TCP", "connection to TCP", "listener at RDMA", "connection to RDMA"),
          RecordingFile.readAllEvents(file).stream()
              .filter(event -> event.getEventType().getName().endsWith(".SocketTransport"))
              .map(event -> event.getString("channel") + " " + event.getString("transport"))
              .toList());
      Files.delete(file);
      rdmaOnlyNeverIsTcp();
    }

    private static void assertTransport(String host, boolean rdma) throws Exception {
      try (ServerSocketChannel listener = ServerSocketChannel.open().bind(address(host))) {
        var accepted = ChannelBehaviour.inBackground(listener::accept);
        try (SocketChannel client =
                connectSelected(LEFT, (InetSocketAddress) listener.getLocalAddress());
            SocketChannel server = accepted.get()) {
          assertEquals(rdma, isRdma(client), client::toString);
          assertEquals(rdma, server instanceof RdmaSocketChannel);
          assertEchoes(client, server);
        }
      }
    }

    private static void rdmaOnlyNeverIsTcp() throws Exception {
      try (ServerSocket tcp = new ServerSocket(0, 1, InetAddress.getByName(RIGHT));
          SocketChannel client = SocketChannel.open()) {
        assertThrows(ConnectException.class, () -> client.connect(tcp.getLocalSocketAddress()));
        assertThrows(
            ConnectException.class,
            () -> connectSelected(LEFT, (InetSocketAddress) tcp.getLocalSocketAddress()));
      }
      try (ServerSocketChannel listener = ServerSocketChannel.open().bind(address(RIGHT))) {
        assertThrows(
            ConnectException.class, () -> new Socket(InetAddress.getByName(RIGHT), port(listener)));
      }
    }
  }

  @Test
  void channelsBehaveAsThoseOfTheJdk() throws Exception {
    run(HybridBehaviour.class, "-Ddev.verbena.sockets.rules=tcp 127.0.0.1");
  }

  @Test
  void connectsRace() throws Exception {
    run(HybridBehaviour.Races.class, "-Ddev.verbena.sockets.fallback=250");
  }

  @Test
  void rdmaHasAllOfAShortTimeoutIfTcpIsRefused() throws Exception {
    run(ShortTimeouts.class);
  }

  /** Connects by RDMA after TCP was refused, which was tried at half of the timeout. */
  static final class ShortTimeouts {
    private ShortTimeouts() {}

    public static void main(String[] args) throws Exception {
      int port = freePort();
      try (SoftNetwork network =
              SoftNetwork.of("udp:%s:%d,udp:%s:%d".formatted(LEFT, port, RIGHT, port));
          ServerSocketChannel listener =
              network.call(() -> RdmaSelectorProvider.provider().openServerSocketChannel())) {
        network.call(() -> listener.bind(address(RIGHT)));
        IOException last = null;
        for (int seconds = 2; seconds <= 32; seconds *= 2) { // More, if the machine is too slow.
          try (SocketChannel client = SocketChannel.open().bind(address(LEFT))) {
            connect(network, client, listener, seconds);
            assertTrue(isRdma(client), client::toString);
            return;
          } catch (IOException e) {
            last = e;
          }
        }
        throw last;
      }
    }

    private static void connect(
        SoftNetwork network, SocketChannel client, ServerSocketChannel listener, int seconds)
        throws Exception {
      network.faults().stop("udp1");
      var connect =
          ChannelFixture.inBackground(
              () ->
                  network.call(
                      () -> {
                        client.socket().connect(listener.getLocalAddress(), 1000 * seconds);
                        return true;
                      }));
      Await.until(client::toString, () -> client.toString().contains("closed")); // That of TCP.
      network.faults().resume("udp1");
      try {
        assertTrue(connect.get());
      } catch (ExecutionException e) {
        throw new IOException(e.getCause());
      }
    }
  }

  @Test
  void channelsThatAreTcpAreThoseOfTheJdk() throws Exception {
    run(OfTheJdk.class, "-Ddev.verbena.soft=0");
    run(OfTheJdk.class, "-Ddev.verbena.sockets.rules=tcp *");
  }

  /** Opens channels, all of which are TCP. */
  static final class OfTheJdk {
    private OfTheJdk() {}

    public static void main(String[] args) throws Exception {
      try (ServerSocketChannel listener = ServerSocketChannel.open().bind(address(RIGHT));
          SocketChannel client = SocketChannel.open(listener.getLocalAddress());
          SocketChannel server = listener.accept()) {
        for (Object channel : List.of(listener, client, server)) {
          assertEquals("sun.nio.ch", channel.getClass().getPackageName());
        }
        client.configureBlocking(false);
        try (Selector selector = Selector.open()) {
          SelectionKey _ = client.register(selector, SelectionKey.OP_WRITE);
          assertEquals(1, selector.select());
        }
        assertEchoes(client, server);
      }
      unconnectedChannelIsReady();
    }

    /** As with the JDK's selector: its descriptor has hung up. */
    private static void unconnectedChannelIsReady() throws IOException {
      try (Selector selector = Selector.open();
          SocketChannel unconnected = SocketChannel.open()) {
        unconnected.configureBlocking(false);
        SelectionKey key = unconnected.register(selector, SelectionKey.OP_READ);
        assertEquals(1, selector.select());
        assertTrue(key.isReadable());
      }
    }
  }

  @Test
  void deviceOfAnotherProcessLeavesTcp() throws Exception {
    int port = freePort();
    String device = "udp:%s:%d".formatted(LEFT, port);
    try (SoftNetwork _ = SoftNetwork.of(device)) {
      run(SecondJvm.class, "-Ddev.verbena.soft=" + device);
    }
  }

  /** Its device is in use. */
  static final class SecondJvm {
    private SecondJvm() {}

    public static void main(String[] args) throws Exception {
      try (LoggedMessages log =
              new LoggedMessages("dev.verbena.sockets", Level.INFO, "channels are TCP");
          ServerSocketChannel listener = ServerSocketChannel.open().bind(address(LEFT));
          SocketChannel client = SocketChannel.open(listener.getLocalAddress());
          SocketChannel server = listener.accept()) {
        assertFalse(isRdma(client));
        assertEchoes(client, server);
        triedOnceASecond((InetSocketAddress) listener.getLocalAddress());
        assertEquals(1, log.all().size(), () -> log.all().toString());
      }
    }

    private static void triedOnceASecond(InetSocketAddress address) {
      AtomicInteger attempts = new AtomicInteger();
      ConfiguredDevices.setCreator(
          _ -> {
            attempts.incrementAndGet();
            throw new VerbsException("bind", Errno.EADDRINUSE);
          });
      long start = Time.now();
      for (int i = 0; i < 100_000; i++) {
        assertFalse(Providers.mayReach(address, null));
      }
      long seconds = TimeUnit.NANOSECONDS.toSeconds(Time.now() - start);
      assertTrue(attempts.get() <= seconds + 1, () -> attempts + " in " + seconds + " s");
    }
  }

  @Test
  void optionIsNamedWhereItIsMissing() throws Exception {
    SelectorProvider provider = new HybridSelectorProvider();
    var e = assertThrows(UnsupportedOperationException.class, provider::openSocketChannel);
    assertTrue(e.getMessage().contains("--add-exports"), e::getMessage);
    assertThrows(UnsupportedOperationException.class, provider::openServerSocketChannel);
    assertThrows(UnsupportedOperationException.class, provider::openPipe);
    assertThrows(UnsupportedOperationException.class, provider::openDatagramChannel);
    assertThrows(UnsupportedOperationException.class, provider::inheritedChannel);
  }
}
