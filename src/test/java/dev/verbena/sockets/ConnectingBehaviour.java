package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.NoConnectionPendingException;
import java.nio.channels.NotYetBoundException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** How channels are connected, closed and interrupted, whichever the provider is. */
abstract class ConnectingBehaviour extends StreamBehaviour {
  @Test
  void addressesAreThoseOfTheConnection() throws Exception {
    Pair pair = connected();
    assertEquals(pair.client().getLocalAddress(), pair.server().getRemoteAddress());
    assertEquals(pair.client().getRemoteAddress(), pair.server().getLocalAddress());
    InetSocketAddress local = (InetSocketAddress) pair.client().getLocalAddress();
    assertEquals(connecting().getAddress(), local.getAddress());
    assertTrue(local.getPort() > 0);
    assertTrue(pair.client().toString().contains("connected"), pair.client()::toString);
    pair.client().close();
    assertThrows(ClosedChannelException.class, pair.client()::getLocalAddress);
    assertThrows(ClosedChannelException.class, pair.client()::getRemoteAddress);
    assertTrue(pair.client().toString().contains("closed"), pair.client()::toString);
  }

  @Test
  void unboundChannelHasNoAddress() throws Exception {
    SocketChannel channel = closing(provider().openSocketChannel());
    assertNull(channel.getLocalAddress());
    assertNull(channel.getRemoteAddress());
    ServerSocketChannel listener = closing(provider().openServerSocketChannel());
    assertNull(listener.getLocalAddress());
  }

  @Test
  void refusedConnectionThrowsAndCloses() throws Exception {
    InetSocketAddress unused;
    try (ServerSocketChannel listener = provider().openServerSocketChannel().bind(listening())) {
      unused = (InetSocketAddress) listener.getLocalAddress();
    }
    SocketChannel client = client();
    assertThrows(ConnectException.class, () -> client.connect(unused));
    assertFalse(client.isOpen());
    assertFalse(client.isConnectionPending());
  }

  @Test
  void connectsWithinATimeout() throws Exception {
    ServerSocketChannel listener = listener();
    for (int milliseconds : new int[] {0, 1_000_000, Integer.MAX_VALUE}) {
      SocketChannel client = client();
      client.socket().connect(listener.getLocalAddress(), milliseconds);
      assertTrue(client.isConnected() && client.isBlocking());
      assertEquals(client.getLocalAddress(), closing(listener.accept()).getRemoteAddress());
    }
  }

  /** At whatever moment: it was connected before, or throws an exception that says so. */
  @Test
  void closeEndsAConnectInProgress() throws Exception {
    ServerSocketChannel listener = listener();
    listener.configureBlocking(false);
    Random random = new Random(1);
    for (int i = 0; i < 200; i++) {
      SocketChannel client = client();
      boolean isBlocking = i % 2 == 0;
      client.configureBlocking(isBlocking);
      var connect = inBackground(() -> client.connect(listener.getLocalAddress()) || !isBlocking);
      while (!client.isConnectionPending() && !connect.isDone()) {
        Thread.onSpinWait();
      }
      for (int spins = random.nextInt(1 << random.nextInt(16)); spins > 0; spins--) {
        Thread.onSpinWait();
      }
      client.close();
      try {
        assertTrue(connect.get());
      } catch (ExecutionException e) {
        Class<?> type =
            isBlocking ? AsynchronousCloseException.class : ClosedChannelException.class;
        assertInstanceOf(type, e.getCause());
      }
      for (SocketChannel next = listener.accept(); next != null; next = listener.accept()) {
        next.close();
      }
    }
  }

  @Test
  void interruptedThreadDoesNotConnect() throws Exception {
    ServerSocketChannel listener = listener();
    SocketChannel client = client();
    Thread.currentThread().interrupt();
    try {
      assertThrows(
          ClosedByInterruptException.class, () -> client.connect(listener.getLocalAddress()));
    } finally {
      assertTrue(Thread.interrupted());
    }
    assertFalse(client.isOpen());
  }

