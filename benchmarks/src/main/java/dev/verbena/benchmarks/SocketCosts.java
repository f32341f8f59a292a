package dev.verbena.benchmarks;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import dev.verbena.sockets.RdmaSelectorProvider;
import dev.verbena.sockets.RdmaSocketOptions;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.NetworkChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

/**
 * Measures what channels over RDMA allocate, and what a selection among many of them costs, beside
 * those of the JDK. Arguments: {@code LISTENING_ADDRESS CONNECTING_ADDRESS NUMBER_OF_CHANNELS...}.
 * With VERBENA_SOFT in the environment, TCP is measured on the loopback interface. Needs {@code
 * --add-exports java.base/sun.nio.ch=ALL-UNNAMED}, to select channels of the JDK.
 */
public final class SocketCosts {
  private static final int SIZE = 64;
  private static final int ROUND_TRIPS = 20_000;
  private static final int SELECTIONS = 5_000;
  private static final int ACTIVE = 10;
  private static final int IDLE_SECONDS = 5;
  private static final OperatingSystemMXBean SYSTEM =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private final SelectorProvider provider;
  private final SelectorProvider selectors;
  private final String name;
  private final String listening;
  private final String connecting;

  /** Both ends of a connection. */
  private record Pair(SocketChannel client, SocketChannel server) {}

  private SocketCosts(
      SelectorProvider provider, SelectorProvider selectors, String name, String[] args) {
    this.provider = provider;
    this.selectors = selectors;
    this.name = name;
    listening = args[0];
    connecting = args[1];
  }

  /** Prints a line for each measurement. */
  public static void main(String[] args) throws Exception {
    SelectorProvider ofRdma = RdmaSelectorProvider.provider();
    SelectorProvider ofJdk = SelectorProvider.provider();
    SocketCosts rdma = new SocketCosts(ofRdma, ofRdma, "RDMA", args);
    // Software devices have no network interface.
    String[] addresses =
        System.getenv("VERBENA_SOFT") == null ? args : new String[] {"127.0.0.1", "127.0.0.1"};
    SocketCosts tcp = new SocketCosts(ofJdk, ofJdk, "TCP", addresses);
    SocketCosts mixed = new SocketCosts(ofJdk, ofRdma, "TCP-in-a-selector-for-both", addresses);
    rdma.allocation();
    tcp.allocation();
    // Connections over RDMA last: their end goes on for a while after they were closed.
    for (SocketCosts costs : List.of(tcp, mixed, rdma)) {
      for (int i = 2; i < args.length; i++) {
        costs.selection(Integer.parseInt(args[i]));
      }
    }
  }

  /** Small, so that a thousand connections fit into memory. */
  private void limit(NetworkChannel channel) throws IOException {
    channel.setOption(StandardSocketOptions.SO_RCVBUF, 1 << 14);
    if (provider instanceof RdmaSelectorProvider) {
      channel.setOption(RdmaSocketOptions.RDMA_SQSIZE, 32);
      channel.setOption(RdmaSocketOptions.RDMA_RQSIZE, 32);
    }
  }

  private List<Pair> connect(int count) throws Exception {
    List<Pair> pairs = new ArrayList<>();
    try (ServerSocketChannel listener = provider.openServerSocketChannel()) {
      limit(listener);
      listener.bind(new InetSocketAddress(listening, 0));
      for (int i = 0; i < count; i++) {
        FutureTask<SocketChannel> accepted = new FutureTask<>(listener::accept);
        Thread.ofPlatform().daemon().start(accepted);
        SocketChannel client = provider.openSocketChannel();
        limit(client);
        client.setOption(StandardSocketOptions.TCP_NODELAY, true);
        client.bind(new InetSocketAddress(connecting, 0));
        client.connect(listener.getLocalAddress());
        pairs.add(new Pair(client, accepted.get()));
      }
    }
    return pairs;
  }

  private static void close(List<Pair> pairs) throws IOException {
    for (Pair pair : pairs) {
      pair.client.close();
      pair.server.close();
    }
  }

