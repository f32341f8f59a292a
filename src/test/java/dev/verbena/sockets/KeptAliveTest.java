package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.EventType;
import dev.verbena.cm.PortSpace;
import dev.verbena.internal.time.Time;
import dev.verbena.soft.InSimulation;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.QueuePairCapacity;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.NetworkChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Connections with SO_KEEPALIVE. A device of these hosts retries for 2.1 s (the local ACK timeout
 * of 268 ms, and seven retries): what takes less is decided by the options alone.
 */
@InSimulation
@EnabledForJreRange(minVersion = 24) // They would wait for hours.
class KeptAliveTest {
  private static final SelectorProvider RDMA = RdmaSelectorProvider.provider();
  private static final InetAddress CLIENT = InetAddress.ofLiteral("192.0.2.1");
  private static final InetAddress SERVER = InetAddress.ofLiteral("192.0.2.2");
  private static final long RETRIES = 2147;

  /** What threads of the simulation and messages take, in milliseconds. */
  private static final long SOON = 50;

  private final SoftNetwork network = SoftNetwork.create();
  private final ServerSocketChannel listener;

  KeptAliveTest() throws Exception {
    network.addDevice("client", CLIENT);
    network.addDevice("server", SERVER);
    listener = network.call(RDMA::openServerSocketChannel);
    network.call(() -> listener.bind(new InetSocketAddress(SERVER, 0)));
  }

  @AfterEach
  void close() throws IOException {
    network.faults().none();
    listener.close();
    network.close();
  }

  private record Pair(SocketChannel client, SocketChannel server) implements AutoCloseable {
    @Override
    public void close() throws IOException {
      client.close();
      server.close();
    }
  }

  private Pair connected() throws Exception {
    SocketChannel client =
        network.call(() -> RDMA.openSocketChannel().bind(new InetSocketAddress(CLIENT, 0)));
    assertTrue(client.connect(listener.getLocalAddress()));
    Pair pair = new Pair(client, listener.accept());
    assertWorks(pair);
    pass(SOON); // Until nothing is under way, whose loss would end the connection.
    return pair;
  }

  /** Sets TCP_KEEPIDLE, TCP_KEEPINTERVAL and TCP_KEEPCOUNT. */
  static void set(NetworkChannel channel, int idle, int interval, int count) throws IOException {
    channel.setOption(ChannelBehaviour.option(channel, "TCP_KEEPIDLE"), idle);
    channel.setOption(ChannelBehaviour.option(channel, "TCP_KEEPINTERVAL"), interval);
    channel.setOption(ChannelBehaviour.option(channel, "TCP_KEEPCOUNT"), count);
  }

  private static void keepAlive(SocketChannel channel) throws IOException {
    channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
  }

  private static long now() {
    return Duration.ofNanos(Time.now()).toMillis();
  }

  private static void pass(long milliseconds) throws InterruptedException {
    Time.sleep(Duration.ofMillis(milliseconds).toNanos());
  }

  private static SocketException readThrows(SocketChannel channel) {
    return assertThrows(SocketException.class, () -> channel.read(ByteBuffer.allocate(1)));
  }

  /** Validates that a time has passed since a start, and not more. */
  private static void assertPassed(long milliseconds, long start) {
    long passed = now() - start;
    assertTrue(
        passed >= milliseconds && passed <= milliseconds + SOON,
        passed + " ms, not " + milliseconds);
  }

  private static void assertWorks(Pair pair) throws IOException {
    assertEquals(1, pair.server.write(ByteBuffer.allocate(1)));
    assertEquals(1, pair.client.read(ByteBuffer.allocate(2)));
    assertEquals(1, pair.client.write(ByteBuffer.allocate(1)));
    assertEquals(1, pair.server.read(ByteBuffer.allocate(2)));
  }

