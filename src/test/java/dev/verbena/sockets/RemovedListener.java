package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.LoggedMessages;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.logging.Level;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

/**
 * A listener of RDMA and TCP whose device is removed goes on with TCP; in the JVM of {@link
 * HybridBehaviour}, which has the descriptors of the JDK's channels.
 */
class RemovedListener {
  private static final SelectorProvider PROVIDER = new HybridSelectorProvider();
  private static final InetAddress FIRST = InetAddress.ofLiteral("127.0.0.2");
  private static final InetAddress SECOND = InetAddress.ofLiteral("127.0.0.3");
  private static final int CLIENTS = 5;

  private final SoftNetwork network;
  private final LoggedMessages log =
      new LoggedMessages("dev.verbena.sockets", Level.WARNING, "the RDMA listener at ");

  RemovedListener() throws IOException {
    int port = HybridProviderTest.freePort();
    network = SoftNetwork.of("udp:127.0.0.2:%d,udp:127.0.0.3:%d".formatted(port, port));
  }

  @AfterEach
  void close() {
    log.close();
    network.close();
  }

  private ServerSocketChannel listening(InetAddress address) throws Exception {
    ServerSocketChannel listener = PROVIDER.openServerSocketChannel();
    return network.call(() -> listener.bind(new InetSocketAddress(address, 0)));
  }

  private static SocketChannel connectByTcp(ServerSocketChannel listener) throws Exception {
    int port = ((InetSocketAddress) listener.getLocalAddress()).getPort();
    SocketChannel client = JdkChannels.provider().openSocketChannel();
    boolean _ = client.connect(new InetSocketAddress(FIRST, port));
    return client;
  }

  private static FutureTask<SocketChannel> accepting(ServerSocketChannel listener) {
    FutureTask<SocketChannel> accepting = new FutureTask<>(listener::accept);
    Thread _ = Thread.ofPlatform().daemon().start(accepting);
    return accepting;
  }

  @Test
  void blockingAcceptGoesOnWithTcp() throws Exception {
    try (ServerSocketChannel listener = listening(FIRST)) {
      FutureTask<SocketChannel> waiting = accepting(listener);
      network.removeDevice("udp0");
      assertEquals(true, log.next().endsWith("TCP connections only"));
      for (int i = 0; i < CLIENTS; i++) {
        try (SocketChannel _ = connectByTcp(listener);
            SocketChannel accepted = i == 0 ? waiting.get() : listener.accept()) {
          assertNotNull(accepted);
        }
      }
      assertEquals(0, log.all().size(), () -> log.all().toString());
    }
  }

  @Test
  void selectedAcceptGoesOnWithTcp() throws Exception {
    try (ServerSocketChannel listener = listening(FIRST);
        Selector selector = PROVIDER.openSelector()) {
      listener.configureBlocking(false);
      SelectionKey _ = listener.register(selector, SelectionKey.OP_ACCEPT);
      network.removeDevice("udp0");
      for (int i = 0; i < CLIENTS; i++) {
        try (SocketChannel _ = connectByTcp(listener)) {
          SocketChannel accepted = null;
          while (accepted == null) {
            int _ = selector.select();
            selector.selectedKeys().clear();
            accepted = listener.accept();
          }
          accepted.close();
        }
      }
      while (log.all().isEmpty()) { // The removal of the device is an event, too.
        int _ = selector.select();
        selector.selectedKeys().clear();
        assertEquals(null, listener.accept());
      }
      assertEquals(null, listener.accept());
      assertEquals(0, selector.selectNow(), "nothing is left to accept");
      listener.keyFor(selector).cancel();
      int _ = selector.selectNow();
      listener.configureBlocking(true);
      FutureTask<SocketChannel> waiting = accepting(listener);
      try (SocketChannel _ = connectByTcp(listener);
          SocketChannel accepted = waiting.get()) {
        assertNotNull(accepted);
      }
    }
  }

  /** The device is removed at any step of an accept: each accept finds nothing. */
  @RepeatedTest(20)
  void removalDuringAnAccept() throws Exception {
    try (ServerSocketChannel listener = listening(FIRST)) {
      listener.configureBlocking(false);
      FutureTask<Void> removal =
          new FutureTask<>(
              () -> {
                network.removeDevice("udp0");
                return null;
              });
      Thread _ = Thread.ofPlatform().daemon().start(removal);
      while (log.all().isEmpty()) {
        assertEquals(null, listener.accept());
      }
      removal.get();
    }
  }

  @Test
  void closeEndsTheAcceptOfTcp() throws Exception {
    FutureTask<SocketChannel> waiting;
    try (ServerSocketChannel listener = listening(FIRST)) {
      network.removeDevice("udp0");
      try (SocketChannel _ = connectByTcp(listener)) {
        listener.accept().close();
      }
      waiting = accepting(listener);
    }
    assertInstanceOf(
        ClosedChannelException.class,
        assertThrows(ExecutionException.class, waiting::get).getCause());
    assertEquals(true, network.openObjects().isEmpty(), () -> network.openObjects().toString());
  }

  @Test
  void listenerOfAllAddressesKeepsTheOtherDevices() throws Exception {
    try (ServerSocketChannel listener = listening(InetAddress.ofLiteral("0.0.0.0"))) {
      int port = ((InetSocketAddress) listener.getLocalAddress()).getPort();
      network.removeDevice("udp0");
      try (SocketChannel _ = connectByTcp(listener)) {
        listener.accept().close();
      }
      try (SocketChannel client =
          network.call(RdmaSelectorProvider.provider()::openSocketChannel)) {
        SocketChannel _ = network.call(() -> client.bind(new InetSocketAddress(SECOND, 0)));
        FutureTask<SocketChannel> waiting = accepting(listener);
        assertEquals(true, network.call(() -> client.connect(new InetSocketAddress(SECOND, port))));
        waiting.get().close();
      }
      assertEquals(0, log.all().size(), () -> log.all().toString());
    }
  }
}
