package dev.verbena.sockets;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import com.sun.management.UnixOperatingSystemMXBean;
import dev.verbena.testing.Await;
import java.io.File;
import java.io.IOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.NetworkChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;

/**
 * Holds many connections at the same time, closes them, and compares the descriptors, the threads
 * and the memory of the process before and after. A program: the addresses of two devices; the
 * number of connections, of which half are open at a time, or as many as the process has
 * descriptors for; and optionally the bytes of SO_SNDBUF and SO_RCVBUF and the number of requests
 * of each queue. Prints a row for each part.
 *
 * <pre>
 * VERBENA_SOFT=2 java --enable-native-access=ALL-UNNAMED -XX:+UseSerialGC \
 *     -XX:MarkSweepAlwaysCompactCount=1 -Xms1g -Xmx1g -XX:+AlwaysPreTouch -cp ... \
 *     dev.verbena.sockets.ManyConnections 192.0.2.1 192.0.2.2 10000 16384 32
 * </pre>
 */
final class ManyConnections {
  private static final RdmaSelectorProvider RDMA = RdmaSelectorProvider.provider();

  /** Before the memory is compared: the code is compiled then. */
  private static final int FIRST = 100;

  /** So many connect at a time: fewer than a listener lets wait. */
  private static final int CONNECTING = 64;

  private static final int DESCRIPTORS_OF_CONNECTION = 4;
  private static final int OTHER_DESCRIPTORS = 500;

  /** Threads that the JVM itself may start. */
  private static final int THREADS_OF_JVM = 20;

  /** What may remain in the heap for each connection, which has many times as much. */
  private static final int BYTES_LEFT = 1_000;

  private final InetSocketAddress from;
  private final InetSocketAddress to;
  private final Map<SocketOption<Integer>, Integer> options;

  private ManyConnections(String[] args) {
    from = new InetSocketAddress(args[0], 0);
    to = new InetSocketAddress(args[1], 0);
    options =
        args.length < 5
            ? Map.of()
            : Map.of(
                StandardSocketOptions.SO_SNDBUF, Integer.valueOf(args[3]),
                StandardSocketOptions.SO_RCVBUF, Integer.valueOf(args[3]),
                RdmaSocketOptions.RDMA_SQSIZE, Integer.valueOf(args[4]),
                RdmaSocketOptions.RDMA_RQSIZE, Integer.valueOf(args[4]));
  }

  /** What the process has; the memory in bytes. */
  private record Held(int descriptors, int threads, long heap, long resident) {
    static Held now() throws IOException {
      for (int i = 0; i < 3; i++) {
        System.gc();
      }
      releaseFreeMemory();
      Runtime runtime = Runtime.getRuntime();
      try (Stream<String> lines = Files.lines(Path.of("/proc/self/status"))) {
        String resident = lines.filter(line -> line.startsWith("VmRSS:")).findFirst().orElseThrow();
        return new Held(
            openDescriptors(),
            count("task"),
            runtime.totalMemory() - runtime.freeMemory(),
            Long.parseLong(resident.replaceAll("\\D", "")) << 10);
      }
    }

    /** Lets only memory that is in use be resident: how scattered it is depends on the threads. */
    private static void releaseFreeMemory() {
      Linker linker = Linker.nativeLinker();
      try {
        int _ =
            (int)
                linker
                    .downcallHandle(
                        linker.defaultLookup().find("malloc_trim").orElseThrow(),
                        FunctionDescriptor.of(JAVA_INT, JAVA_LONG))
                    .invokeExact(0L);
      } catch (Throwable t) {
        throw new AssertionError(t);
      }
    }

    /** Returns it when the last threads have ended, and what they refer to is collected. */
    static Held settled() throws Exception {
      Held last = now();
      while (true) {
        Await.pass(Duration.ofSeconds(1), "the last threads end");
        Held next = now();
        if (next.heap >= last.heap && next.threads >= last.threads) {
          return next;
        }
        last = next;
      }
    }

    boolean isMoreThan(Held most) {
      return descriptors > most.descriptors
          || threads > most.threads
          || heap > most.heap
          || resident > most.resident;
    }

    static int openDescriptors() {
      return count("fd");
    }

    private static int count(String folder) {
      return Objects.requireNonNull(new File("/proc/self/" + folder).list(), folder).length;
    }
  }

  private record Pair(SocketChannel client, SocketChannel server) {}

