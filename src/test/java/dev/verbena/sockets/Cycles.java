package dev.verbena.sockets;

import dev.verbena.testing.Await;
import dev.verbena.testing.RdmaResources;
import dev.verbena.testing.Rig;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;

/**
 * Connects and closes many channels, and compares the descriptors and threads of the process and
 * the objects of the kernel before and after. As a program, with the number of connections:
 *
 * <pre>
 * java -cp ... dev.verbena.sockets.Cycles 10000
 * </pre>
 */
final class Cycles {
  private static final RdmaSelectorProvider RDMA = RdmaSelectorProvider.provider();

  /** The connections that a listener accepts. */
  private static final int OF_LISTENER = 20;

  /** What is opened once, for all connections. */
  private static final int FIRST = 3;

  /** Threads that the JVM itself may start. */
  private static final int THREADS_OF_JVM = 20;

  private Cycles() {}

  /** What the process has. */
  private record Held(int descriptors, int threads) {
    static Held now() {
      return new Held(count("/proc/self/fd"), count("/proc/self/task"));
    }

    private static int count(String folder) {
      return Objects.requireNonNull(new File(folder).list(), folder).length;
    }

    boolean isMoreThan(Held before) {
      return descriptors > before.descriptors || threads > before.threads + THREADS_OF_JVM;
    }
  }

  /** Prints what was held before and after; ends with an exception if there is more. */
  public static void main(String[] args) throws Exception {
    long start = System.nanoTime();
    System.out.println(run(Integer.parseInt(args[0])));
    System.out.printf("%.1f s%n", (System.nanoTime() - start) / 1e9);
  }

  /** Makes and closes connections; throws an exception if that leaves anything. */
  static String run(int count) throws Exception {
    Map<String, Integer> objects = RdmaResources.now();
    connect(FIRST);
    RdmaResources.requireNoMoreThan(objects);
    Held before = Held.now();
    for (int done = 0; done < count; done += OF_LISTENER) {
      connect(Math.min(OF_LISTENER, count - done));
    }
    RdmaResources.requireNoMoreThan(objects);
    // Threads that close the last channels may not have ended.
    Held after = Held.now();
    for (int i = 0; i < 100 && after.isMoreThan(before); i++) {
      Await.pass(Duration.ofMillis(200), "the last channels are closed");
      after = Held.now();
    }
    String result = count + " connections: " + before + ", then " + after;
    if (after.isMoreThan(before)) {
      throw new AssertionError(result);
    }
    return result;
  }

  private static void connect(int count) throws Exception {
    try (ServerSocketChannel listener =
        RDMA.openServerSocketChannel().bind(new InetSocketAddress(Rig.addressB(), 0))) {
      for (int i = 0; i < count; i++) {
        connect(listener, i);
      }
    }
  }

  /** Either end closes first, of either mode. */
  private static void connect(ServerSocketChannel listener, int number) throws Exception {
    try (SocketChannel client =
        RDMA.openSocketChannel().bind(new InetSocketAddress(Rig.addressA(), 0))) {
      var accepted = ChannelBehaviour.inBackground(listener::accept);
      client.connect(listener.getLocalAddress());
      try (SocketChannel server = accepted.get()) {
        client.write(ByteBuffer.allocate(1));
        if (server.read(ByteBuffer.allocate(1)) != 1) {
          throw new IOException("no byte came");
        }
        client.configureBlocking(number % 2 == 0);
        close(number % 3 == 0 ? client : server);
      }
    }
  }

  private static void close(SocketChannel channel) throws IOException {
    channel.close();
  }
}
