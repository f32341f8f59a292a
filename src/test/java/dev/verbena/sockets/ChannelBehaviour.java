package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.IllegalSelectorException;
import java.nio.channels.NoConnectionPendingException;
import java.nio.channels.NotYetBoundException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** How the channels and selectors of a provider behave, whichever provider it is. */
abstract class ChannelBehaviour {
  /** A connection. */
  record Pair(SocketChannel client, SocketChannel server) implements AutoCloseable {
    @Override
    public void close() throws IOException {
      client.close();
      server.close();
    }
  }

  private final List<AutoCloseable> opened = new ArrayList<>();

  abstract SelectorProvider provider();

  /** An address to listen at, with any port. */
  abstract InetSocketAddress listening();

  /** An address to connect from, with any port. */
  abstract InetSocketAddress connecting();

  @AfterEach
  void closeAll() throws Exception {
    for (AutoCloseable resource : opened.reversed()) {
      resource.close();
    }
  }

  private <T extends AutoCloseable> T closing(T resource) {
    opened.add(resource);
    return resource;
  }

  final ServerSocketChannel listener() throws IOException {
    return closing(provider().openServerSocketChannel()).bind(listening());
  }

  private SocketChannel client() throws IOException {
    return closing(provider().openSocketChannel()).bind(connecting());
  }

  private Selector selector() throws IOException {
    return closing(provider().openSelector());
  }

  final Pair connected() throws Exception {
    try (ServerSocketChannel listener = provider().openServerSocketChannel().bind(listening())) {
      var accepted = inBackground(listener::accept);
      SocketChannel client = client();
      assertTrue(client.connect(listener.getLocalAddress()));
      return new Pair(client, closing(accepted.get()));
    }
  }

  static <T> FutureTask<T> inBackground(Callable<T> task) {
    FutureTask<T> future = new FutureTask<>(task);
    Thread.ofPlatform().daemon().start(future);
    return future;
  }

  private static <E extends Throwable> E causeOf(Class<E> type, FutureTask<?> task) {
    Throwable cause = assertThrows(ExecutionException.class, task::get).getCause();
    return assertThrows(
        type,
        () -> {
          throw cause;
        });
  }

  /** Waits until a thread waits inside a channel: in C, which no state of the thread shows. */
  private static void letItWait() throws InterruptedException {
    Await.pass(Duration.ofMillis(100), "it waits, in C");
  }

  private static byte[] random(int size) {
    byte[] bytes = new byte[size];
    new Random(42).nextBytes(bytes);
    return bytes;
  }

  private static ByteBuffer direct(byte[] bytes) {
    return ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
  }

  private static void readFully(SocketChannel channel, ByteBuffer target) throws IOException {
    while (target.hasRemaining()) {
      assertTrue(channel.read(target) > 0, "end of the stream");
    }
  }

  private static byte[] bytes(ByteBuffer buffer) {
    byte[] bytes = new byte[buffer.position()];
    buffer.get(0, bytes);
    return bytes;
  }

  // Data

  @Test
  void directBuffersArrive() throws Exception {
    Pair pair = connected();
    byte[] sent = random(100_000);
    var written = inBackground(() -> pair.client().write(direct(sent)));
    ByteBuffer received = ByteBuffer.allocateDirect(sent.length);
    readFully(pair.server(), received);
    assertArrayEquals(sent, bytes(received));
    assertEquals(sent.length, written.get());
  }

  @Test
  void heapBuffersArrive() throws Exception {
    Pair pair = connected();
    byte[] sent = random(1_000_000);
    ByteBuffer source = ByteBuffer.wrap(sent, 10, sent.length - 10).slice();
    var written = inBackground(() -> pair.server().write(source));
    ByteBuffer received = ByteBuffer.allocate(sent.length).position(10);
    readFully(pair.client(), received);
    assertArrayEquals(
        java.util.Arrays.copyOfRange(sent, 10, sent.length),
        java.util.Arrays.copyOfRange(received.array(), 10, sent.length));
    assertEquals(sent.length - 10, written.get());
    assertFalse(source.hasRemaining());
  }

