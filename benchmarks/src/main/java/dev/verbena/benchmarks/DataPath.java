package dev.verbena.benchmarks;

import static dev.verbena.benchmarks.Ring.BUFFERS;
import static dev.verbena.benchmarks.Ring.BUFFER_SIZE;

import dev.verbena.verbs.CompletionCursor;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Posting;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Pairs of benchmarks, in Java and in C, of the same operations on the same queues. One operation
 * is one round: patch, post and poll a batch.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class DataPath {
  /**
   * The number of rounds of a sample: so short that most samples are not interrupted by other
   * processes, and the median is of such samples.
   */
  static final int ROUNDS = 1000;

  /** The batch size, one for each fork, so that the code is compiled for it. */
  @Param({"1", "4", "16", "32"})
  public int batch;

  private Ring ring;
  private MemorySegment pair;
  private MemorySegment completionQueue;
  private MemorySegment endlessQueue;
  private MemorySegment mr;

  private MemorySegment extendedPair;
  private MemorySegment extendedCompletions;
  private MemorySegment extendedMr;
  private MemorySegment extendedQueue;

  private Completions completions;
  private SendList sends;
  private SendList gathering;
  private SendList silent;
  private SendList inline;
  private MemorySegment[] inlineData;
  private ReceiveList receives;

  @Setup
  public void open() {
    ring = new Ring();
    pair = ring.pair.segment();
    completionQueue = ring.completions.segment();
    endlessQueue = ring.endless.segment();
    mr = ring.region.segment();
    extendedPair = ring.extendedPair.segment();
    extendedCompletions = ring.extendedCompletions.segment();
    extendedMr = ring.extendedRegion.segment();
    extendedQueue = ring.extended.segment();
    completions = new Completions(batch);
    sends = new SendList(batch, 1);
    gathering = new SendList(batch, 4);
    silent = new SendList(batch, 1);
    inline = new SendList(batch, 1, BUFFER_SIZE);
    inlineData = new MemorySegment[batch];
    receives = new ReceiveList(batch, 1);
    for (int i = 0; i < batch; i++) {
      sends.send(i).local(ring.region, 0, BUFFER_SIZE).signaled();
      silent.send(i).local(ring.region, 0, BUFFER_SIZE);
      inline.send(i).inline(BUFFER_SIZE).signaled();
      inlineData[i] = inline.inlineData(i);
      gathering.send(i).signaled();
      for (int entry = 0; entry < 4; entry++) {
        gathering.local(i, entry, ring.region, 0, BUFFER_SIZE);
      }
      receives.local(i, ring.region, 0, BUFFER_SIZE);
    }
  }

  @TearDown
  public void close() {
    ring.close();
  }

  private static long offset(long id) {
    return (id & (BUFFERS - 1)) * BUFFER_SIZE;
  }

  private static void all(int taken, int posted) {
    if (taken != posted) {
      throw new IllegalStateException(taken + " of " + posted + " taken");
    }
  }

  @Benchmark
  public long sendJava() {
    long sum = 0;
    long id = 0;
    for (int round = 0; round < ROUNDS; round++) {
      for (int i = 0; i < batch; i++) {
        sends.id(i, id++);
        sends.local(i, ring.region, offset(id), BUFFER_SIZE);
      }
      all(ring.pair.post(sends), batch);
      sum += Ring.pollAll(ring.completions, completions, batch);
    }
    return sum;
  }

  @Benchmark
  public long sendC() throws Throwable {
    return CLoops.sum(
        (long) CLoops.SEND.invokeExact(pair, completionQueue, mr, batch, 1, (long) ROUNDS));
  }

  @Benchmark
  public long fourEntriesJava() {
    long sum = 0;
    long id = 0;
    for (int round = 0; round < ROUNDS; round++) {
      for (int i = 0; i < batch; i++) {
        gathering.id(i, id++);
        for (int entry = 0; entry < 4; entry++) {
          gathering.local(i, entry, ring.region, offset(id), BUFFER_SIZE);
        }
      }
      all(ring.pair.post(gathering), batch);
      sum += Ring.pollAll(ring.completions, completions, batch);
    }
    return sum;
  }

  @Benchmark
  public long fourEntriesC() throws Throwable {
    return CLoops.sum(
        (long) CLoops.SEND.invokeExact(pair, completionQueue, mr, batch, 4, (long) ROUNDS));
  }

  @Benchmark
  public long inlineJava() {
    long sum = 0;
    long id = 0;
    for (int round = 0; round < ROUNDS; round++) {
      for (int i = 0; i < batch; i++) {
        inline.id(i, id++);
        inlineData[i].set(ValueLayout.JAVA_LONG, 0, id);
      }
      all(ring.pair.post(inline), batch);
      sum += Ring.pollAll(ring.completions, completions, batch);
    }
    return sum;
  }

  @Benchmark
  public long inlineC() throws Throwable {
    return CLoops.sum(
        (long) CLoops.INLINE.invokeExact(pair, completionQueue, mr, batch, (long) ROUNDS));
  }

  @Benchmark
  public long postJava() {
    long id = 0;
    for (int round = 0; round < ROUNDS; round++) {
      for (int i = 0; i < batch; i++) {
        silent.id(i, id++);
        silent.local(i, ring.region, offset(id), BUFFER_SIZE);
      }
      all(ring.pair.post(silent), batch);
    }
    return id;
  }

  @Benchmark
  public long postC() throws Throwable {
    return CLoops.sum((long) CLoops.POST.invokeExact(pair, mr, batch, (long) ROUNDS));
  }

  @Benchmark
  public long receiveJava() {
    long sum = 0;
    long id = 0;
    for (int round = 0; round < ROUNDS; round++) {
      for (int i = 0; i < batch; i++) {
        receives.id(i, id++);
        receives.local(i, ring.region, offset(id), BUFFER_SIZE);
      }
      all(ring.pair.post(receives), batch);
      sum += Ring.pollAll(ring.completions, completions, batch);
    }
    return sum;
  }

  @Benchmark
  public long receiveC() throws Throwable {
    return CLoops.sum(
        (long) CLoops.RECEIVE.invokeExact(pair, completionQueue, mr, batch, (long) ROUNDS));
  }

  @Benchmark
  public long pollJava() {
    long sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
      sum += Ring.pollAll(ring.endless, completions, batch);
    }
    return sum;
  }

  @Benchmark
  public long pollC() throws Throwable {
    return CLoops.sum((long) CLoops.POLL.invokeExact(endlessQueue, batch, (long) ROUNDS));
  }

  @Benchmark
  public long emptyPollJava() {
    long sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
      sum += ring.completions.poll(completions);
    }
    return sum;
  }

  @Benchmark
  public long emptyPollC() throws Throwable {
    return CLoops.sum((long) CLoops.EMPTY_POLL.invokeExact(completionQueue, batch, (long) ROUNDS));
  }

  @Benchmark
  public long wrJava() {
    long sum = 0;
    long id = 0;
    for (int round = 0; round < ROUNDS; round++) {
      try (Posting posting = ring.extendedPair.startPosting()) {
        for (int i = 0; i < batch; i++) {
          posting.send().id(id++).signaled().local(ring.extendedRegion, offset(id), BUFFER_SIZE);
        }
        all(posting.complete(), batch);
      }
      sum += Ring.pollAll(ring.extendedCompletions, completions, batch);
    }
    return sum;
  }

  @Benchmark
  public long wrC() throws Throwable {
    return CLoops.sum(
        (long)
            CLoops.WR.invokeExact(
                extendedPair, extendedCompletions, extendedMr, batch, (long) ROUNDS));
  }

  @Benchmark
  public long cursorJava() {
    long sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
      try (CompletionCursor cursor = ring.extended.startPolling()) {
        for (int i = 0; i < batch && cursor.next(); i++) {
          if (!cursor.isSuccess()) {
            throw new IllegalStateException("a failed completion");
          }
          sum += cursor.id() + cursor.byteLength();
        }
      }
    }
    return sum;
  }

  @Benchmark
  public long cursorC() throws Throwable {
    return CLoops.sum((long) CLoops.CURSOR.invokeExact(extendedQueue, batch, (long) ROUNDS));
  }
}
