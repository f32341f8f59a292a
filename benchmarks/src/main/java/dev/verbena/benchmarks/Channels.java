package dev.verbena.benchmarks;

import dev.verbena.sockets.RdmaSelectorProvider;
import dev.verbena.sockets.RdmaSocketOptions;
import java.io.IOException;
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
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What channels over RDMA allocate, and what a selection among many of them costs, beside those of
 * the JDK.
 */
@Fork(
    value = 1,
    jvmArgsAppend = {"--add-exports=java.base/sun.nio.ch=ALL-UNNAMED", "-XX:+UseSerialGC"})
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@BenchmarkMode(Mode.SampleTime)
public class Channels {
  private static final int SIZE = 64;

  /** Data goes to as many more channels in turn, so that an event shows each. */
  private static final int ACTIVE = 10;

  /** The parameters. */
  @State(Scope.Benchmark)
  public static class Choice {
    /** See {@link Devices}: software devices have no network interface for TCP. */
    @Param("soft")
    public String device;

    @Param("192.0.2.2")
    public String listening;

    @Param("192.0.2.1")
    public String connecting;

    /** rdma, tcp, or mixed: channels of TCP in a selector for both. */
    @Param({"rdma", "tcp"})
    public String transport;

    /** The number of channels without traffic. */
    @Param("1")
    public int idle;
  }

  /** Both ends of a connection. */
  record Pair(SocketChannel client, SocketChannel server) {}

  /** Connected channels, and a selector for all. */
  @State(Scope.Thread)
  public static class Connected {
    final List<Pair> pairs = new ArrayList<>();
    final ByteBuffer buffer = ByteBuffer.allocateDirect(SIZE);
    private SelectorProvider provider;
    Selector selector;
    private int turn;

    /** Connects them. */
    @Setup
    public void connect(Choice choice) throws Exception {
      boolean isRdma = choice.transport.equals("rdma");
      boolean isTcp = choice.transport.equals("tcp");
      provider = isRdma ? RdmaSelectorProvider.provider() : SelectorProvider.provider();
      selector =
          (isTcp ? SelectorProvider.provider() : RdmaSelectorProvider.provider()).openSelector();
      boolean isLoopback = !isRdma && choice.device.equals("soft");
      String to = isLoopback ? "127.0.0.1" : choice.listening;
      String from = isLoopback ? "127.0.0.1" : choice.connecting;
      try (ServerSocketChannel listener = provider.openServerSocketChannel()) {
        limit(listener);
        listener.bind(new InetSocketAddress(to, 0));
        for (int i = 0; i < Math.ceilDiv(choice.idle, 2) + ACTIVE; i++) {
          FutureTask<SocketChannel> accepted = new FutureTask<>(listener::accept);
          Thread.ofPlatform().daemon().start(accepted);
          SocketChannel client = provider.openSocketChannel();
          limit(client);
          client.setOption(StandardSocketOptions.TCP_NODELAY, true);
          client.bind(new InetSocketAddress(from, 0));
          client.connect(listener.getLocalAddress());
          pairs.add(new Pair(client, accepted.get()));
          register(client);
          register(accepted.get());
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

    private void register(SocketChannel channel) throws IOException {
      channel.configureBlocking(false);
      channel.register(selector, SelectionKey.OP_READ);
    }

    Pair next() {
      turn++;
      return pairs.get(turn % ACTIVE);
    }

    private void transfer(SocketChannel from, SocketChannel to) throws IOException {
      buffer.clear();
      while (buffer.hasRemaining()) {
        int _ = from.write(buffer);
      }
      buffer.clear();
      while (buffer.hasRemaining()) {
        int _ = to.read(buffer);
      }
    }

    /** Closes all. */
    @TearDown
    public void close() throws IOException {
      for (Pair pair : pairs) {
        pair.client.close();
        pair.server.close();
      }
      selector.close();
    }
  }

  /** Data is written before each selection, and read after it. */
  public static class Written extends Connected {
    private Pair active;

    /** Chooses a connection. */
    @Setup(Level.Invocation)
    public void choose() {
      active = next();
    }

    /** Reads what was written. */
    @TearDown(Level.Invocation)
    public void read() throws IOException {
      selector.selectedKeys().clear();
      int _ = active.server.read(buffer.clear());
    }
  }

  /** How often threads of this process have waited. */
  @AuxCounters(AuxCounters.Type.OPERATIONS)
  @State(Scope.Thread)
  public static class Wakeups {
    /** Counted as a rate. */
    public long wakeups;

    private long before;

    /** Begins to count. */
    @Setup(Level.Iteration)
    public void begin() throws IOException {
      before = count();
    }

    private static long count() throws IOException {
      long sum = 0;
      try (Stream<Path> tasks = Files.list(Path.of("/proc/self/task"))) {
        for (Path status : tasks.map(task -> task.resolve("status")).toList()) {
          // A thread may have ended.
          for (String line :
              Files.exists(status) ? Files.readAllLines(status) : List.<String>of()) {
            if (line.startsWith("voluntary_ctxt_switches:")) {
              sum += Long.parseLong(line.replaceAll("\\D", ""));
            }
          }
        }
      }
      return sum;
    }
  }

  /** 64 bytes to the other end and back, without blocking. */
  @Benchmark
  public void roundTrip(Connected state) throws IOException {
    Pair pair = state.next();
    state.transfer(pair.client, pair.server);
    state.transfer(pair.server, pair.client);
  }

  /** A selection that finds nothing. */
  @Benchmark
  public int selectNone(Connected state) throws IOException {
    return state.selector.selectNow();
  }

  /** From the write of one channel until a selection has found the other end. */
  @Benchmark
  public int selectOne(Written state) throws IOException {
    int _ = state.active.client.write(state.buffer.clear());
    return state.selector.select();
  }

  /** A selection that waits in vain for a second, and how often threads of the process wake up. */
  @Benchmark
  @BenchmarkMode(Mode.Throughput)
  @OutputTimeUnit(TimeUnit.SECONDS)
  public void idle(Connected state, Wakeups wakeups) throws IOException {
    int _ = state.selector.select(1000);
    wakeups.wakeups = Wakeups.count() - wakeups.before;
  }
}