  @Test
  void bothDirectionsAtOnce() throws Exception {
    Pair pair = connected();
    byte[] sent = random(4 << 20);
    var there = inBackground(() -> pair.client().write(direct(sent)));
    var back = inBackground(() -> pair.server().write(direct(sent)));
    ByteBuffer atClient = ByteBuffer.allocateDirect(sent.length);
    var read =
        inBackground(
            () -> {
              readFully(pair.client(), atClient);
              return null;
            });
    ByteBuffer atServer = ByteBuffer.allocateDirect(sent.length);
    readFully(pair.server(), atServer);
    read.get();
    assertEquals(sent.length, there.get());
    assertEquals(sent.length, back.get());
    assertArrayEquals(sent, bytes(atServer));
    assertArrayEquals(sent, bytes(atClient));
  }

  @Test
  void buffersAreGatheredAndScattered() throws Exception {
    Pair pair = connected();
    ByteBuffer[] sources = {
      ByteBuffer.wrap(random(1000)), ByteBuffer.allocate(0), direct(random(3000)).position(500)
    };
    assertEquals(3500, pair.client().write(sources));
    assertFalse(sources[0].hasRemaining() || sources[2].hasRemaining());
    ByteBuffer first = ByteBuffer.allocateDirect(700);
    ByteBuffer second = ByteBuffer.allocate(2800);
    long count = 0;
    while (count < 3500) {
      count += pair.server().read(new ByteBuffer[] {first, second}, 0, 2);
    }
    byte[] expected = new byte[3500];
    sources[0].get(0, expected, 0, 1000);
    sources[2].get(500, expected, 1000, 2500);
    byte[] received = new byte[3500];
    first.get(0, received, 0, 700);
    second.get(0, received, 700, 2800);
    assertArrayEquals(expected, received);
  }

  @Test
  void manyLargeBuffersAreGathered() throws Exception {
    Pair pair = connected();
    byte[] part = random(200_000);
    ByteBuffer[] sources = new ByteBuffer[10];
    for (int i = 0; i < sources.length; i++) {
      sources[i] = i % 2 == 0 ? ByteBuffer.wrap(part) : direct(part);
    }
    var written =
        inBackground(
            () -> {
              long total = 0;
              while (sources[9].hasRemaining()) {
                total += pair.client().write(sources);
              }
              return total;
            });
    ByteBuffer received = ByteBuffer.allocateDirect(10 * part.length);
    readFully(pair.server(), received);
    assertEquals(10L * part.length, written.get());
    byte[] all = bytes(received);
    for (int i = 0; i < 10; i++) {
      assertArrayEquals(
          part, java.util.Arrays.copyOfRange(all, i * part.length, (i + 1) * part.length));
    }
  }

  @Test
  void emptyBuffersTransferNothing() throws Exception {
    Pair pair = connected();
    assertEquals(0, pair.client().write(ByteBuffer.allocate(0)));
    assertEquals(0, pair.client().write(new ByteBuffer[] {ByteBuffer.allocate(0)}));
    assertEquals(0, pair.client().write(new ByteBuffer[0]));
    assertEquals(0, pair.client().read(ByteBuffer.allocate(0)));
    assertEquals(0, pair.client().read(new ByteBuffer[0]));
  }

  @Test
  void nonBlockingReadReturnsZero() throws Exception {
    Pair pair = connected();
    pair.client().configureBlocking(false);
    assertEquals(0, pair.client().read(ByteBuffer.allocate(10)));
    assertEquals(0, pair.client().read(new ByteBuffer[] {ByteBuffer.allocate(10)}));
  }

  @Test
  void nonBlockingWriteReturnsZeroWhenFull() throws Exception {
    Pair pair = connected();
    pair.client().configureBlocking(false);
    ByteBuffer source = ByteBuffer.allocateDirect(1 << 16);
    long sent = 0;
    while (true) {
      int count = pair.client().write(source.clear());
      sent += count;
      if (count == 0) {
        letItWait(); // The peer's system may still take some.
        count = pair.client().write(source.clear());
        sent += count;
        if (count == 0) {
          break;
        }
      }
    }
    Selector selector = selector();
    SelectionKey key = pair.client().register(selector, SelectionKey.OP_WRITE);
    assertEquals(0, selector.selectNow());
    ByteBuffer target = ByteBuffer.allocateDirect(1 << 16);
    for (long received = 0; received < sent; ) {
      received += pair.server().read(target.clear());
    }
    assertEquals(1, selector.select());
    assertTrue(key.isWritable());
    assertTrue(pair.client().write(source.clear()) > 0);
  }

  // The end of a connection