  @Test
  void connectsWithoutBlocking() throws Exception {
    ServerSocketChannel listener = listener();
    listener.configureBlocking(false);
    assertNull(listener.accept());
    Selector selector = selector();
    SelectionKey acceptKey = listener.register(selector, SelectionKey.OP_ACCEPT, "listener");
    SocketChannel client = client();
    client.configureBlocking(false);
    SelectionKey connectKey = client.register(selector, SelectionKey.OP_CONNECT, "client");
    boolean isConnected = client.connect(listener.getLocalAddress());
    if (!isConnected) {
      assertTrue(client.isConnectionPending());
    }
    SocketChannel server = null;
    while (server == null || !isConnected) {
      selector.select();
      if (selector.selectedKeys().remove(connectKey)) {
        assertTrue(connectKey.isConnectable());
        isConnected = client.finishConnect();
        connectKey.interestOps(0);
      }
      if (selector.selectedKeys().remove(acceptKey)) {
        assertTrue(acceptKey.isAcceptable());
        assertEquals("listener", acceptKey.attachment());
        server = closing(listener.accept());
      }
    }
    assertTrue(client.isConnected());
    assertFalse(client.isConnectionPending());
    assertTrue(client.finishConnect());
    assertTrue(server.isBlocking());
    connectKey.interestOps(SelectionKey.OP_READ);
    assertEquals(0, selector.selectNow());
    server.write(ByteBuffer.wrap(random(5)));
    assertEquals(1, selector.select());
    assertTrue(connectKey.isReadable());
    assertEquals(5, client.read(ByteBuffer.allocate(10)));
  }

  @Test
  void connectsBesideASelection() throws Exception {
    ServerSocketChannel listener = listener();
    SocketChannel client = client();
    client.configureBlocking(false);
    Selector selector = selector();
    client.register(selector, SelectionKey.OP_CONNECT | SelectionKey.OP_READ);
    var connected =
        inBackground(
            () -> {
              while (!client.isConnected()) {
                selector.select();
                selector.selectedKeys().clear();
                if (client.isConnectionPending()) {
                  client.finishConnect();
                }
              }
              return null;
            });
    letItWait();
    if (client.connect(listener.getLocalAddress())) {
      selector.wakeup();
    }
    connected.get();
  }

  @Test
  void readInterestFromBeforeFinishConnectIsSelected() throws Exception {
    ServerSocketChannel listener = listener();
    Selector selector = selector();
    SocketChannel client = client();
    client.configureBlocking(false);
    SelectionKey key = client.register(selector, SelectionKey.OP_CONNECT);
    boolean isConnected = client.connect(listener.getLocalAddress());
    SocketChannel server = closing(listener.accept());
    if (!isConnected) {
      assertEquals(1, selector.select());
    }
    key.interestOps(SelectionKey.OP_READ);
    selector.selectedKeys().clear();
    assertEquals(0, selector.selectNow());
    assertTrue(client.finishConnect());
    server.write(ByteBuffer.wrap(random(5)));
    assertEquals(1, selector.select());
    assertTrue(key.isReadable());
  }

  @Test
  void refusedConnectionIsReportedByFinishConnect() throws Exception {
    InetSocketAddress unused;
    try (ServerSocketChannel listener = provider().openServerSocketChannel().bind(listening())) {
      unused = (InetSocketAddress) listener.getLocalAddress();
    }
    SocketChannel client = client();
    client.configureBlocking(false);
    Selector selector = selector();
    client.register(selector, SelectionKey.OP_CONNECT);
    assertThrows(
        ConnectException.class,
        () -> {
          client.connect(unused);
          selector.select();
          client.finishConnect();
        });
    assertFalse(client.isOpen());
  }

  @Test
  void statesAreChecked() throws Exception {
    SocketChannel fresh = closing(provider().openSocketChannel());
    ByteBuffer one = ByteBuffer.allocate(1);
    assertThrows(NotYetConnectedException.class, () -> fresh.read(one));
    assertThrows(NotYetConnectedException.class, () -> fresh.write(one));
    assertThrows(NotYetConnectedException.class, fresh::shutdownInput);
    assertThrows(NotYetConnectedException.class, fresh::shutdownOutput);
    assertThrows(NoConnectionPendingException.class, fresh::finishConnect);
    fresh.bind(connecting());
    assertThrows(AlreadyBoundException.class, () -> fresh.bind(connecting()));
    Pair pair = connected();
    assertThrows(
        AlreadyConnectedException.class,
        () -> pair.client().connect(pair.client().getRemoteAddress()));
    assertTrue(pair.client().isOpen());
    ServerSocketChannel unbound = closing(provider().openServerSocketChannel());
    assertThrows(NotYetBoundException.class, unbound::accept);
    unbound.bind(listening());
    assertThrows(AlreadyBoundException.class, () -> unbound.bind(listening()));
  }

