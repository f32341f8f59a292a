package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PortSpace;
import dev.verbena.internal.CurrentProvider;
import dev.verbena.internal.Provider;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.rdma_cm_event;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.SoftInternals;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Channels whose requests are flushed: by the REJ of a peer that ended before it had received the
 * RTU, which is an orderly end, or without an event of RDMA CM, which is a failure.
 */
class FlushedStreamTest {
  private static final SelectorProvider RDMA = RdmaSelectorProvider.provider();
  private static final InetAddress CLIENT = InetAddress.ofLiteral("192.0.2.1");
  private static final InetAddress SERVER = InetAddress.ofLiteral("192.0.2.2");
  private static final Duration LONG = Duration.ofMinutes(10);

  private final SoftNetwork network = SoftNetwork.create();
  private final CountDownLatch taken = new CountDownLatch(1);
  private final CountDownLatch released = new CountDownLatch(1);
  private final Provider provider = new InterposedProvider(network, this::hold);

  FlushedStreamTest() {
    network.addDevice("client", CLIENT);
    network.addDevice("server", SERVER);
  }

  @AfterEach
  void close() {
    released.countDown();
    network.close();
  }

  /**
   * Holds the thread that takes RDMA_CM_EVENT_REJECTED: librdmacm has modified the queue pair then,
   * and the event is not processed.
   */
  private Object hold(String function, Object[] arguments, InterposedProvider.Call call)
      throws Throwable {
    if (function.equals("rdma_ack_cm_event") && isRejected((long) arguments[0])) {
      taken.countDown();
      released.await();
    }
    return call.make();
  }

  private static boolean isRejected(long event) {
    return rdma_cm_event.event(Memory.at(event, rdma_cm_event.sizeof()))
        == rdma_h.RDMA_CM_EVENT_REJECTED();
  }

  /** A channel that is established, and its peer, which has not received the RTU. */
  private final class Pair implements AutoCloseable {
    final SocketChannel channel;
    final SilentPeer peer;

    Pair(Provider ofChannel) throws Exception {
      // All but an RTU arrives.
      network.trace(
          line -> {
            if (line.contains("CM RTU")) {
              network.faults().partition("client", "server");
            } else {
              network.faults().heal();
            }
          });
      try (Listener listener =
          network.call(() -> Listener.open(new InetSocketAddress(SERVER, 0)))) {
        var accepted = ChannelBehaviour.inBackground(() -> new SilentPeer(listener.take()));
        channel = CurrentProvider.call(ofChannel, RDMA::openSocketChannel);
        assertTrue(
            CurrentProvider.call(
                ofChannel, () -> channel.connect(listener.address().orElseThrow())));
        peer = accepted.get();
      }
    }

    Pair() throws Exception {
      this(new SoftInternals(network).provider());
    }

    @Override
    public void close() throws IOException {
      channel.close();
      peer.close();
    }
  }

  private void assertNothingIsOpen() {
    Await.until(() -> "open: " + network.openObjects(), () -> network.openObjects().isEmpty());
  }

  private static void assertCannotWrite(SocketChannel channel) {
    assertThrows(SocketException.class, () -> channel.write(ByteBuffer.allocate(1)));
  }

  // The peer rejects

  @Test
  void waitingReadReturnsTheEndIfThePeerRejects() throws Exception {
    try (Pair pair = new Pair()) {
      var read = ChannelBehaviour.inBackground(() -> pair.channel.read(ByteBuffer.allocate(1)));
      pair.peer.close();
      assertEquals(-1, read.get());
      assertCannotWrite(pair.channel);
      assertEquals(-1, pair.channel.read(ByteBuffer.allocate(1)));
    }
    assertNothingIsOpen();
  }

  @Test
  void laterReadReturnsTheEndIfThePeerRejects() throws Exception {
    try (Pair pair = new Pair()) {
      pair.peer.close();
      assertEquals(-1, pair.channel.read(ByteBuffer.allocate(1)));
      assertCannotWrite(pair.channel);
    }
    assertNothingIsOpen();
  }

  @Test
  void channelIsSelectedIfThePeerRejects() throws Exception {
    try (Pair pair = new Pair();
        Selector selector = RDMA.openSelector()) {
      pair.channel.configureBlocking(false);
      SelectionKey key = pair.channel.register(selector, SelectionKey.OP_READ);
      assertEquals(0, selector.selectNow());
      pair.peer.close();
      assertEquals(1, selector.select());
      assertTrue(key.isReadable());
      assertEquals(-1, pair.channel.read(ByteBuffer.allocate(1)));
      assertCannotWrite(pair.channel);
    }
    assertNothingIsOpen();
  }

