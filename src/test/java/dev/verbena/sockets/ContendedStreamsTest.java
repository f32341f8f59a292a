package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Several threads use one channel at once: each call ends, and no byte is lost or reordered. */
class ContendedStreamsTest {
  private static final SelectorProvider RDMA = RdmaSelectorProvider.provider();
  private static final InetAddress CLIENT = InetAddress.ofLiteral("192.0.2.1");
  private static final InetAddress SERVER = InetAddress.ofLiteral("192.0.2.2");
  private static final int ROUNDS = Integer.getInteger("verbena.sockets.rounds", 40);
  private static final int BYTES = Integer.getInteger("verbena.sockets.bytes", 2_000_000);
  private static final long SEED = Long.getLong("verbena.seed", 42);

  private final SoftNetwork network = SoftNetwork.create();
  private final Map<SocketChannel, Queue<Selector>> selectors = new ConcurrentHashMap<>();
  private ServerSocketChannel listener;

  @BeforeEach
  void listen() throws Exception {
    network.addDevice("client", CLIENT);
    network.addDevice("server", SERVER);
    listener = network.call(RDMA::openServerSocketChannel);
    network.call(() -> listener.bind(new InetSocketAddress(SERVER, 0)));
  }

  @AfterEach
  void nothingRemainsOpen() throws Exception {
    listener.close();
    Await.until("the release", () -> network.openObjects().equals(Map.of()));
    network.close();
  }

  private SocketChannel client() throws Exception {
    SocketChannel client =
        network.call(() -> RDMA.openSocketChannel().bind(new InetSocketAddress(CLIENT, 0)));
    client.connect(listener.getLocalAddress());
    return client;
  }

  private static byte at(long position) {
    return (byte) (position * 31 + (position >> 11));
  }