  @Test
  void addressesAreChecked() throws Exception {
    SocketChannel channel = closing(provider().openSocketChannel());
    assertThrows(
        UnresolvedAddressException.class,
        () -> channel.connect(InetSocketAddress.createUnresolved("unknown.invalid", 1)));
    assertThrows(
        UnsupportedAddressTypeException.class,
        () -> channel.connect(UnixDomainSocketAddress.of("/nowhere")));
    assertThrows(
        UnsupportedAddressTypeException.class,
        () -> channel.bind(UnixDomainSocketAddress.of("/nowhere")));
    assertTrue(channel.isOpen());
  }

  @Test
  void familiesAreChecked() throws Exception {
    SocketChannel channel = closing(provider().openSocketChannel(StandardProtocolFamily.INET));
    InetSocketAddress ipv6 = new InetSocketAddress("2001:db8::1", 7471);
    assertThrows(UnsupportedAddressTypeException.class, () -> channel.bind(ipv6));
    assertThrows(UnsupportedAddressTypeException.class, () -> channel.connect(ipv6));
    assertTrue(channel.isOpen());
    assertThrows(NullPointerException.class, () -> provider().openSocketChannel(null));
    ServerSocketChannel listener =
        closing(provider().openServerSocketChannel(StandardProtocolFamily.INET));
    assertThrows(UnsupportedAddressTypeException.class, () -> listener.bind(ipv6));
    assertNull(listener.getLocalAddress());
  }

  @Test
  void argumentsAreChecked() throws Exception {
    Pair pair = connected();
    ByteBuffer readOnly = ByteBuffer.allocate(1).asReadOnlyBuffer();
    ByteBuffer[] two = {ByteBuffer.allocate(1), ByteBuffer.allocate(1)};
    assertThrows(IllegalArgumentException.class, () -> pair.client().read(readOnly));
    assertThrows(
        IllegalArgumentException.class, () -> pair.client().read(new ByteBuffer[] {readOnly}));
    assertThrows(NullPointerException.class, () -> pair.client().read((ByteBuffer) null));
    assertThrows(NullPointerException.class, () -> pair.client().write((ByteBuffer) null));
    assertThrows(IndexOutOfBoundsException.class, () -> pair.client().read(two, 1, 2));
    assertThrows(IndexOutOfBoundsException.class, () -> pair.client().write(two, -1, 1));
    assertThrows(NullPointerException.class, () -> pair.client().setOption(null, true));
    assertEquals(1, pair.client().write(readOnly));
  }

  @Test
  void closedChannelsThrow() throws Exception {
    Pair pair = connected();
    SocketChannel closed = pair.client();
    closed.close();
    closed.close(); // Without effect.
    assertFalse(closed.isOpen());
    assertFalse(closed.isConnected());
    ByteBuffer one = ByteBuffer.allocate(1);
    assertThrows(ClosedChannelException.class, () -> closed.read(one));
    assertThrows(ClosedChannelException.class, () -> closed.write(one));
    assertThrows(ClosedChannelException.class, () -> closed.connect(connecting()));
    assertThrows(ClosedChannelException.class, closed::finishConnect);
    assertThrows(ClosedChannelException.class, closed::shutdownInput);
    assertThrows(ClosedChannelException.class, () -> closed.configureBlocking(false));
    assertThrows(
        ClosedChannelException.class,
        () -> closed.setOption(StandardSocketOptions.TCP_NODELAY, true));
    assertThrows(ClosedChannelException.class, () -> closed.register(selector(), 0));
    ServerSocketChannel listener = listener();
    listener.close();
    assertThrows(ClosedChannelException.class, listener::accept);
    assertThrows(ClosedChannelException.class, () -> listener.bind(null));
  }

  /** Only a close during the call is an asynchronous one. The JDK before 25 is less exact. */
  @Test
  void callsOfClosedBlockingChannelsAreNotEndedAsynchronously() throws Exception {
    SocketChannel closed = connected().client();
    SocketChannel fresh = client();
    ServerSocketChannel listener = listener();
    InetSocketAddress address = (InetSocketAddress) listener.getLocalAddress();
    ByteBuffer one = ByteBuffer.allocate(1);
    closed.close();
    fresh.close();
    listener.close();
    List<Executable> calls =
        List.of(
            () -> fresh.connect(address),
            () -> closed.connect(address),
            fresh::finishConnect,
            closed::finishConnect,
            () -> closed.read(one),
            () -> closed.read(new ByteBuffer[] {one}),
            () -> closed.write(one),
            () -> closed.write(new ByteBuffer[] {one}),
            listener::accept);
    for (Executable call : calls) {
      Exception e = assertThrows(ClosedChannelException.class, call);
      if (!isTcp() || Runtime.version().feature() >= 25) {
        assertEquals(ClosedChannelException.class, e.getClass());
      }
    }
  }