  @Test
  void closeEndsTheStreamOfThePeer() throws Exception {
    Pair pair = connected();
    pair.client().write(ByteBuffer.wrap(random(100)));
    pair.client().close();
    ByteBuffer target = ByteBuffer.allocate(100);
    readFully(pair.server(), target);
    assertEquals(-1, pair.server().read(target.clear()));
    assertEquals(-1, pair.server().read(new ByteBuffer[] {target.clear()}));
  }

  @Test
  void closeOfANonBlockingChannelEndsTheStreamOfThePeer() throws Exception {
    Pair pair = connected();
    pair.client().configureBlocking(false);
    pair.client().write(ByteBuffer.wrap(random(100)));
    pair.client().close();
    ByteBuffer target = ByteBuffer.allocate(100);
    readFully(pair.server(), target);
    assertEquals(-1, pair.server().read(target.clear()));
  }

  @Test
  void halfClosedConnectionStillReceives() throws Exception {
    Pair pair = connected();
    pair.client().write(ByteBuffer.wrap(random(10)));
    pair.client().shutdownOutput();
    pair.client().shutdownOutput(); // Without effect.
    assertThrows(ClosedChannelException.class, () -> pair.client().write(ByteBuffer.allocate(1)));
    ByteBuffer target = ByteBuffer.allocate(10);
    readFully(pair.server(), target);
    assertEquals(-1, pair.server().read(target.clear()));
    pair.server().write(ByteBuffer.wrap(random(10)));
    readFully(pair.client(), target.clear());
    assertArrayEquals(random(10), target.array());
    assertTrue(pair.client().isConnected());
  }

  @Test
  void shutdownOutputBesideAWaitingReader() throws Exception {
    Pair pair = connected();
    ByteBuffer target = ByteBuffer.allocate(10);
    var read = inBackground(() -> pair.client().read(target));
    letItWait();
    pair.client().shutdownOutput();
    assertEquals(-1, pair.server().read(ByteBuffer.allocate(1)));
    pair.server().write(ByteBuffer.wrap(random(10)));
    assertEquals(10, read.get());
  }

  @Test
  void shutInputReadsNothing() throws Exception {
    Pair pair = connected();
    pair.client().shutdownInput();
    assertEquals(-1, pair.client().read(ByteBuffer.allocate(1)));
    assertEquals(-1, pair.client().read(ByteBuffer.allocate(0)));
    pair.client().write(ByteBuffer.wrap(random(10)));
    ByteBuffer target = ByteBuffer.allocate(10);
    readFully(pair.server(), target);
  }

  @Test
  void shutdownInputEndsAWaitingRead() throws Exception {
    Pair pair = connected();
    var read = inBackground(() -> pair.client().read(ByteBuffer.allocate(1)));
    letItWait();
    pair.client().shutdownInput();
    assertEquals(-1, read.get());
  }

  @Test
  void bothHalfClosedConnectionsDeliverAll() throws Exception {
    for (int round = 0; round < 20; round++) {
      try (Pair pair = connected()) {
        pair.client().write(ByteBuffer.wrap(random(1000)));
        pair.server().write(ByteBuffer.wrap(random(1000)));
        pair.client().shutdownOutput();
        pair.server().shutdownOutput();
        pair.server().shutdownInput();
        pair.server().close();
        assertArrayEquals(random(1000), readAll(pair.client()));
      }
    }
  }

  private static byte[] readAll(SocketChannel channel) throws IOException {
    ByteBuffer target = ByteBuffer.allocate(1 << 20);
    while (channel.read(target) >= 0) {
      assertTrue(target.hasRemaining(), "more than was written");
    }
    return bytes(target);
  }

  @Test
  void abortIsAResetAfterWhatHasArrived() throws Exception {
    for (int size : new int[] {0, 1, 1000, 60_000}) {
      Pair pair = connected();
      pair.client().write(ByteBuffer.wrap(random(size)));
      pair.client().setOption(StandardSocketOptions.SO_LINGER, 0);
      pair.client().close();
      assertReset(pair.server(), random(size));
    }
  }

