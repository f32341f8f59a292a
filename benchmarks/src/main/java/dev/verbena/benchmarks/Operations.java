package dev.verbena.benchmarks;

import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SendRequest;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.SynchronousQueue;
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
 * Operations between two queue pairs: a post of a batch until the last completion; beside what the
 * JDK needs for the same, a hand-over between two threads and back, and a copy. One thread uses
 * both ends.
 */
@Fork(value = 1, jvmArgsAppend = "-XX:+UseSerialGC")
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@BenchmarkMode(Mode.SampleTime)
public class Operations {
  private static final Duration LIMIT = Duration.ofSeconds(10);

  /** The parameters; the hand-over has none. */
  @State(Scope.Benchmark)
  public static class Choice {
    /** See {@link Devices}. */
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

    /** The number of connected queue pairs that are not used. */
    @Param("0")
    public int idle;
  }

  /** One of two connected queue pairs, and its requests. */
  private static final class End {
    final Choice choice;
    final ProtectionDomain domain;
    final CompletionQueue queue;
    final CompletionWaiter waiter;
    final Completions polled;
    final QueuePair pair;
    final MemoryRegion region;
    final long slot;
    final SendList sends;
    final SendList writes;
    final SendList reads;
    final SendList atomics;
    final ReceiveList receives;
    int signaled;

    End(Choice choice, Context context, Arena arena) {
      this.choice = choice;
      int batch = choice.batch;
      slot = Math.ceilDiv(choice.size, 64) * 64L;
      domain = context.allocateProtectionDomain();
      queue =
          context.completionQueue(4 * batch).channel(context.createCompletionChannel()).create();
      waiter = new CompletionWaiter(queue, Duration.ZERO);
      polled = new Completions(batch);
      QueuePairCapacity capacity = QueuePairCapacity.of(2 * batch);
      pair = pair(choice.inline ? capacity.withMaxInlineData(choice.size) : capacity);
      region =
          domain.registerMemory(
              arena.allocate(2 * slot * batch, 4096),
              AccessFlag.LOCAL_WRITE,
              AccessFlag.REMOTE_WRITE,
              AccessFlag.REMOTE_READ,
              AccessFlag.REMOTE_ATOMIC);
      int inline = choice.inline ? choice.size : 0;
      sends = new SendList(batch, 1, inline);
      writes = new SendList(batch, 1, inline);
      reads = new SendList(batch, 1);
      atomics = new SendList(batch, 1);
      receives = new ReceiveList(batch, 1);
    }

    QueuePair pair(QueuePairCapacity capacity) {
      return QueuePair.builder(domain, QueuePairType.RC)
          .completions(queue)
          .capacity(capacity)
          .create();
    }

    static void connect(QueuePair left, QueuePair right) {
      var address = right.localAddress();
      right.connect(left.localAddress());
      left.connect(address);
    }

    /** Fills the lists: requests with memory of the peer. */
    void fill(MemoryRegion other) {
      for (int i = 0; i < choice.batch; i++) {
        long own = i * slot;
        long theirs = (choice.batch + i) * slot;
        long remote = other.start() + theirs;
        data(sends.send(i), own);
        data(writes.write(i), own).remote(remote, other.rkey());
        reads.read(i).local(region, own, choice.size).remote(remote, other.rkey());
        atomics.fetchAndAdd(i, 1).local(region, own, Long.BYTES).remote(remote, other.rkey());
        receives.local(i, region, theirs, choice.size);
        if ((i + 1) % choice.interval == 0 || i == choice.batch - 1) {
          sends.signaled(i);
          writes.signaled(i);
          reads.signaled(i);
          atomics.signaled(i);
          signaled++;
        }
      }
    }

    private SendRequest data(SendRequest request, long offset) {
      return choice.inline
          ? request.inline(region.memory().asSlice(offset, choice.size))
          : request.local(region, offset, choice.size);
    }

    void receive() {
      Queues.all(pair.post(receives), choice.batch);
    }

    void run(SendList list) throws InterruptedException {
      Queues.all(pair.post(list), choice.batch);
      Devices.advance();
      await(signaled);
    }

    /** Takes completions. */
    void await(int count) throws InterruptedException {
      boolean isByEvents = choice.wait.equals("events");
      for (int taken = 0; taken < count; ) {
        int found = isByEvents ? waiter.poll(polled, LIMIT) : queue.poll(polled);
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
  }

  /** Two connected queue pairs. */
  @State(Scope.Thread)
  public static class Pair {
    private final Arena arena = Arena.ofShared();
    private Devices devices;
    private End a;
    private End b;

    /** Connects them. */
    @Setup
    public void open(Choice choice) {
      devices = new Devices(choice.device);
      a = new End(choice, devices.context, arena);
      b = new End(choice, devices.peer, arena);
      End.connect(a.pair, b.pair);
      for (int i = 0; i < choice.idle; i++) {
        QueuePairCapacity small = QueuePairCapacity.of(1);
        End.connect(a.pair(small), b.pair(small));
      }
      a.fill(b.region);
      b.fill(a.region);
    }

    /** Closes all. */
    @TearDown
    public void close() {
      devices.close();
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
      thread = Thread.ofPlatform().daemon().start(this::run);
    }

    private void run() {
      try {
        while (true) {
          back.put(there.take());
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    /** Ends the thread. */
    @TearDown
    public void stop() {
      thread.interrupt();
    }
  }

  /** Memory to copy. */
  @State(Scope.Thread)
  public static class Memory {
    private MemorySegment from;
    private MemorySegment to;

    /** Allocates it. */
    @Setup
    public void allocate(Choice choice) {
      from = Arena.ofAuto().allocate((long) choice.batch * choice.size, 4096);
      to = Arena.ofAuto().allocate((long) choice.batch * choice.size, 4096);
    }
  }

  /** Messages, until they are received and the sends have completed. */
  @Benchmark
  public void send(Pair pair) throws InterruptedException {
    pair.b.receive();
    pair.a.run(pair.a.sends);
    pair.b.await(pair.b.choice.batch);
  }

  /** Messages to the peer and back. */
  @Benchmark
  public void pingPong(Pair pair) throws InterruptedException {
    pair.a.receive();
    send(pair);
    pair.b.run(pair.b.sends);
    pair.a.await(pair.a.choice.batch);
  }

  /** RDMA writes. */
  @Benchmark
  public void write(Pair pair) throws InterruptedException {
    pair.a.run(pair.a.writes);
  }

  /** RDMA reads. */
  @Benchmark
  public void read(Pair pair) throws InterruptedException {
    pair.a.run(pair.a.reads);
  }

  /** Fetch and add, of 8 bytes. */
  @Benchmark
  public void fetchAndAdd(Pair pair) throws InterruptedException {
    pair.a.run(pair.a.atomics);
  }

  /** An object to another thread and back. */
  @Benchmark
  public void handOver(Echo echo) throws InterruptedException {
    echo.there.put(echo);
    echo.back.take();
  }

  /** Copies of a batch. */
  @Benchmark
  public void copy(Choice choice, Memory memory) {
    for (long i = 0; i < choice.batch; i++) {
      long at = i * choice.size;
      MemorySegment.copy(memory.from, at, memory.to, at, choice.size);
    }
  }
}
