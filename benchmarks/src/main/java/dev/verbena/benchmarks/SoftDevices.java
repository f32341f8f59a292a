package dev.verbena.benchmarks;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Two software devices in this JVM, beside what the JDK needs for the same: a hand-over between two
 * threads and back, and a copy. One thread uses both ends.
 */
@Fork(
    value = 1,
    jvmArgsAppend = {"--enable-native-access=ALL-UNNAMED", "-XX:+UseSerialGC"})
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class SoftDevices {
  static final int BATCH = 16;
  static final int LARGE = 64 * 1024;

  /** One of two connected queue pairs. */
  private static final class End {
    final MemorySegment memory;
    final Context context;
    final ProtectionDomain domain;
    final CompletionQueue completions;
    final QueuePair queuePair;
    final MemoryRegion region;
    final ReceiveList receives = new ReceiveList(BATCH, 1);
    final SendList sends = new SendList(BATCH, 1);
    final Completions batch = new Completions(4 * BATCH);

    End(Device device, Arena arena) {
      memory = arena.allocate((long) BATCH * LARGE, 4096);
      context = device.open();
      domain = context.allocateProtectionDomain();
      completions = context.createCompletionQueue(4 * BATCH);
      queuePair =
          domain
              .queuePair(QueuePairType.RC)
              .completions(completions)
              .capacity(QueuePairCapacity.of(2 * BATCH))
              .create();
      region = domain.registerMemory(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      for (int i = 0; i < BATCH; i++) {
        receives.local(i, region, 8L * i, 8);
        sends.send(i).local(region, 8L * i, 8);
      }
      sends.signaled(BATCH - 1);
      sends.signaled(0);
    }

    /** Takes completions. */
    void await(int count) {
      for (int taken = 0; taken < count; ) {
        int polled = completions.poll(batch);
        for (int i = 0; i < polled; i++) {
          if (!batch.isSuccess(i)) {
            throw new IllegalStateException(batch.describe(i));
          }
        }
        taken += polled;
        if (polled == 0) {
          Thread.onSpinWait();
        }
      }
    }
  }

  /** Two devices, with queue pairs that are not used beside those that are. */
  @State(Scope.Thread)
  public static class Pair {
    @Param({"0", "999"})
    public int idle;

    private final Arena arena = Arena.ofShared();
    private SoftNetwork network;
    private End a;
    private End b;
    private final SendList writes = new SendList(BATCH, 1);

    /** Connects them. */
    @Setup
    public void open() {
      network = SoftNetwork.create();
      a = new End(network.addDevice("soft0"), arena);
      b = new End(network.addDevice("soft1"), arena);
      connect(a.queuePair, b.queuePair);
      for (int i = 0; i < idle; i++) {
        connect(idlePair(a), idlePair(b));
      }
      for (int i = 0; i < BATCH; i++) {
        long offset = (long) i * LARGE;
        writes
            .write(i)
            .local(a.region, offset, LARGE)
            .remote(b.region.start() + offset, b.region.rkey());
      }
      writes.signaled(BATCH - 1);
    }

    private static QueuePair idlePair(End end) {
      return end.domain.queuePair(QueuePairType.RC).completions(end.completions).create();
    }

    private static void connect(QueuePair left, QueuePair right) {
      var address = right.localAddress();
      right.connect(left.localAddress());
      left.connect(address);
    }

    /** Closes all. */
    @TearDown
    public void close() {
      a.context.close();
      b.context.close();
      network.close();
      arena.close();
    }
  }

  /** A thread that hands back what it is given. */
  @State(Scope.Thread)
  public static class Echo {
    private final SynchronousQueue<Object> there = new SynchronousQueue<>();
    private final SynchronousQueue<Object> back = new SynchronousQueue<>();
    private Thread thread;

    /** Starts the thread. */
    @Setup
    public void start() {
      thread =
          Thread.ofPlatform()
              .daemon()
              .start(
                  () -> {
                    try {
                      while (true) {
                        back.put(there.take());
                      }
                    } catch (InterruptedException e) {
                      Thread.currentThread().interrupt();
                    }
                  });
    }

    /** Ends the thread. */
    @TearDown
    public void stop() {
      thread.interrupt();
    }
  }

  /** Memory to copy. */
  @State(Scope.Thread)
  public static class Buffers {
    private final MemorySegment from = Arena.ofAuto().allocate((long) BATCH * LARGE, 4096);
    private final MemorySegment to = Arena.ofAuto().allocate((long) BATCH * LARGE, 4096);
  }

  /** 8 bytes to the other device and back. */
  @Benchmark
  @BenchmarkMode(Mode.SampleTime)
  public void pingPong(Pair pair) {
    int _ = pair.b.queuePair.post(pair.b.receives, 0, 1);
    int _ = pair.a.queuePair.post(pair.a.receives, 0, 1);
    int _ = pair.a.queuePair.post(pair.a.sends, 0, 1);
    pair.b.await(1);
    int _ = pair.b.queuePair.post(pair.b.sends, 0, 1);
    pair.a.await(2);
    pair.b.await(1);
  }

  /** An object to another thread and back. */
  @Benchmark
  @BenchmarkMode(Mode.SampleTime)
  public void pingPongOfThreads(Echo echo) throws InterruptedException {
    echo.there.put(echo);
    echo.back.take();
  }

  /** 16 RDMA writes of 64 KiB. */
  @Benchmark
  @BenchmarkMode(Mode.AverageTime)
  @OperationsPerInvocation(BATCH)
  public void write(Pair pair) {
    int _ = pair.a.queuePair.post(pair.writes);
    pair.a.await(1);
  }

  /** 16 copies of 64 KiB. */
  @Benchmark
  @BenchmarkMode(Mode.AverageTime)
  @OperationsPerInvocation(BATCH)
  public void copy(Buffers buffers) {
    for (long at = 0; at < (long) BATCH * LARGE; at += LARGE) {
      MemorySegment.copy(buffers.from, at, buffers.to, at, LARGE);
    }
  }

  /** 16 messages of 8 bytes, posted at once. */
  @Benchmark
  @BenchmarkMode(Mode.AverageTime)
  @OperationsPerInvocation(BATCH)
  public void messages(Pair pair) {
    int _ = pair.b.queuePair.post(pair.b.receives);
    int _ = pair.a.queuePair.post(pair.a.sends);
    pair.b.await(BATCH);
    pair.a.await(2);
  }
}
