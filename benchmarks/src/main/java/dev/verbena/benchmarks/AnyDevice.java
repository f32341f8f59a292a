package dev.verbena.benchmarks;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SendRequest;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
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
 * Operations between two queue pairs of one device: a post of a batch until the last completion.
 * One thread uses both ends.
 */
@Fork(
    value = 1,
    jvmArgsAppend = {"--enable-native-access=ALL-UNNAMED", "-XX:+UseSerialGC"})
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@BenchmarkMode({Mode.SampleTime, Mode.Throughput})
public class AnyDevice {
  /** Two connected queue pairs, and the requests. */
  @State(Scope.Thread)
  public static class Loop {
    private static final Duration LIMIT = Duration.ofSeconds(10);

    /** The name of a device; soft: a software device in this JVM. */
    @Param("soft")
    public String device;

    @Param("8")
    public int size;

    /** Whether the data of sends and writes are inline. */
    @Param("false")
    public boolean inline;

    /** Every how many requests one is signaled; the last of a batch always is. */
    @Param("16")
    public int interval;

    @Param({"1", "16"})
    public int batch;

    /** How completions are awaited: polling or events. */
    @Param("polling")
    public String wait;

    private final Arena arena = Arena.ofShared();
    private SoftNetwork network;
    private Context context;
    private QueuePair queuePair;
    private QueuePair peer;
    private CompletionQueue completions;
    private CompletionQueue peerCompletions;
    private CompletionWaiter waiter;
    private CompletionWaiter peerWaiter;
    private Completions polled;
    private SendList sends;
    private SendList writes;
    private SendList reads;
    private SendList atomics;
    private ReceiveList receives;
    private int signaled;
    private boolean isByEvents;

    /** Connects the queue pairs. */
    @Setup
    public void open() {
      if (batch < 1 || size < 1 || interval < 1) {
        throw new IllegalArgumentException("batch, size and interval must be positive");
      }
      isByEvents = wait.equals("events");
      if (!isByEvents && !wait.equals("polling")) {
        throw new IllegalArgumentException("wait is polling or events, not " + wait);
      }
      context = device().open();
      ProtectionDomain domain = context.allocateProtectionDomain();
      completions = queue();
      peerCompletions = queue();
      waiter = new CompletionWaiter(completions, Duration.ZERO);
      peerWaiter = new CompletionWaiter(peerCompletions, Duration.ZERO);
      polled = new Completions(batch);
      queuePair = queuePair(domain, completions);
      peer = queuePair(domain, peerCompletions);
      var address = peer.localAddress();
      peer.connect(queuePair.localAddress());
      queuePair.connect(address);
      requests(domain);
    }

    private Device device() {
      if (!device.equals("soft")) {
        return Device.named(device);
      }
      network = SoftNetwork.create();
      return network.addDevice("soft0");
    }

    private CompletionQueue queue() {
      CompletionChannel channel = context.createCompletionChannel();
      return context.completionQueue(4 * batch).channel(channel).create();
    }

    private QueuePair queuePair(ProtectionDomain domain, CompletionQueue queue) {
      QueuePairCapacity capacity = QueuePairCapacity.of(2 * batch);
      return domain
          .queuePair(QueuePairType.RC)
          .completions(queue)
          .capacity(inline ? capacity.withMaxInlineData(size) : capacity)
          .create();
    }

    private void requests(ProtectionDomain domain) {
      long slot = Math.ceilDiv(size, 64) * 64L;
      MemorySegment memory = arena.allocate(2 * slot * batch, 4096);
      MemoryRegion region =
          domain.registerMemory(
              memory,
              AccessFlag.LOCAL_WRITE,
              AccessFlag.REMOTE_WRITE,
              AccessFlag.REMOTE_READ,
              AccessFlag.REMOTE_ATOMIC);
      sends = new SendList(batch, 1, inline ? size : 0);
      writes = new SendList(batch, 1, inline ? size : 0);
      reads = new SendList(batch, 1);
      atomics = new SendList(batch, 1);
      receives = new ReceiveList(batch, 1);
      for (int i = 0; i < batch; i++) {
        long own = i * slot;
        long other = (batch + i) * slot;
        long remote = region.start() + other;
        data(sends.send(i), region, own);
        data(writes.write(i), region, own).remote(remote, region.rkey());
        reads.read(i).local(region, own, size).remote(remote, region.rkey());
        atomics.fetchAndAdd(i, 1).local(region, own, Long.BYTES).remote(remote, region.rkey());
        receives.local(i, region, other, size);
        if ((i + 1) % interval == 0 || i == batch - 1) {
          sends.signaled(i);
          writes.signaled(i);
          reads.signaled(i);
          atomics.signaled(i);
          signaled++;
        }
      }
    }

    private SendRequest data(SendRequest request, MemoryRegion region, long offset) {
      return inline
          ? request.inline(region.memory().asSlice(offset, size))
          : request.local(region, offset, size);
    }

    private void run(SendList list) throws InterruptedException {
      require(queuePair.post(list));
      await(completions, waiter, signaled);
    }

    private void require(int posted) {
      if (posted != batch) {
        throw new IllegalStateException("the queue took " + posted + " of " + batch);
      }
    }

    private void await(CompletionQueue queue, CompletionWaiter ofQueue, int count)
        throws InterruptedException {
      for (int taken = 0; taken < count; ) {
        int found = isByEvents ? ofQueue.poll(polled, LIMIT) : queue.poll(polled);
        for (int i = 0; i < found; i++) {
          if (!polled.isSuccess(i)) {
            throw new IllegalStateException(polled.describe(i));
          }
        }
        if (isByEvents && found == 0) {
          throw new IllegalStateException("no completion within " + LIMIT);
        }
        taken += found;
      }
    }

    /** Closes all. */
    @TearDown
    public void close() {
      context.close();
      if (network != null) {
        network.close();
      }
      arena.close();
    }
  }

  /** Messages, until they are received and the sends have completed. */
  @Benchmark
  public void send(Loop loop) throws InterruptedException {
    loop.require(loop.peer.post(loop.receives));
    loop.run(loop.sends);
    loop.await(loop.peerCompletions, loop.peerWaiter, loop.batch);
  }

  /** RDMA writes. */
  @Benchmark
  public void write(Loop loop) throws InterruptedException {
    loop.run(loop.writes);
  }

  /** RDMA reads. */
  @Benchmark
  public void read(Loop loop) throws InterruptedException {
    loop.run(loop.reads);
  }

  /** Fetch and add, of 8 bytes. */
  @Benchmark
  public void fetchAndAdd(Loop loop) throws InterruptedException {
    loop.run(loop.atomics);
  }
}