  @Test
  void scatteringReadReturnsWhatHasArrivedBeforeAReset() throws Exception {
    Pair pair = connected();
    pair.server().configureBlocking(false);
    pair.client().write(ByteBuffer.wrap(random(10)));
    pair.client().setOption(StandardSocketOptions.SO_LINGER, 0);
    pair.client().close();
    Selector selector = selector();
    pair.server().register(selector, SelectionKey.OP_READ);
    ByteBuffer[] targets = {ByteBuffer.allocate(10), ByteBuffer.allocate(10)};
    long count = 0;
    while (count == 0) {
      selector.select();
      selector.selectedKeys().clear();
      letItWait(); // The reset follows the data.
      count = pair.server().read(targets);
    }
    assertEquals(10, count);
    assertReset(pair.server(), new byte[0]);
  }

  @Test
  void closeWithUnreadDataIsAReset() throws Exception {
    Pair pair = connected();
    pair.server().write(ByteBuffer.wrap(random(1000)));
    ByteBuffer target = ByteBuffer.allocate(10);
    readFully(pair.client(), target);
    pair.client().close();
    assertReset(pair.server(), new byte[0]);
  }

  @Test
  void resetEndsAWaitingReadAndASelection() throws Exception {
    Pair pair = connected();
    var read = inBackground(() -> pair.server().read(ByteBuffer.allocate(1)));
    letItWait();
    pair.client().setOption(StandardSocketOptions.SO_LINGER, 0);
    pair.client().close();
    causeOf(SocketException.class, read);
    Selector selector = selector();
    pair.server().configureBlocking(false);
    SelectionKey key = pair.server().register(selector, SelectionKey.OP_READ);
    assertEquals(1, selector.select());
    assertTrue(key.isReadable());
    assertReset(pair.server(), new byte[0]);
  }

  /** Reads a beginning of what was sent, then fails, each time. */
  private static void assertReset(SocketChannel channel, byte[] sent) {
    ByteBuffer target = ByteBuffer.allocate(sent.length + 1);
    for (int i = 0; i < 3; i++) {
      SocketException reset =
          assertThrows(
              SocketException.class,
              () -> {
                while (channel.read(target) >= 0) {
                  // Until it fails.
                }
              });
      assertEquals("Connection reset", reset.getMessage());
    }
    assertArrayEquals(Arrays.copyOf(sent, target.position()), bytes(target));
  }

  @Test
  void writeToAClosedPeerFails() throws Exception {
    Pair pair = connected();
    pair.server().close();
    ByteBuffer source = ByteBuffer.allocateDirect(1 << 16);
    assertThrows(
        IOException.class,
        () -> {
          while (true) {
            pair.client().write(source.clear());
          }
        });
  }

  // Connecting

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

  // Selectors

  @Test
  void registrationsAreChecked() throws Exception {
    Selector selector = selector();
    SocketChannel channel = closing(provider().openSocketChannel());
    assertThrows(
        IllegalBlockingModeException.class, () -> channel.register(selector, SelectionKey.OP_READ));
    channel.configureBlocking(false);
    assertThrows(
        IllegalArgumentException.class, () -> channel.register(selector, SelectionKey.OP_ACCEPT));
    SelectionKey key = channel.register(selector, SelectionKey.OP_READ, "first");
    assertThrows(IllegalBlockingModeException.class, () -> channel.configureBlocking(true));
    assertThrows(IllegalArgumentException.class, () -> key.interestOps(SelectionKey.OP_ACCEPT));
    assertSame(key, channel.register(selector, SelectionKey.OP_CONNECT, "second"));
    assertEquals("second", key.attachment());
    assertEquals(SelectionKey.OP_CONNECT, key.interestOps());
    assertEquals(SelectionKey.OP_CONNECT, key.interestOpsOr(SelectionKey.OP_READ));
    assertEquals(
        SelectionKey.OP_CONNECT | SelectionKey.OP_READ, key.interestOpsAnd(SelectionKey.OP_READ));
    assertSame(key, channel.keyFor(selector));
    assertSame(channel, key.channel());
    assertSame(selector, key.selector());
    assertEquals(Set.of(key), selector.keys());
    key.cancel();
    assertFalse(key.isValid());
    assertThrows(CancelledKeyException.class, key::interestOps);
    assertThrows(CancelledKeyException.class, key::readyOps);
    assertThrows(
        CancelledKeyException.class, () -> channel.register(selector, SelectionKey.OP_READ));
    selector.selectNow();
    assertFalse(channel.isRegistered());
    assertEquals(Set.of(), selector.keys());
    assertTrue(channel.register(selector, 0).isValid());
  }