  @ParameterizedTest
  @CsvSource({"1, 1, 1", "5, 1, 2", "7, 2, 1", "7200, 1, 1"})
  void connectionToADeadHostEndsAfterTheIntervals(int idle, int interval, int count)
      throws Exception {
    try (Pair pair = connected()) {
      set(pair.client, idle, interval, count);
      keepAlive(pair.client);
      long start = now();
      network.faults().kill("server");
      String message = readThrows(pair.client).getMessage();
      assertPassed(1000L * (idle + interval * count), start);
      assertTrue(message.startsWith("Connection timed out"), message);
      assertEquals(message, readThrows(pair.client).getMessage());
      assertThrows(SocketException.class, () -> pair.client.write(ByteBuffer.allocate(1)));
    }
  }

  @ParameterizedTest
  @CsvSource({"3, 5, 1", "3, 1, 5", "7200, 75, 9"})
  void theRetriesOfTheDeviceEndItBefore(int idle, int interval, int count) throws Exception {
    try (Pair pair = connected()) {
      set(pair.client, idle, interval, count);
      keepAlive(pair.client);
      long start = now();
      network.faults().kill("server");
      String message = readThrows(pair.client).getMessage();
      assertPassed(1000L * idle + RETRIES, start);
      assertTrue(message.contains("RETRY_EXC_ERR"), message);
    }
  }

  @Test
  void withoutTheOptionTheConnectionRemains() throws Exception {
    try (Pair pair = connected()) {
      set(pair.client, 1, 1, 1);
      network.faults().kill("server");
      pair.client.socket().setSoTimeout(60_000);
      assertThrows(
          SocketTimeoutException.class, () -> pair.client.socket().getInputStream().read());
    }
  }

  /** Whose local ACK timeout of 17 s the peer has chosen: seven retries take two minutes. */
  @Test
  void acceptedConnectionEndsByTheOptionsOfTheListener() throws Exception {
    set(listener, 4, 2, 3);
    try (EventChannel events = network.call(EventChannel::open)) {
      ConnectionId peer = events.createId(PortSpace.TCP);
      peer.bind(new InetSocketAddress(CLIENT, 0));
      peer.options().ackTimeout(AckTimeout.atLeast(Duration.ofSeconds(17)));
      peer.resolveAddress(
          null, (InetSocketAddress) listener.getLocalAddress(), Duration.ofSeconds(1));
      next(events, EventType.ADDR_RESOLVED);
      peer.resolveRoute(Duration.ofSeconds(1));
      next(events, EventType.ROUTE_RESOLVED);
      peer.queues().createQueuePair(QueuePairCapacity.of(1).withReceiveRequests(16));
      peer.connect(
          ConnectionParameters.DEFAULT.withRetryCount(7),
          new ConnectionData(
                  false,
                  16,
                  0,
                  new ConnectionData.RemoteMemory(0, 0, ConnectionData.SGES),
                  new ConnectionData.RemoteMemory(0, 0, 4096))
              .toBytes());
      next(events, EventType.ESTABLISHED);
      try (SocketChannel server = listener.accept()) {
        keepAlive(server);
        long start = now();
        network.faults().kill("client");
        String message = readThrows(server).getMessage();
        assertPassed(10_000, start);
        assertTrue(message.startsWith("Connection timed out"), message);
      }
    }
  }

  private static void next(EventChannel events, EventType type) throws InterruptedException {
    assertEquals(type, events.take().type());
  }

  @Test
  void messagesOfThePeerPostponeTheEnd() throws Exception {
    try (Pair pair = connected()) {
      set(pair.client, 10, 1, 1);
      keepAlive(pair.client);
      for (int i = 0; i < 20; i++) {
        pass(7000);
        assertEquals(1, pair.server.write(ByteBuffer.allocate(1)));
        assertEquals(1, pair.client.read(ByteBuffer.allocate(2)));
      }
      long start = now();
      network.faults().kill("server");
      readThrows(pair.client);
      assertPassed(11_000, start);
    }
  }

  @Test
  void peerThatDoesNotReadIsNotLost() throws Exception {
    try (Pair pair = connected()) {
      set(pair.client, 1, 1, 1);
      keepAlive(pair.client);
      pair.client.configureBlocking(false);
      ByteBuffer source = ByteBuffer.allocate(1 << 20);
      while (pair.client.write(source.clear()) > 0) {
        pass(1);
      }
      pass(Duration.ofHours(1).toMillis());
      assertEquals(0, pair.client.read(ByteBuffer.allocate(1)));
      assertEquals(1, pair.server.write(ByteBuffer.allocate(1)));
      pair.client.configureBlocking(true);
      assertEquals(1, pair.client.read(ByteBuffer.allocate(2)));
    }
  }

