package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.EventType;
import dev.verbena.cm.PortSpace;
import dev.verbena.internal.CurrentProvider;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.testing.LoggedMessages;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.logging.Level;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

/** Calls fail while a listener is bound, or accepts or rejects requests: nothing remains open. */
class FailingListenerTest {
  private static final SelectorProvider RDMA = RdmaSelectorProvider.provider();
  private static final InetAddress ADDRESS = InetAddress.ofLiteral("192.0.2.1");
  private static final InetSocketAddress LOCAL = new InetSocketAddress(ADDRESS, 0);

  private final SoftNetwork network = SoftNetwork.create();

  FailingListenerTest() {
    network.addDevice("soft0", ADDRESS);
  }

  @AfterEach
  void close() {
    network.close();
  }

  private SocketChannel open() throws Exception {
    return network.call(RDMA::openSocketChannel);
  }

  private boolean connect(SocketChannel client, InetSocketAddress to) throws Exception {
    return network.call(() -> client.connect(to));
  }

  private void assertNothingIsOpen() {
    Await.until(() -> "open: " + network.openObjects(), () -> network.openObjects().isEmpty());
  }

  @Test
  void requestThatCannotBeMovedLeavesNothing() throws Exception {
    try (ServerSocketChannel listener = network.call(RDMA::openServerSocketChannel);
        SocketChannel refused = open();
        SocketChannel client = open()) {
      network.call(() -> listener.bind(LOCAL));
      InetSocketAddress address = (InetSocketAddress) listener.getLocalAddress();
      var _ = network.faults().fail("rdma_migrate_id", 1, Errno.ENOMEM);
      assertThrows(IOException.class, () -> connect(refused, address));
      assertEquals(true, connect(client, address));
      listener.accept().close();
    }
    assertNothingIsOpen();
  }

  @Test
  void listenerIsClosedThatCannotRejectARequest() throws Exception {
    RdmaListener listener =
        network.call(() -> RdmaListener.open(LOCAL, 1, Sizes.DEFAULT, () -> {}));
    try (SocketChannel established = open();
        SocketChannel first = open();
        SocketChannel second = open()) {
      InetSocketAddress address = listener.localAddress();
      assertEquals(true, connect(established, address));
      for (SocketChannel client : new SocketChannel[] {first, second}) {
        client.configureBlocking(false);
        assertEquals(false, connect(client, address));
      }
      Await.until(listener::toString, () -> listener.toString().endsWith("2 waiting"));
      var _ = network.faults().fail("rdma_reject", 1, Errno.ENOMEM);
      listener.close();
    }
    assertNothingIsOpen();
  }

  @Test
  void listenerIsClosedWhoseIdentifierCannotBeDestroyed() throws Exception {
    ServerSocketChannel listener = network.call(RDMA::openServerSocketChannel);
    try (LoggedMessages log = new LoggedMessages("dev.verbena", Level.WARNING, "unexpected");
        Selector selector = RDMA.openSelector()) {
      network.call(() -> listener.bind(LOCAL));
      listener.configureBlocking(false);
      SelectionKey key = listener.register(selector, SelectionKey.OP_ACCEPT);
      var _ = network.faults().fail("rdma_destroy_id", 1, Errno.EIO);
      listener.close();
      assertFalse(key.isValid());
      assertEquals(1, log.all().size(), () -> log.all().toString());
    }
    assertNothingIsOpen();
  }

  /** The event is received when the listener has begun to listen, at any step of what follows. */
  @RepeatedTest(20)
  void deviceThatIsRemovedWhileAListenerIsBoundEndsIt() throws Exception {
    InterposedProvider provider =
        new InterposedProvider(
            network,
            (function, _, call) -> {
              Object result = call.make();
              if (function.equals("rdma_listen")) {
                network.removeDevice("soft0");
              }
              return result;
            });
    try (ServerSocketChannel listener = network.call(RDMA::openServerSocketChannel)) {
      var _ = CurrentProvider.call(provider, () -> listener.bind(LOCAL));
      assertThrows(SocketException.class, listener::accept);
    }
    assertNothingIsOpen();
  }

  /** There are more of them than can fail meanwhile. */
  @Test
  void requestsThatAreNotCompletedTakeNoPlaceOfTheBacklog() throws Exception {
    InetAddress stranger = InetAddress.ofLiteral("192.0.2.3");
    network.addDevice("stranger", stranger);
    RdmaListener listener =
        network.call(() -> RdmaListener.open(LOCAL, 2, Sizes.DEFAULT, () -> {}));
    InetSocketAddress address = listener.localAddress();
    byte[] data =
        new ConnectionData(
                false,
                16,
                0,
                new ConnectionData.RemoteMemory(0, 0, ConnectionData.SGES),
                new ConnectionData.RemoteMemory(0, 0, 4096))
            .toBytes();
    try (EventChannel channel = network.call(EventChannel::open)) {
      List<ConnectionId> resolved = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        ConnectionId id = channel.createId(PortSpace.TCP);
        id.resolveAddress(new InetSocketAddress(stranger, 0), address, Await.LIMIT);
        assertEquals(EventType.ADDR_RESOLVED, channel.take().type());
        id.resolveRoute(Await.LIMIT);
        assertEquals(EventType.ROUTE_RESOLVED, channel.take().type());
        resolved.add(id);
      }
      for (int i = 0; i < resolved.size(); i++) {
        resolved.get(i).connect(ConnectionParameters.DEFAULT.withQueuePairNumber(17 + i), data);
      }
      try (SocketChannel client = open()) {
        SocketChannel _ = network.call(() -> client.bind(LOCAL));
        assertEquals(true, connect(client, address));
        Await.until(
            listener::toString,
            () ->
                listener.toString().contains("1 established, 1 half-open")
                    || listener.toString().contains("1 established, 2 half-open"));
      }
    }
    listener.close();
    assertNothingIsOpen();
  }

  @Test
  void listenerWorksWhereTheOneOfTcpCannotBeClosed() throws Exception {
    try (LoggedMessages log = new LoggedMessages("dev.verbena.sockets", Level.WARNING, "");
        ServerSocketChannel listener = new HybridListener(RDMA, new Unclosable(), null);
        SocketChannel client = open()) {
      network.call(() -> listener.bind(LOCAL));
      InetSocketAddress address = (InetSocketAddress) listener.getLocalAddress();
      assertEquals(true, connect(client, address));
      listener.accept().close();
      assertEquals(1, log.all().size(), () -> log.all().toString());
    }
    assertNothingIsOpen();
  }

  /** A channel whose close fails the first time; nothing else is called. */
  private static final class Unclosable extends ServerSocketChannel {
    Unclosable() {
      super(RDMA);
    }

    @Override
    protected void implCloseSelectableChannel() throws IOException {
      throw new IOException("not closed");
    }

    @Override
    protected void implConfigureBlocking(boolean block) {
      throw new AssertionError();
    }

    @Override
    public ServerSocketChannel bind(SocketAddress local, int backlog) {
      throw new AssertionError();
    }

    @Override
    public <T> ServerSocketChannel setOption(SocketOption<T> name, T value) {
      throw new AssertionError();
    }

    @Override
    public <T> T getOption(SocketOption<T> name) {
      throw new AssertionError();
    }

    @Override
    public Set<SocketOption<?>> supportedOptions() {
      throw new AssertionError();
    }

    @Override
    public ServerSocket socket() {
      throw new AssertionError();
    }

    @Override
    public SocketChannel accept() {
      throw new AssertionError();
    }

    @Override
    public SocketAddress getLocalAddress() {
      throw new AssertionError();
    }
  }
}