  private static long writeAll(SocketChannel channel, long bytes, Random random)
      throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(1 << 17);
    long position = 0;
    while (position < bytes) {
      int size = 1 + random.nextInt(random.nextBoolean() ? 10 : buffer.capacity());
      buffer.clear().limit((int) Math.min(size, bytes - position));
      while (buffer.hasRemaining()) {
        buffer.put(at(position++));
      }
      buffer.flip();
      while (buffer.hasRemaining()) {
        channel.write(buffer);
      }
    }
    channel.shutdownOutput();
    return position;
  }

  private static long readAll(SocketChannel channel, Random random) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(1 << 16);
    long position = 0;
    int single = 0;
    while (true) {
      single = single == 0 && random.nextInt(100) == 0 ? 1000 : Math.max(0, single - 1);
      int size = single > 0 ? 1 : 1 + random.nextInt(buffer.capacity());
      if (channel.read(buffer.clear().limit(size)) < 0) {
        return position;
      }
      buffer.flip();
      while (buffer.hasRemaining()) {
        assertEquals(at(position++), buffer.get());
      }
    }
  }

  @Test
  void bothDirectionsAtOnce() throws Exception {
    try (SocketChannel client = client();
        SocketChannel server = listener.accept()) {
      List<FutureTask<Long>> all = new ArrayList<>();
      int seed = 0;
      for (SocketChannel channel : new SocketChannel[] {client, server}) {
        Random writes = new Random(SEED + seed++);
        Random reads = new Random(SEED + seed++);
        all.add(ChannelBehaviour.inBackground(() -> writeAll(channel, BYTES, writes)));
        all.add(ChannelBehaviour.inBackground(() -> readAll(channel, reads)));
      }
      for (FutureTask<Long> each : all) {
        assertEquals(BYTES, each.get());
      }
    }
  }

  /**
   * Threads wait for the events of a stream, and are told to examine it again, while bytes that
   * nobody looks after wait for the peer: each of them arrives without a further call.
   */
  @Test
  void waitingBytesArriveBesideThreadsThatAreWoken() throws Exception {
    int bytes = 200_000; // More than the peer grants, less than both ends buffer.
    for (int round = 0; round < ROUNDS; round++) {
      Random random = new Random(SEED + round);
      try (SocketChannel client = client();
          SocketChannel server = listener.accept()) {
        boolean isFirst = random.nextBoolean();
        if (isFirst) {
          assertEquals(bytes, client.write(ByteBuffer.allocate(bytes)));
          Await.pass(Duration.ofMillis(random.nextInt(6)), "a thread of the stream watches");
        }
        List<FutureTask<Integer>> readers = new ArrayList<>();
        for (int i = random.nextInt(3); i >= 0; i--) {
          FutureTask<Integer> reader = new FutureTask<>(() -> client.read(ByteBuffer.allocate(1)));
          readers.add(reader);
          Thread _ =
              random.nextBoolean()
                  ? Thread.ofVirtual().start(reader)
                  : Thread.ofPlatform().daemon().start(reader);
        }
        if (!isFirst) {
          assertEquals(bytes, client.write(ByteBuffer.allocate(bytes)));
        }
        int pauses = random.nextInt(8);
        var woken =
            ChannelBehaviour.inBackground(
                () -> {
                  Await.pass(Duration.ofNanos(random.nextInt(3_000_000)), "readers wait");
                  client.shutdownInput();
                  return true;
                });
        int received = 0;
        ByteBuffer buffer = ByteBuffer.allocate(1 << 16);
        while (received < bytes) {
          if (pauses-- > 0) {
            Await.pass(Duration.ofMillis(1), "the peer is slow");
          }
          received += server.read(buffer.clear());
        }
        assertEquals(bytes, received);
        assertTrue(woken.get());
        for (FutureTask<Integer> reader : readers) {
          assertEquals(-1, reader.get());
        }
      }
    }
  }

  /** What a thread does with a channel until it fails or has ended. */
  private static List<Callable<Object>> uses(SocketChannel channel, Random random) {
    Callable<Object> write =
        () -> {
          ByteBuffer buffer = ByteBuffer.allocate(1 + random.nextInt(20_000));
          while (true) {
            channel.write(buffer.clear().limit(1 + random.nextInt(buffer.capacity())));
          }
        };
    Callable<Object> read =
        () -> {
          ByteBuffer buffer = ByteBuffer.allocate(1 + random.nextInt(20_000));
          while (channel.read(buffer.clear()) >= 0) {
            Thread.onSpinWait();
          }
          return null;
        };
    return List.of(write, write, read, read);
  }

  private Object select(SocketChannel channel, int operations) throws Exception {
    try (Selector selector = RDMA.openSelector()) {
      selectors.computeIfAbsent(channel, _ -> new ConcurrentLinkedQueue<>()).add(selector);
      SelectionKey key = channel.register(selector, operations);
      ByteBuffer buffer = ByteBuffer.allocate(5000);
      while (key.isValid()) {
        selector.select();
        selector.selectedKeys().clear();
        if ((operations & SelectionKey.OP_WRITE) != 0) {
          channel.write(buffer.clear());
        }
        if ((operations & SelectionKey.OP_READ) != 0 && channel.read(buffer.clear()) < 0) {
          return buffer;
        }
      }
      return buffer;
    }
  }

  /** No key of a channel that was closed here ends a selection; nor does one of the JDK. */
  private Object end(SocketChannel channel, int how) throws IOException {
    try {
      return endOnce(channel, how);
    } finally {
      selectors.getOrDefault(channel, new ConcurrentLinkedQueue<>()).forEach(Selector::wakeup);
    }
  }

  private static Object endOnce(SocketChannel channel, int how) throws IOException {
    switch (how) {
      case 0 -> channel.close();
      case 1 -> {
        channel.setOption(StandardSocketOptions.SO_LINGER, 0);
        channel.close();
      }
      case 2 -> {
        channel.shutdownOutput();
        channel.shutdownInput();
        channel.close();
      }
      case 3 -> {
        channel.shutdownInput();
        channel.setOption(StandardSocketOptions.SO_LINGER, 1);
        channel.close();
      }
      default -> {
        channel.shutdownOutput();
        channel.close();
      }
    }
    return channel;
  }

  @Test
  void everyCallEndsWithTheChannel() throws Exception {
    for (int round = 0; round < ROUNDS; round++) {
      Random random = new Random(SEED + round);
      try (SocketChannel client = client();
          SocketChannel server = listener.accept()) {
        List<FutureTask<Object>> all = new ArrayList<>();
        for (SocketChannel channel : new SocketChannel[] {client, server}) {
          if (random.nextBoolean()) {
            channel.configureBlocking(false);
            for (int operations : new int[] {1, 4, 5}) {
              all.add(ChannelBehaviour.inBackground(() -> select(channel, operations)));
            }
          } else {
            for (Callable<Object> use : uses(channel, new Random(random.nextLong()))) {
              all.add(ChannelBehaviour.inBackground(use));
            }
          }
        }
        Await.pass(Duration.ofMillis(random.nextInt(20)), "they go on");
        int how = random.nextInt(5);
        boolean isClient = random.nextBoolean();
        SocketChannel ended = isClient ? client : server;
        all.add(ChannelBehaviour.inBackground(() -> end(ended, how)));
        if (random.nextBoolean()) {
          SocketChannel other = isClient ? server : client;
          all.add(ChannelBehaviour.inBackground(() -> end(other, random.nextInt(5))));
        }
        for (FutureTask<Object> each : all) {
          try {
            Object _ = each.get();
          } catch (ExecutionException e) {
            assertTrue(isExpected(e.getCause()), e::toString);
          }
        }
      }
    }
  }

  private static boolean isExpected(Throwable t) {
    return t instanceof IOException
        || t instanceof CancelledKeyException
        || t instanceof ClosedSelectorException;
  }
}