  @Test
  void setsOfKeysAreNotAddedTo() throws Exception {
    Selector selector = selector();
    SocketChannel channel = closing(provider().openSocketChannel());
    channel.configureBlocking(false);
    SelectionKey key = channel.register(selector, 0);
    assertThrows(UnsupportedOperationException.class, () -> selector.selectedKeys().add(key));
    assertThrows(UnsupportedOperationException.class, () -> selector.keys().remove(key));
  }

  @Test
  void channelsOfOtherProvidersAreNotRegistered() throws Exception {
    Selector selector = selector();
    Selector other =
        provider().equals(SelectorProvider.provider())
            ? closing(RdmaSelectorProvider.provider().openSelector())
            : closing(Selector.open());
    SocketChannel channel = closing(provider().openSocketChannel());
    channel.configureBlocking(false);
    if (provider() instanceof HybridSelectorProvider) {
      channel.register(other, 0); // A selector of the same package, which is for all channels.
      return;
    }
    assertThrows(IllegalSelectorException.class, () -> channel.register(other, 0));
    if (!provider().equals(SelectorProvider.provider())) {
      Pipe pipe = Pipe.open();
      closing(pipe.source()).configureBlocking(false);
      closing(pipe.sink());
      assertThrows(IllegalSelectorException.class, () -> pipe.source().register(selector, 0));
    }
  }

  @Test
  void selectTimesOut() throws Exception {
    Selector selector = selector();
    long start = System.nanoTime();
    assertEquals(0, selector.select(50));
    assertTrue(System.nanoTime() - start >= 49_000_000);
    assertEquals(0, selector.selectNow());
    assertThrows(IllegalArgumentException.class, () -> selector.select(-1));
  }

  @Test
  void selectTimesOutBesideConnections() throws Exception {
    Pair pair = connected();
    pair.client().configureBlocking(false);
    Selector selector = selector();
    pair.client().register(selector, SelectionKey.OP_READ);
    for (int i = 0; i < 5; i++) {
      assertEquals(0, selector.select(20));
    }
    pair.server().write(ByteBuffer.allocate(1));
    assertEquals(1, selector.select());
  }

  @Test
  void selectionsOfVirtualThreadsLeaveTheirCarriers() throws Exception {
    List<Selector> selectors = new ArrayList<>();
    List<FutureTask<Integer>> selections = new ArrayList<>();
    for (int i = 0; i < Runtime.getRuntime().availableProcessors() + 1; i++) {
      Selector selector = selector();
      selectors.add(selector);
      FutureTask<Integer> selection = new FutureTask<>(selector::select);
      selections.add(selection);
      Thread.ofVirtual().start(selection);
    }
    letItWait();
    FutureTask<Void> wakeups =
        new FutureTask<>(
            () -> {
              selectors.forEach(Selector::wakeup);
              return null;
            });
    Thread.ofVirtual().start(wakeups);
    wakeups.get();
    for (FutureTask<Integer> selection : selections) {
      assertEquals(0, selection.get());
    }
  }

  @Test
  void interruptEndsASelectionOfAVirtualThread() throws Exception {
    Selector selector = selector();
    FutureTask<Boolean> select =
        new FutureTask<>(
            () -> {
              selector.select();
              return Thread.currentThread().isInterrupted();
            });
    Thread thread = Thread.ofVirtual().start(select);
    letItWait();
    thread.interrupt();
    assertTrue(select.get());
    assertTrue(selector.isOpen());
  }

  @Test
  void wakeupEndsTheNextSelection() throws Exception {
    Selector selector = selector();
    assertSame(selector, selector.wakeup());
    selector.wakeup();
    assertEquals(0, selector.select());
    long start = System.nanoTime();
    assertEquals(0, selector.select(30));
    assertTrue(System.nanoTime() - start >= 29_000_000, "a second selection is not woken");
  }

  @Test
  void wakeupEndsAWaitingSelection() throws Exception {
    Selector selector = selector();
    var select = inBackground(() -> selector.select());
    letItWait();
    selector.wakeup();
    assertEquals(0, select.get());
  }