  /** The bytes that the thread allocates for two writes and the reads that receive them. */
  private void allocation() throws Exception {
    List<Pair> pairs = connect(1);
    Pair pair = pairs.getFirst();
    pair.client.configureBlocking(false);
    pair.server.configureBlocking(false);
    ByteBuffer buffer = ByteBuffer.allocateDirect(SIZE);
    long allocated = 0;
    long nanos = 0;
    for (int part = 0; part < 3; part++) { // The last one is measured.
      long start = System.nanoTime();
      long before = THREADS.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < ROUND_TRIPS; i++) {
        transfer(pair.client, pair.server, buffer);
        transfer(pair.server, pair.client, buffer);
      }
      allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
      nanos = System.nanoTime() - start;
    }
    System.out.printf(
        "allocation %s %.3f bytes per round trip of two writes and their reads, %.1f us%n",
        name, (double) allocated / ROUND_TRIPS, nanos / 1e3 / ROUND_TRIPS);
    close(pairs);
  }

  private static void transfer(SocketChannel from, SocketChannel to, ByteBuffer buffer)
      throws IOException {
    buffer.clear();
    while (buffer.hasRemaining()) {
      int _ = from.write(buffer);
    }
    buffer.clear();
    while (buffer.hasRemaining()) {
      int _ = to.read(buffer);
    }
  }

  /**
   * The time of a selection among idle channels, the two ends of connections: of none, and of one
   * after data was written to it. The data goes to a few more channels in turn, so that an event
   * shows each: a channel that was ready in the selection before is examined without.
   */
  private void selection(int idle) throws Exception {
    int count = Math.ceilDiv(idle, 2) + ACTIVE;
    List<Pair> pairs = connect(count);
    try (Selector selector = selectors.openSelector()) {
      for (Pair pair : pairs) {
        pair.client.configureBlocking(false);
        pair.client.register(selector, SelectionKey.OP_READ);
        pair.server.configureBlocking(false);
        pair.server.register(selector, SelectionKey.OP_READ);
      }
      ByteBuffer buffer = ByteBuffer.allocateDirect(SIZE);
      double none = 0;
      double one = 0;
      for (int part = 0; part < 3; part++) { // The last one is measured.
        long start = System.nanoTime();
        for (int i = 0; i < SELECTIONS; i++) {
          int _ = selector.selectNow();
        }
        none = (System.nanoTime() - start) / 1e3 / SELECTIONS;
        long[] times = new long[SELECTIONS];
        for (int i = 0; i < SELECTIONS; i++) {
          Pair active = pairs.get(i % ACTIVE);
          long written = System.nanoTime();
          int _ = active.client.write(buffer.clear());
          int _ = selector.select();
          times[i] = System.nanoTime() - written;
          selector.selectedKeys().clear();
          int _ = active.server.read(buffer.clear());
        }
        Arrays.sort(times);
        one = times[SELECTIONS / 2] / 1e3;
      }
      System.out.printf(
          "selection %s %d channels: %.1f us for none, %.1f us (median) from the write of one%n",
          name, idle, none, one);
      idle(selector, idle);
    }
    close(pairs);
  }

  /** What the process does while a thread selects among channels without traffic. */
  private void idle(Selector selector, int count) throws IOException {
    long wakeups = wakeups();
    long processor = SYSTEM.getProcessCpuTime();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(IDLE_SECONDS);
    for (long left = 1; left > 0; left = (end - System.nanoTime()) / 1_000_000) {
      int _ = selector.select(left);
    }
    System.out.printf(
        "idle %s %d channels: %.1f wake-ups a second of all threads, %.1f ms of processor time%n",
        name,
        count,
        (double) (wakeups() - wakeups) / IDLE_SECONDS,
        (SYSTEM.getProcessCpuTime() - processor) / 1e6 / IDLE_SECONDS);
  }

  /** Returns how often threads of this process have waited. */
  private static long wakeups() throws IOException {
    long sum = 0;
    for (File task : Objects.requireNonNull(new File("/proc/self/task").listFiles())) {
      Path status = task.toPath().resolve("status");
      if (Files.exists(status)) {
        for (String line : Files.readAllLines(status)) {
          if (line.startsWith("voluntary_ctxt_switches:")) {
            sum += Long.parseLong(line.substring(line.indexOf(':') + 1).strip());
          }
        }
      }
    }
    return sum;
  }
}
