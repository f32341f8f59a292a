package dev.verbena.benchmarks;

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
import dev.verbena.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What the choices of a program cost, on a vendor's provider over the emulated NIC. Each table is
 * one experiment, whose rows take turns in samples of {@value #REQUESTS} requests; the NIC works
 * between posting and polling, and its time is not measured.
 */
public final class Tuning {
  private static final int REQUESTS = 256;
  private static final int WARM_UP = 3000;
  private static final int SAMPLES = 2001;

  private static final MethodHandle STEP =
      Linker.nativeLinker()
          .downcallHandle(
              SymbolLookup.libraryLookup(System.getenv("VERBENA_NIC"), Arena.global())
                  .find("emulated_nic_step")
                  .orElseThrow(),
              FunctionDescriptor.ofVoid());

  private final Context context = Device.named("mlx5_0").open();
  private final ProtectionDomain base = context.allocateProtectionDomain();
  private final MemoryRegion region =
      base.allocateMemory(1 << 20, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);

  private Tuning() {}

  public static void main(String[] arguments) throws Exception {
    Tuning tuning = new Tuning();
    tuning.batches();
    tuning.signaling();
    tuning.polls();
    tuning.inline();
    tuning.queues();
    tuning.pairs();
    tuning.locks();
    tuning.threads();
  }

  /** One row of a table: what is measured, in two steps between which the NIC works. */
  private record Row(String name, Runnable post, Runnable poll) {}

  private void batches() {
    List<Row> rows = new ArrayList<>();
    for (int batch : new int[] {1, 2, 4, 8, 16, 32}) {
      Lane lane = new Lane(base, queue(), 2 * REQUESTS, batch, 1, 32, 0);
      rows.add(new Row("post of " + batch, lane::post, lane::poll));
    }
    print("Requests posted with one call, all signaled", rows);
  }

  private void signaling() {
    List<Row> rows = new ArrayList<>();
    for (int interval : new int[] {1, 2, 4, 8, 16, 32}) {
      Lane lane = new Lane(base, queue(), 2 * REQUESTS, 32, interval, 32, 0);
      rows.add(new Row("each " + interval + ". signaled", lane::post, lane::poll));
    }
    print("Signaled requests, posts of 32", rows);
  }

  private void polls() {
    List<Row> rows = new ArrayList<>();
    for (int most : new int[] {1, 2, 4, 8, 16, 32}) {
      Lane lane = new Lane(base, queue(), 2 * REQUESTS, 32, 1, most, 0);
      rows.add(new Row("poll of " + most, lane::post, lane::poll));
    }
    print("Completions polled with one call, posts of 32", rows);
  }

  private void inline() {
    List<Row> rows = new ArrayList<>();
    for (int size : new int[] {8, 32, 64, 128, 256}) {
      Lane copied = new Lane(base, queue(), 2 * REQUESTS, 16, 16, 16, -size);
      rows.add(new Row(size + " bytes copied to a region", copied::postCopied, copied::poll));
      Lane inline = new Lane(base, queue(), 2 * REQUESTS, 16, 16, 16, size);
      rows.add(new Row(size + " bytes inline", inline::postInline, inline::poll));
    }
    print("Inline data, posts of 16, one signaled", rows);
  }

  private void queues() {
    List<Row> rows = new ArrayList<>();
    for (int size : new int[] {256, 1024, 4096, 8192}) {
      CompletionQueue queue = context.completionQueue(size).create();
      Lane lane = new Lane(base, queue, size, 16, 1, 16, 0);
      rows.add(new Row("queues of " + size, lane::post, lane::poll));
    }
    print("Sizes of send queue and completion queue, posts of 16", rows);
  }

  private void pairs() {
    List<Row> rows = new ArrayList<>();
    for (int count : new int[] {1, 4, 16, 64}) {
      CompletionQueue shared = queue();
      List<Lane> lanes = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        lanes.add(new Lane(base, shared, 2 * REQUESTS, 1, 1, 32, 0));
      }
      rows.add(
          new Row(
              count + " queue pairs",
              () -> {
                for (int i = 0; i < REQUESTS; i++) {
                  lanes.get(i % count).postOne();
                }
              },
              lanes.getFirst()::poll));
    }
    print("One thread with several queue pairs on one completion queue, posts of 1", rows);
  }

  /** The locks of a queue pair, with one thread. */
  private void locks() {
    List<Row> rows = new ArrayList<>();
    for (int batch : new int[] {1, 16}) {
      Lane locked = new Lane(base, queue(), 2 * REQUESTS, batch, 1, batch, 0);
      rows.add(new Row("posts and polls of " + batch, locked::post, locked::poll));
      Lane unlocked = ownDomain(batch);
      rows.add(
          new Row(
              "posts and polls of " + batch + ", thread domain", unlocked::post, unlocked::poll));
    }
    print("Locks, one thread", rows);
  }

  /** Two threads, beside one. */
  private void threads() throws Exception {
    System.out.println("### Two threads, posts and polls of 16\n");
    System.out.println("| | nanoseconds for each request of the slower thread |\n|---|---:|");
    together("one thread", new Lane(base, queue(), 2 * REQUESTS, 16, 1, 16, 0));
    together(
        "two threads, each with its queues",
        new Lane(base, queue(), 2 * REQUESTS, 16, 1, 16, 0),
        new Lane(base, queue(), 2 * REQUESTS, 16, 1, 16, 0));
    together("two threads, each with its queues and thread domain", ownDomain(16), ownDomain(16));
    CompletionQueue shared = queue();
    together(
        "two threads, one completion queue",
        new Lane(base, shared, 2 * REQUESTS, 16, 1, 16, 0),
        new Lane(base, shared, 2 * REQUESTS, 16, 1, 16, 0));
    Lane lane = new Lane(base, queue(), 2 * REQUESTS, 16, 1, 16, 0);
    together("two threads, one queue pair", lane, new Lane(lane, 16));
  }

  private Lane ownDomain(int batch) {
    ProtectionDomain domain =
        base.parentDomain().threadDomain(context.allocateThreadDomain()).create();
    CompletionQueue own =
        context.completionQueue(4 * REQUESTS).singleThreaded().parentDomain(domain).create();
    return new Lane(domain, own, 2 * REQUESTS, batch, 1, batch, 0);
  }

  private CompletionQueue queue() {
    return context.completionQueue(4 * REQUESTS).withoutCapacityWarning().create();
  }

  private void print(String title, List<Row> rows) {
    long[][] times = new long[rows.size()][SAMPLES];
    for (int sample = -WARM_UP; sample < SAMPLES; sample++) {
      for (int i = 0; i < rows.size(); i++) {
        long start = System.nanoTime();
        rows.get(i).post.run();
        long time = System.nanoTime() - start;
        step();
        start = System.nanoTime();
        rows.get(i).poll.run();
        if (sample >= 0) {
          times[i][sample] = time + System.nanoTime() - start;
        }
      }
    }
    System.out.println("### " + title + "\n\n| | nanoseconds for each request |\n|---|---:|");
    for (int i = 0; i < rows.size(); i++) {
      line(rows.get(i).name, times[i]);
    }
    System.out.println();
  }

  private static void line(String name, long[] times) {
    Arrays.sort(times);
    System.out.printf(
        Locale.ROOT, "| %s | %.1f |%n", name, times[times.length / 2] / (double) REQUESTS);
  }

  private static void step() {
    try {
      STEP.invokeExact();
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }

  /** Measures lanes at the same time, each in a thread of its own. */
  private static void together(String name, Lane... lanes) throws Exception {
    Meeting meeting = new Meeting(lanes.length);
    List<FutureTask<long[]>> tasks = new ArrayList<>();
    for (int i = 0; i < lanes.length; i++) {
      Lane lane = lanes[i];
      boolean steps = i == 0;
      Callable<long[]> run =
          () -> {
            long[] times = new long[SAMPLES];
            for (int sample = -WARM_UP; sample < SAMPLES; sample++) {
              meeting.await();
              long start = System.nanoTime();
              lane.post();
              long time = System.nanoTime() - start;
              meeting.await();
              if (steps) {
                step();
              }
              meeting.await();
              start = System.nanoTime();
              lane.poll();
              if (sample >= 0) {
                times[sample] = time + System.nanoTime() - start;
              }
            }
            return times;
          };
      FutureTask<long[]> task = new FutureTask<>(run);
      Thread.ofPlatform().daemon().start(task);
      tasks.add(task);
    }
    long[] slowest = new long[SAMPLES];
    for (FutureTask<long[]> task : tasks) {
      long[] times = task.get();
      for (int i = 0; i < SAMPLES; i++) {
        slowest[i] = Math.max(slowest[i], times[i]);
      }
    }
    line(name, slowest);
  }

  /** Lets threads begin a step at the same time. */
  private static final class Meeting {
    private final int parties;
    private final AtomicInteger arrived = new AtomicInteger();

    Meeting(int parties) {
      this.parties = parties;
    }

    @SuppressWarnings("ThreadPriorityCheck") // Only when others have lost their processor.
    void await() {
      int turn = arrived.getAndIncrement() / parties;
      for (int i = 0; arrived.get() / parties == turn; i++) {
        if (i < 1000) {
          Thread.onSpinWait();
        } else {
          Thread.yield(); // The others may need this processor.
        }
      }
    }
  }

  /** A queue pair that is connected to itself, with a list of requests. */
  private final class Lane {
    private final CompletionQueue queue;
    private final QueuePair pair;
    private final SendList list;
    private final Completions completions;
    private final int batch;
    private final int interval;
    private final MemorySegment source;
    private final MemorySegment[] inline;

    /** A positive size is that of inline data, a negative one of data that is copied. */
    Lane(
        ProtectionDomain domain,
        CompletionQueue queue,
        int capacity,
        int batch,
        int interval,
        int poll,
        int size) {
      this.queue = queue;
      this.batch = batch;
      this.interval = interval;
      this.pair =
          domain
              .queuePair(QueuePairType.RC)
              .completions(queue)
              .capacity(
                  QueuePairCapacity.of(capacity)
                      .withReceiveRequests(1)
                      .withMaxInlineData(Math.max(0, size)))
              .create();
      pair.connect(pair.localAddress());
      this.completions = new Completions(poll);
      this.list = new SendList(batch, 1, Math.max(0, size));
      this.inline = new MemorySegment[batch];
      this.source = Arena.ofAuto().allocate(Math.max(8, Math.abs(size)), 64);
      for (int i = 0; i < batch; i++) {
        var request = list.write(i).remote(region.start(), region.rkey());
        if (size > 0) {
          request.inline(size);
          inline[i] = list.inlineData(i);
        } else {
          request.local(region, 4096L * i, size == 0 ? 64 : -size);
        }
        if ((i + 1) % interval == 0) {
          list.signaled(i);
        }
      }
    }

    /** Posts to the queue pair of another lane. */
    Lane(Lane other, int batch) {
      this.queue = other.queue;
      this.pair = other.pair;
      this.batch = batch;
      this.interval = 1;
      this.completions = new Completions(batch);
      this.list = new SendList(batch, 1);
      this.inline = null;
      this.source = null;
      for (int i = 0; i < batch; i++) {
        list.write(i).local(region, 4096L * i, 64).remote(region.start(), region.rkey());
        list.signaled(i);
      }
    }

    void post() {
      for (int i = 0; i < REQUESTS; i += batch) {
        postOne();
      }
    }

    void postOne() {
      if (pair.post(list) != batch) {
        throw new IllegalStateException("the send queue is full");
      }
    }

    void postInline() {
      for (int i = 0; i < REQUESTS; i += batch) {
        for (MemorySegment data : inline) {
          data.copyFrom(source);
        }
        postOne();
      }
    }

    void postCopied() {
      for (int i = 0; i < REQUESTS; i += batch) {
        for (int k = 0; k < batch; k++) {
          MemorySegment.copy(source, 0, region.memory(), 4096L * k, source.byteSize());
        }
        postOne();
      }
    }

    void poll() {
      int left = REQUESTS / interval;
      while (left > 0) {
        int count = queue.poll(completions);
        for (int i = 0; i < count; i++) {
          if (!completions.isSuccess(i)) {
            throw new IllegalStateException(completions.describe(i));
          }
        }
        left -= count;
      }
    }
  }
}