  @Test
  void waitingWriteThrowsIfThePeerRejects() throws Exception {
    try (Pair pair = new Pair()) {
      var write =
          ChannelBehaviour.inBackground(
              () -> pair.channel.write(ByteBuffer.allocateDirect(1 << 20)));
      pair.peer.close();
      Throwable failure = assertThrows(ExecutionException.class, write::get).getCause();
      assertEquals(SocketException.class, failure.getClass(), failure::toString);
    }
    assertNothingIsOpen();
  }

  @Test
  void closeEndsIfThePeerRejects() throws Exception {
    try (Pair pair = new Pair()) {
      // The peer has no room left, and the end of the stream waits. Few writes: each one polls,
      // and on a busy host a poll that yields the processor lasts for milliseconds.
      pair.channel.configureBlocking(false);
      while (pair.channel.write(ByteBuffer.allocate(1 << 16)) > 0) {
        Thread.onSpinWait();
      }
      pair.channel.close();
      pair.peer.close();
    }
    assertNothingIsOpen();
  }

  // The event is not processed

  @Test
  void nothingIsReadBeforeTheEventIsProcessed() throws Exception {
    try (Pair pair = new Pair(provider);
        Selector selector = RDMA.openSelector()) {
      pair.channel.configureBlocking(false);
      SelectionKey key =
          pair.channel.register(selector, SelectionKey.OP_READ | SelectionKey.OP_WRITE);
      pair.peer.close();
      taken.await();
      for (int i = 0; i < 100; i++) {
        assertEquals(0, pair.channel.read(ByteBuffer.allocate(1)));
        assertEquals(0, pair.channel.write(ByteBuffer.allocate(1)));
        assertEquals(0, selector.selectNow());
      }
      var selected = ChannelBehaviour.inBackground(selector::select);
      released.countDown();
      assertEquals(1, selected.get());
      assertTrue(key.isReadable());
      assertEquals(-1, pair.channel.read(ByteBuffer.allocate(1)));
      assertCannotWrite(pair.channel);
    }
    assertNothingIsOpen();
  }

  @Test
  void readWaitsUntilTheEventIsProcessed() throws Exception {
    try (Pair pair = new Pair(provider)) {
      pair.peer.close();
      taken.await();
      var read = ChannelBehaviour.inBackground(() -> pair.channel.read(ByteBuffer.allocate(1)));
      Await.pass(Duration.ofMillis(50), "it reads");
      assertFalse(read.isDone());
      released.countDown();
      assertEquals(-1, read.get());
    }
    assertNothingIsOpen();
  }

  @Test
  void closeContinuesWhenTheEventIsProcessed() throws Exception {
    try (Pair pair = new Pair(provider)) {
      pair.peer.close();
      taken.await();
      pair.channel.configureBlocking(false);
      assertEquals(0, pair.channel.read(ByteBuffer.allocate(1)));
      pair.channel.close();
      assertTrue(network.openObjects().containsKey("queue pair"), "it waits for the event");
      released.countDown();
    }
    assertNothingIsOpen();
  }