  @Test
  void manyWakeupsFromManyThreads() throws Exception {
    Selector selector = selector();
    List<FutureTask<Void>> wakers = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      wakers.add(
          inBackground(
              () -> {
                for (int j = 0; j < 1000; j++) {
                  selector.wakeup();
                }
                return null;
              }));
    }
    while (!wakers.stream().allMatch(FutureTask::isDone)) {
      assertEquals(0, selector.select(100));
    }
    selector.selectNow();
    assertEquals(0, selector.selectNow());
  }

  @Test
  void wakeupsBesideDataLoseNothing() throws Exception {
    Pair pair = connected();
    pair.server().configureBlocking(false);
    Selector selector = selector();
    SelectionKey key = pair.server().register(selector, SelectionKey.OP_READ);
    byte[] sent = random(1000);
    var written =
        inBackground(
            () -> {
              for (byte value : sent) {
                pair.client().write(ByteBuffer.wrap(new byte[] {value}));
              }
              return sent.length;
            });
    var storm =
        inBackground(
            () -> {
              while (!written.isDone()) {
                selector.wakeup();
                key.interestOps(SelectionKey.OP_READ);
              }
              return null;
            });
    ByteBuffer received = ByteBuffer.allocate(sent.length);
    while (received.hasRemaining()) {
      selector.select();
      selector.selectedKeys().clear();
      assertTrue(pair.server().read(received) >= 0);
    }
    assertArrayEquals(sent, received.array());
    assertEquals(sent.length, written.get());
    storm.get();
  }

  @Test
  void interruptEndsASelection() throws Exception {
    Selector selector = selector();
    FutureTask<Boolean> select =
        new FutureTask<>(
            () -> {
              selector.select();
              return Thread.currentThread().isInterrupted();
            });
    Thread thread = Thread.ofPlatform().daemon().start(select);
    letItWait();
    thread.interrupt();
    assertTrue(select.get());
    assertTrue(selector.isOpen());
  }

  @Test
  void closedSelectorThrows() throws Exception {
    Selector selector = selector();
    SocketChannel channel = closing(provider().openSocketChannel());
    channel.configureBlocking(false);
    SelectionKey key = channel.register(selector, SelectionKey.OP_CONNECT);
    selector.close();
    selector.close();
    assertFalse(key.isValid());
    assertFalse(channel.isRegistered());
    assertThrows(ClosedSelectorException.class, selector::select);
    assertThrows(ClosedSelectorException.class, selector::selectNow);
    assertThrows(ClosedSelectorException.class, selector::keys);
    assertThrows(ClosedSelectorException.class, selector::selectedKeys);
    assertThrows(
        ClosedSelectorException.class, () -> channel.register(selector, SelectionKey.OP_READ));
    selector.wakeup();
  }

  @Test
  void closingTheSelectorEndsASelection() throws Exception {
    Selector selector = selector();
    var select =
        inBackground(
            () -> {
              try {
                return selector.select();
              } catch (ClosedSelectorException e) {
                return 0;
              }
            });
    letItWait();
    selector.close();
    assertEquals(0, select.get());
  }

  @Test
  void readyChannelIsSelectedOnce() throws Exception {
    Pair pair = connected();
    pair.client().configureBlocking(false);
    Selector selector = selector();
    SelectionKey key = pair.client().register(selector, SelectionKey.OP_READ);
    pair.server().write(ByteBuffer.allocate(1));
    assertEquals(1, selector.select());
    assertEquals(Set.of(key), selector.selectedKeys());
    assertEquals(SelectionKey.OP_READ, key.readyOps());
    assertEquals(0, selector.selectNow(), "its ready set has not changed");
    key.interestOps(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
    assertEquals(1, selector.selectNow(), "it is writable, too");
    assertEquals(SelectionKey.OP_READ | SelectionKey.OP_WRITE, key.readyOps());
    selector.selectedKeys().clear();
    key.interestOps(0);
    assertEquals(0, selector.selectNow());
    key.interestOps(SelectionKey.OP_READ);
    assertEquals(1, selector.selectNow());
    pair.client().read(ByteBuffer.allocate(10));
    selector.selectedKeys().remove(key);
    assertEquals(0, selector.selectNow());
  }

  @Test
  void selectionReturnsBesideAKeyThatWasLeftInTheSet() throws Exception {
    Pair pair = connected();
    pair.client().configureBlocking(false);
    Selector selector = selector();
    SelectionKey key = pair.client().register(selector, SelectionKey.OP_READ);
    pair.server().write(ByteBuffer.allocate(1));
    assertEquals(1, selector.select());
    assertEquals(0, selector.select());
    assertEquals(Set.of(key), selector.selectedKeys());
  }

  @Test
  void actionIsCalledForSelectedKeys() throws Exception {
    Pair pair = connected();
    pair.client().configureBlocking(false);
    Selector selector = selector();
    SelectionKey key = pair.client().register(selector, SelectionKey.OP_READ);
    pair.server().write(ByteBuffer.allocate(1));
    List<SelectionKey> selected = new ArrayList<>();
    assertEquals(1, selector.select(selected::add));
    assertEquals(List.of(key), selected);
    assertEquals(1, selector.selectNow(selected::add));
    pair.client().read(ByteBuffer.allocate(1));
    assertEquals(0, selector.select(selected::add, 20));
  }

  @Test
  void oneChannelHasSeveralSelectors() throws Exception {
    Pair pair = connected();
    pair.client().configureBlocking(false);
    Selector readable = selector();
    Selector writable = selector();
    pair.client().register(readable, SelectionKey.OP_READ);
    pair.client().register(writable, SelectionKey.OP_WRITE);
    var waiting = inBackground(() -> readable.select());
    assertEquals(1, writable.select());
    letItWait();
    pair.server().write(ByteBuffer.allocate(1));
    assertEquals(1, waiting.get());
  }

  @Test
  void endOfTheStreamIsReadable() throws Exception {
    Pair pair = connected();
    pair.client().configureBlocking(false);
    Selector selector = selector();
    SelectionKey key = pair.client().register(selector, SelectionKey.OP_READ);
    var select = inBackground(() -> selector.select());
    letItWait();
    pair.server().close();
    assertEquals(1, select.get());
    assertTrue(key.isReadable());
    assertEquals(-1, pair.client().read(ByteBuffer.allocate(1)));
  }

  @Test
  void closeOfARegisteredChannelReachesThePeer() throws Exception {
    Pair pair = connected();
    pair.client().configureBlocking(false);
    Selector selector = selector();
    SelectionKey key = pair.client().register(selector, SelectionKey.OP_READ);
    var select = inBackground(() -> selector.select());
    letItWait();
    pair.client().close();
    assertFalse(key.isValid());
    assertEquals(-1, pair.server().read(ByteBuffer.allocate(1)));
    selector.wakeup();
    select.get();
    assertEquals(0, selector.selectNow());
    assertEquals(Set.of(), selector.keys());
  }

  @Test
  void manyChannelsAreServedByOneSelector() throws Exception {
    int count = 10;
    List<Pair> pairs = new ArrayList<>();
    Selector selector = selector();
    for (int i = 0; i < count; i++) {
      Pair pair = connected();
      pairs.add(pair);
      pair.server().configureBlocking(false);
      pair.server().register(selector, SelectionKey.OP_READ, i);
    }
    var sent =
        inBackground(
            () -> {
              for (Pair pair : pairs) {
                pair.client().write(ByteBuffer.allocate(100));
              }
              return null;
            });
    int[] received = new int[count];
    int total = 0;
    while (total < 100 * count) {
      selector.select();
      for (SelectionKey key : selector.selectedKeys()) {
        int read = ((SocketChannel) key.channel()).read(ByteBuffer.allocate(64));
        received[(int) key.attachment()] += read;
        total += read;
      }
      selector.selectedKeys().clear();
    }
    sent.get();
    for (int bytes : received) {
      assertEquals(100, bytes);
    }
  }

  // Options and sockets

  @Test
  void optionsAreKept() throws Exception {
    SocketChannel channel = closing(provider().openSocketChannel());
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    assertTrue(channel.getOption(StandardSocketOptions.TCP_NODELAY));
    channel.setOption(StandardSocketOptions.SO_REUSEADDR, true);
    assertTrue(channel.getOption(StandardSocketOptions.SO_REUSEADDR));
    channel.setOption(StandardSocketOptions.SO_RCVBUF, 40_000);
    assertTrue(channel.getOption(StandardSocketOptions.SO_RCVBUF) >= 40_000);
    channel.setOption(StandardSocketOptions.SO_SNDBUF, 40_000);
    assertTrue(channel.getOption(StandardSocketOptions.SO_SNDBUF) >= 40_000);
    assertEquals(-1, channel.getOption(StandardSocketOptions.SO_LINGER));
    channel.setOption(StandardSocketOptions.SO_LINGER, 5);
    assertEquals(5, channel.getOption(StandardSocketOptions.SO_LINGER));
    assertFalse(channel.getOption(StandardSocketOptions.SO_KEEPALIVE));
    assertTrue(channel.supportedOptions().contains(StandardSocketOptions.TCP_NODELAY));
    assertThrows(
        UnsupportedOperationException.class,
        () -> channel.setOption(StandardSocketOptions.IP_MULTICAST_TTL, 1));
    assertThrows(
        IllegalArgumentException.class,
        () -> channel.setOption(StandardSocketOptions.SO_RCVBUF, -1));
    assertThrows(
        IllegalArgumentException.class,
        () -> channel.setOption(StandardSocketOptions.TCP_NODELAY, null));
    ServerSocketChannel listener = closing(provider().openServerSocketChannel());
    assertTrue(listener.getOption(StandardSocketOptions.SO_REUSEADDR));
    listener.setOption(StandardSocketOptions.SO_RCVBUF, 40_000);
    assertTrue(listener.getOption(StandardSocketOptions.SO_RCVBUF) >= 40_000);
  }

  /** {@code TCP_KEEPIDLE} of the module jdk.net, which the tests are compiled without. */
  static SocketOption<Integer> keepaliveTime(SocketChannel channel) {
    for (SocketOption<?> option : channel.supportedOptions()) {
      if (option.name().equals("TCP_KEEPIDLE")) {
        @SuppressWarnings("unchecked")
        SocketOption<Integer> found = (SocketOption<Integer>) option;
        return found;
      }
    }
    throw new AssertionError(channel.supportedOptions());
  }

  @Test
  void keepaliveIsSwitchedOnAndOff() throws Exception {
    SocketChannel client = connected().client();
    SocketOption<Integer> time = keepaliveTime(client);
    assertEquals(Integer.class, time.type());
    client.setOption(time, 7);
    client.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
    assertTrue(client.getOption(StandardSocketOptions.SO_KEEPALIVE));
    client.setOption(time, 8);
    assertEquals(8, client.getOption(time));
    client.setOption(StandardSocketOptions.SO_KEEPALIVE, false);
    assertFalse(client.getOption(StandardSocketOptions.SO_KEEPALIVE));
    assertThrows(IllegalArgumentException.class, () -> client.setOption(time, null));
  }

  @Test
  void socketsAreViewsOfChannels() throws Exception {
    ServerSocketChannel listener = listener();
    var accepted = inBackground(() -> listener.socket().accept());
    Socket client = closing(provider().openSocketChannel()).socket();
    client.bind(connecting());
    assertFalse(client.isConnected());
    client.setTcpNoDelay(true);
    client.connect(listener.getLocalAddress(), 100_000);
    assertTrue(client.isConnected() && client.isBound() && client.getTcpNoDelay());
    Socket server = closing(accepted.get());
    assertEquals(client.getLocalSocketAddress(), server.getRemoteSocketAddress());
    assertEquals(client.getPort(), server.getLocalPort());
    assertEquals(client.getInetAddress(), server.getLocalAddress());
    client.getOutputStream().write(random(100));
    assertArrayEquals(random(100), server.getInputStream().readNBytes(100));
    server.setSoTimeout(30);
    assertThrows(SocketTimeoutException.class, () -> server.getInputStream().read());
    client.shutdownOutput();
    assertTrue(client.isOutputShutdown());
    assertEquals(-1, server.getInputStream().read());
    client.close();
    assertTrue(client.isClosed());
    assertFalse(client.getChannel().isOpen());
    listener.socket().setSoTimeout(30);
    assertThrows(SocketTimeoutException.class, () -> listener.socket().accept());
  }

  @Test
  void closingBesideWaitingThreadsIsSafe() throws Exception {
    for (int i = 0; i < 10; i++) {
      Pair pair = connected();
      var read = inBackground(() -> pair.client().read(ByteBuffer.allocateDirect(100)));
      var write = inBackground(() -> pair.client().write(ByteBuffer.allocateDirect(8 << 20)));
      var close = CompletableFuture.runAsync(() -> closeQuietly(pair.client()));
      closeQuietly(pair.server());
      close.get();
      await(read);
      await(write);
    }
  }

  private static void closeQuietly(SocketChannel channel) {
    try {
      channel.close();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static void await(FutureTask<?> task) throws InterruptedException {
    try {
      assertNotNull(task.get());
    } catch (ExecutionException e) {
      assertTrue(e.getCause() instanceof IOException, e::toString);
    }
  }
}