  /** Connects, closes, and fails if that leaves anything. */
  public static void main(String[] args) throws Exception {
    int count = Integer.parseInt(args[2]);
    ManyConnections many = new ManyConnections(args);
    var system = (UnixOperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    long atATime =
        (system.getMaxFileDescriptorCount() - OTHER_DESCRIPTORS) / DESCRIPTORS_OF_CONNECTION;
    int parts = (int) Math.max(2, Math.ceilDiv(count, atATime));
    System.out.println(
        "| connections | connect, s | close, s | descriptors of each | threads"
            + " | heap bytes of each | resident bytes of each | resident MiB afterwards |");
    System.out.println("|---:|---:|---:|---:|---:|---:|---:|---:|");
    List<Pair> first = many.connect(1); // With what is opened once.
    many.run(FIRST);
    Held before = Held.now();
    long held = many.run(count / parts);
    Held once = Held.settled(); // With tables that have grown.
    for (int part = 1; part < parts; part++) {
      many.run(count / parts);
    }
    Held most =
        new Held(
            before.descriptors,
            before.threads + THREADS_OF_JVM,
            once.heap + (long) BYTES_LEFT * count,
            once.resident + held / 2);
    Held after = Held.settled();
    System.out.println(before + ", then " + after);
    if (after.isMoreThan(most)) {
      throw new AssertionError("not everything was released");
    }
    close(first);
  }

  /** Connects and closes, and prints a row; returns the bytes of resident memory that were held. */
  private long run(int count) throws Exception {
    Held before = Held.now();
    long start = System.nanoTime();
    List<Pair> pairs = connect(count);
    double connecting = (System.nanoTime() - start) / 1e9;
    Held open = Held.now();
    start = System.nanoTime();
    close(pairs);
    Await.until(
        () -> Held.openDescriptors() + " descriptors, not " + before.descriptors,
        () -> Held.openDescriptors() <= before.descriptors);
    double closing = (System.nanoTime() - start) / 1e9;
    long held = open.resident - before.resident;
    System.out.printf(
        Locale.ROOT,
        "| %d | %.1f | %.1f | %.2f | %d | %d | %d | %d |%n",
        count,
        connecting,
        closing,
        (double) (open.descriptors - before.descriptors) / count,
        open.threads,
        (open.heap - before.heap) / count,
        held / count,
        Held.now().resident >> 20);
    return held;
  }

  private static void close(List<Pair> pairs) throws IOException {
    for (Pair pair : pairs) {
      pair.client.close();
      pair.server.close();
    }
  }

  private void limit(NetworkChannel channel) throws IOException {
    for (Map.Entry<SocketOption<Integer>, Integer> option : options.entrySet()) {
      if (channel.supportedOptions().contains(option.getKey())) {
        channel.setOption(option.getKey(), option.getValue());
      }
    }
  }

  private List<Pair> connect(int count) throws Exception {
    try (ExecutorService threads =
            Executors.newFixedThreadPool(CONNECTING + 1, Thread.ofVirtual().factory());
        ServerSocketChannel listener = RDMA.openServerSocketChannel()) {
      limit(listener);
      listener.bind(to, CONNECTING);
      Future<Map<Object, SocketChannel>> accepted = threads.submit(() -> accept(listener, count));
      List<Future<SocketChannel>> clients = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        clients.add(threads.submit(() -> connect(listener)));
      }
      List<SocketChannel> connected = new ArrayList<>();
      for (Future<SocketChannel> client : clients) {
        connected.add(client.get());
      }
      Map<Object, SocketChannel> servers = accepted.get();
      List<Pair> pairs = new ArrayList<>();
      for (SocketChannel client : connected) {
        SocketChannel server = Objects.requireNonNull(servers.get(client.getLocalAddress()));
        requireByte(client, server);
        pairs.add(new Pair(client, server));
      }
      return pairs;
    }
  }

  private static Map<Object, SocketChannel> accept(ServerSocketChannel listener, int count)
      throws IOException {
    Map<Object, SocketChannel> byPeer = new HashMap<>();
    while (byPeer.size() < count) {
      SocketChannel server = listener.accept();
      byPeer.put(server.getRemoteAddress(), server);
    }
    return byPeer;
  }

  private SocketChannel connect(ServerSocketChannel listener) throws IOException {
    SocketChannel client = RDMA.openSocketChannel();
    limit(client);
    client.bind(from).connect(listener.getLocalAddress());
    return client;
  }

  private static void requireByte(SocketChannel client, SocketChannel server) throws IOException {
    client.write(ByteBuffer.allocate(1));
    if (server.read(ByteBuffer.allocate(2)) != 1) {
      throw new IOException("no byte came");
    }
  }
}