  @Test
  void receivePendingWaitsUntilAnEventIsProcessed() throws Exception {
    CountDownLatch isReceived = new CountDownLatch(1);
    CountDownLatch isContinued = new CountDownLatch(1);
    AtomicBoolean isProcessed = new AtomicBoolean();
    try (CmEvents events =
        CmEvents.open(
            new SoftInternals(network).provider(),
            _ -> {
              isReceived.countDown();
              await(isContinued);
              isProcessed.set(true);
            })) {
      events.createId().resolveAddress(null, new InetSocketAddress(SERVER, 1), LONG);
      isReceived.await();
      FutureTask<Boolean> pending =
          ChannelBehaviour.inBackground(
              () -> {
                events.receivePending();
                return isProcessed.get();
              });
      Await.pass(Duration.ofMillis(50), "it waits for the lock");
      isContinued.countDown();
      assertTrue(pending.get());
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  // There is no event

  @Test
  void readThrowsIfAWriteFindsNoMemory() throws Exception {
    try (Pair pair = new Pair()) {
      pair.peer.deregister();
      assertEquals(1, pair.channel.write(ByteBuffer.allocate(1)));
      Throwable failure =
          assertThrows(SocketException.class, () -> pair.channel.read(ByteBuffer.allocate(1)));
      assertTrue(failure.getMessage().contains("REM_ACCESS_ERR"), failure::toString);
      assertThrows(SocketException.class, () -> pair.channel.read(ByteBuffer.allocate(1)));
      assertCannotWrite(pair.channel);
    }
    assertNothingIsOpen();
  }

  /** A peer whose RDMA WRITE flushes the requests of a channel. */
  private static final class Writer implements AutoCloseable {
    final Endpoint endpoint;
    private final QueuePair queuePair;
    private final MemoryRegion memory;
    private final ConnectionData victim;

    Writer(InetSocketAddress to) throws Exception {
      endpoint = Endpoint.resolve(PortSpace.TCP, null, to, LONG);
      queuePair = endpoint.id().queues().createQueuePair(QueuePairCapacity.of(16));
      memory =
          endpoint
              .id()
              .domain()
              .allocateMemory(8192, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      ConnectionData own =
          new ConnectionData(
              false,
              16,
              0,
              new ConnectionData.RemoteMemory(memory.start(), memory.rkey(), 2),
              new ConnectionData.RemoteMemory(memory.start() + 1024, memory.rkey(), 4096));
      victim =
          ConnectionData.read(
              endpoint.connect(ConnectionParameters.DEFAULT, own.toBytes(), LONG).privateData());
    }

    /** Writes before the memory of the channel: REM_ACCESS_ERR here, no other error there. */
    void write() {
      SendList list = new SendList(1, 1);
      list.write(0)
          .local(memory, 0, 8)
          .remote(victim.buffer().address() - (1 << 20), victim.buffer().key())
          .signaled();
      assertEquals(1, queuePair.post(list, 0, 1));
    }

    @Override
    public void close() {
      endpoint.close();
      memory.close();
    }
  }

  @Test
  void flushWithoutAnEventIsAFailure() throws Exception {
    try (ServerSocketChannel listener = network.call(RDMA::openServerSocketChannel)) {
      network.call(() -> listener.bind(new InetSocketAddress(SERVER, 0)));
      InetSocketAddress address = (InetSocketAddress) listener.getLocalAddress();
      try (Writer writer = network.call(() -> new Writer(address));
          SocketChannel channel = listener.accept()) {
        FutureTask<Integer> read =
            ChannelBehaviour.inBackground(() -> channel.read(ByteBuffer.allocate(1)));
        writer.write();
        assertFlushed(assertThrows(ExecutionException.class, read::get).getCause());
        assertFlushed(assertThrows(IOException.class, () -> channel.read(ByteBuffer.allocate(1))));
        assertCannotWrite(channel);
        Await.until("the end of the connection", () -> writer.endpoint.end().isPresent());
      }
    }
    assertNothingIsOpen();
  }

  @Test
  void channelIsSelectedAfterAFlushWithoutAnEvent() throws Exception {
    try (ServerSocketChannel listener = network.call(RDMA::openServerSocketChannel);
        Selector selector = RDMA.openSelector()) {
      network.call(() -> listener.bind(new InetSocketAddress(SERVER, 0)));
      InetSocketAddress address = (InetSocketAddress) listener.getLocalAddress();
      try (Writer writer = network.call(() -> new Writer(address));
          SocketChannel channel = listener.accept()) {
        channel.configureBlocking(false);
        SelectionKey key = channel.register(selector, SelectionKey.OP_READ);
        assertEquals(0, selector.selectNow());
        writer.write();
        assertEquals(1, selector.select());
        assertTrue(key.isReadable());
        for (int i = 0; i < 2; i++) {
          assertFlushed(
              assertThrows(IOException.class, () -> channel.read(ByteBuffer.allocate(1))));
        }
      }
    }
    assertNothingIsOpen();
  }

  @Test
  void closeEndsAfterAFlushWithoutAnEvent() throws Exception {
    try (ServerSocketChannel listener = network.call(RDMA::openServerSocketChannel)) {
      network.call(() -> listener.bind(new InetSocketAddress(SERVER, 0)));
      InetSocketAddress address = (InetSocketAddress) listener.getLocalAddress();
      try (Writer writer = network.call(() -> new Writer(address))) {
        SocketChannel channel = listener.accept();
        writer.write();
        channel.close();
        Await.until("the end of the connection", () -> writer.endpoint.end().isPresent());
      }
    }
    assertNothingIsOpen();
  }

  private static void assertFlushed(Throwable failure) {
    assertEquals(SocketException.class, failure.getClass(), failure::toString);
    assertTrue(failure.getMessage().contains("WR_FLUSH_ERR"), failure::getMessage);
  }
}