  /** Before any other state is looked at: the interrupt closes the channel. */
  @Test
  void interruptedThreadClosesChannelsOfAnyState() throws Exception {
    SocketChannel fresh = client();
    SocketChannel shut = connected().client();
    shut.shutdownOutput();
    SocketChannel connected = connected().client();
    ServerSocketChannel unbound = closing(provider().openServerSocketChannel());
    Map<AbstractSelectableChannel, Executable> calls =
        Map.of(
            fresh,
            fresh::finishConnect,
            shut,
            () -> shut.write(ByteBuffer.allocate(1)),
            connected,
            () -> connected.connect(connected.getRemoteAddress()),
            unbound,
            unbound::accept);
    calls.forEach(
        (channel, call) -> {
          Thread.currentThread().interrupt();
          try {
            assertThrows(ClosedByInterruptException.class, call);
          } finally {
            assertTrue(Thread.interrupted());
          }
          assertFalse(channel.isOpen());
        });
  }

  /** {@link Socket} specifies that it stays connected; that of the JDK's channels does not. */
  @Test
  void socketOfAClosedChannelKeepsWhatItWas() throws Exception {
    Pair pair = connected();
    pair.client().shutdownInput();
    for (SocketChannel channel : List.of(pair.client(), pair.server())) {
      Socket socket = channel.socket();
      InetSocketAddress local = (InetSocketAddress) channel.getLocalAddress();
      InetSocketAddress remote = (InetSocketAddress) channel.getRemoteAddress();
      channel.close();
      assertEquals(!isOfJdk(socket), socket.isConnected());
      assertTrue(socket.isBound() && socket.isClosed());
      assertEquals(channel.equals(pair.client()), socket.isInputShutdown());
      assertFalse(socket.isOutputShutdown());
      assertEquals(local.getPort(), ((InetSocketAddress) socket.getLocalSocketAddress()).getPort());
      assertTrue(socket.getLocalAddress().isAnyLocalAddress());
      assertEquals(local.getPort(), socket.getLocalPort());
      assertEquals(remote.getPort(), socket.getPort());
      assertEquals(remote.getAddress(), socket.getInetAddress());
    }
    Socket fresh = closing(provider().openSocketChannel()).socket();
    fresh.close();
    assertFalse(fresh.isConnected() || fresh.isBound() || fresh.isInputShutdown());
    assertTrue(fresh.isClosed());
    assertNull(fresh.getLocalSocketAddress());
  }

  private static boolean isOfJdk(Object object) {
    return object.getClass().getModule().equals(Object.class.getModule());
  }

  /** As the JDK's, they do not convert what the channel throws. */
  @Test
  void socketsOfClosedChannelsThrowWhatTheirChannelsThrow() throws Exception {
    Socket closed = connected().client().socket();
    ServerSocket listener = listener().socket();
    SocketAddress address = listener.getLocalSocketAddress();
    closed.close();
    listener.close();
    List<Executable> calls =
        List.of(
            () -> closed.connect(address),
            () -> closed.connect(address, 1000),
            () -> closed.bind(null),
            closed::shutdownInput,
            closed::shutdownOutput,
            () -> listener.bind(null),
            listener::accept);
    for (Executable call : calls) {
      assertThrows(ClosedChannelException.class, call);
    }
    assertThrows(SocketException.class, closed::getInputStream);
    assertThrows(SocketException.class, closed::getOutputStream);
  }

  @Test
  void socketsReportAddressesAndStates() throws Exception {
    Socket socket = closing(provider().openSocketChannel()).socket();
    ServerSocket listener = closing(provider().openServerSocketChannel()).socket();
    for (SocketAddress wrong :
        List.of(
            InetSocketAddress.createUnresolved("unknown.invalid", 1),
            UnixDomainSocketAddress.of("/nowhere"))) {
      assertThrows(SocketException.class, () -> socket.bind(wrong));
      assertThrows(SocketException.class, () -> listener.bind(wrong));
    }
    assertThrows(
        SocketException.class, () -> socket.connect(UnixDomainSocketAddress.of("/nowhere")));
    assertThrows(SocketException.class, socket::shutdownInput);
    assertThrows(SocketException.class, socket::shutdownOutput);
    assertThrows(SocketException.class, socket::getInputStream);
    assertThrows(SocketException.class, listener::accept);
    assertFalse(socket.isClosed() || listener.isClosed());
    Pair pair = connected();
    Socket connected = pair.client().socket();
    assertThrows(
        SocketException.class, () -> connected.connect(connected.getRemoteSocketAddress()));
    InputStream input = connected.getInputStream();
    pair.client().configureBlocking(false);
    assertEquals(0, input.read(new byte[1], 1, 0));
    assertThrows(IllegalBlockingModeException.class, input::read);
    assertThrows(
        IllegalBlockingModeException.class,
        () -> connected.connect(connected.getRemoteSocketAddress()));
  }