  @ParameterizedTest
  @CsvSource({"900, 1800", "4000, 1800", "4900, 1700"})
  void peerThatAnswersJustInTimeIsNotLost(long stopped, long late) throws Exception {
    try (Pair pair = connected()) {
      set(pair.client, 5, 1, 2);
      keepAlive(pair.client);
      pass(stopped);
      network.faults().stop("server");
      pass(5000 - stopped + late);
      network.faults().resume("server");
      pass(Duration.ofHours(1).toMillis());
      assertWorks(pair);
    }
  }

  @Test
  void peerThatAnswersTooLateIsLost() throws Exception {
    try (Pair pair = connected()) {
      set(pair.client, 5, 1, 2);
      keepAlive(pair.client);
      network.faults().stop("server");
      pass(7000 + SOON);
      network.faults().resume("server");
      assertTrue(readThrows(pair.client).getMessage().startsWith("Connection timed out"));
    }
  }

  @Test
  void changedOptionsAct() throws Exception {
    try (Pair pair = connected()) {
      keepAlive(pair.client);
      pass(100_000);
      network.faults().kill("server");
      pass(100_000);
      long start = now();
      set(pair.client, 200, 1, 1); // Since 200 s it hears nothing.
      readThrows(pair.client);
      assertPassed(1000, start);
    }
  }

  @Test
  void switchedOffItDoesNotEnd() throws Exception {
    try (Pair pair = connected()) {
      set(pair.client, 5, 1, 2);
      keepAlive(pair.client);
      network.faults().stop("server");
      pass(4000);
      pair.client.setOption(StandardSocketOptions.SO_KEEPALIVE, false);
      pass(100_000);
      network.faults().resume("server");
      assertWorks(pair);
    }
  }

  @Test
  void allThatWaitEnd() throws Exception {
    try (Pair pair = connected();
        Pair selected = connected();
        Selector selector = RDMA.openSelector()) {
      for (SocketChannel channel : new SocketChannel[] {pair.client, selected.client}) {
        set(channel, 3, 1, 1);
        keepAlive(channel);
      }
      selected.client.configureBlocking(false);
      SelectionKey key = selected.client.register(selector, SelectionKey.OP_READ);
      var first = ChannelFixture.inBackground(() -> pair.client.read(ByteBuffer.allocate(1)));
      var second = ChannelFixture.inBackground(() -> pair.client.read(ByteBuffer.allocate(1)));
      var selection = ChannelFixture.inBackground(() -> selector.select());
      long start = now();
      network.faults().kill("server");
      ChannelFixture.causeOf(SocketException.class, first);
      ChannelFixture.causeOf(SocketException.class, second);
      assertEquals(1, selection.get());
      assertPassed(4000, start);
      assertTrue(key.isReadable());
      readThrows(selected.client);
    }
  }

  @Test
  void closeDuringAKeepAliveEndsIt() throws Exception {
    try (Pair pair = connected()) {
      set(pair.client, 3, 1, 2);
      keepAlive(pair.client);
      FutureTask<Integer> read =
          ChannelFixture.inBackground(() -> pair.client.read(ByteBuffer.allocate(1)));
      network.faults().kill("server");
      pass(3500);
      pair.client.close();
      ChannelFixture.causeOf(AsynchronousCloseException.class, read);
      assertFalse(pair.client.isOpen());
    }
  }

  @Test
  void closedConnectionIsGarbage() throws Exception {
    WeakReference<SocketChannel> closed = connectAndClose();
    Await.until(
        "the connection to be collected",
        () -> {
          System.gc();
          return closed.refersTo(null);
        });
  }

  private WeakReference<SocketChannel> connectAndClose() throws Exception {
    try (Pair pair = connected()) {
      keepAlive(pair.client); // Its next message is due in two hours.
      return new WeakReference<>(pair.client);
    }
  }
}