  // Closing and interrupting beside a waiting thread

  @Test
  void closeEndsAWaitingRead() throws Exception {
    Pair pair = connected();
    var read = inBackground(() -> pair.client().read(ByteBuffer.allocate(1)));
    letItWait();
    pair.client().close();
    causeOf(ClosedChannelException.class, read);
    assertEquals(-1, pair.server().read(ByteBuffer.allocate(1)));
  }

  @Test
  void closeEndsAWaitingWrite() throws Exception {
    Pair pair = connected();
    ByteBuffer source = ByteBuffer.allocateDirect(16 << 20);
    var write = inBackground(() -> pair.client().write(source));
    letItWait();
    letItWait();
    pair.client().close();
    await(write); // Which has written a part, or fails.
  }

  @Test
  void closeEndsAWaitingAccept() throws Exception {
    ServerSocketChannel listener = listener();
    var accept = inBackground(listener::accept);
    letItWait();
    listener.close();
    causeOf(ClosedChannelException.class, accept);
  }

  @Test
  void interruptClosesTheChannelOfAWaitingRead() throws Exception {
    Pair pair = connected();
    FutureTask<Integer> read = new FutureTask<>(() -> pair.client().read(ByteBuffer.allocate(1)));
    Thread reader = Thread.ofPlatform().daemon().start(read);
    letItWait();
    reader.interrupt();
    causeOf(ClosedByInterruptException.class, read);
    assertFalse(pair.client().isOpen());
    assertEquals(-1, pair.server().read(ByteBuffer.allocate(1)));
  }

  @Test
  void interruptClosesTheChannelOfAVirtualThread() throws Exception {
    Pair pair = connected();
    FutureTask<Integer> read = new FutureTask<>(() -> pair.client().read(ByteBuffer.allocate(1)));
    Thread reader = Thread.ofVirtual().start(read);
    letItWait();
    reader.interrupt();
    causeOf(ClosedByInterruptException.class, read);
    assertFalse(pair.client().isOpen());
  }

  @Test
  void interruptEndsAWaitingAccept() throws Exception {
    ServerSocketChannel listener = listener();
    FutureTask<SocketChannel> accept = new FutureTask<>(listener::accept);
    Thread thread = Thread.ofPlatform().daemon().start(accept);
    letItWait();
    thread.interrupt();
    causeOf(ClosedByInterruptException.class, accept);
    assertFalse(listener.isOpen());
  }

  @Test
  void interruptedThreadDoesNotRead() throws Exception {
    Pair pair = connected();
    pair.server().write(ByteBuffer.allocate(1));
    Thread.currentThread().interrupt();
    try {
      assertThrows(
          ClosedByInterruptException.class, () -> pair.client().read(ByteBuffer.allocate(1)));
    } finally {
      assertTrue(Thread.interrupted());
    }
  }

  @Test
  void virtualThreadsEcho() throws Exception {
    int count = 8;
    ServerSocketChannel listener = listener();
    List<FutureTask<Integer>> echoes = new ArrayList<>();
    FutureTask<Void> server =
        new FutureTask<>(
            () -> {
              for (int i = 0; i < count; i++) {
                SocketChannel accepted = closing(listener.accept());
                Thread.ofVirtual()
                    .start(
                        () -> {
                          ByteBuffer buffer = ByteBuffer.allocateDirect(8);
                          try {
                            while (accepted.read(buffer.clear()) >= 0) {
                              accepted.write(buffer.flip());
                            }
                          } catch (IOException e) {
                            assertFalse(accepted.isOpen(), e::toString); // The test has ended.
                          }
                        });
              }
              return null;
            });
    Thread.ofVirtual().start(server);
    for (int i = 0; i < count; i++) {
      SocketChannel client = client();
      client.connect(listener.getLocalAddress());
      int value = i;
      FutureTask<Integer> echo =
          new FutureTask<>(
              () -> {
                ByteBuffer buffer = ByteBuffer.allocate(4).putInt(value).flip();
                client.write(buffer);
                readFully(client, buffer.clear());
                return buffer.getInt(0);
              });
      echoes.add(echo);
      Thread.ofVirtual().start(echo);
    }
    for (int i = 0; i < count; i++) {
      assertEquals(i, echoes.get(i).get());
    }
    server.get();
  }
}
