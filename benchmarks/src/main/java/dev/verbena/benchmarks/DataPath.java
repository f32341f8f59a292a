package dev.verbena.benchmarks;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;
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
 * What the calls of the data path take, in Java and in C, which take turns in one JVM on the same
 * queues: one sample is {@value MeasuredLoop#REQUESTS} requests, so few that they and their
 * completions fit in the cache. The device executes them between two samples, and its time is not
 * measured; a device that cannot be stepped is waited for by polling.
 */
@Fork(1)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class DataPath {
  /** The parameters; a table names those that are not the first. */
  @State(Scope.Benchmark)
  public static class Choice {
    /** See {@link Devices}. */
    @Param("soft")
    public String device;

    /** Whether the same is measured in C, in turns; there are no software devices for C. */
    @Param("false")
    public boolean c;

    /** What is posted: write or send. */
    @Param("write")
    public String operation;

    /**
     * How it is posted: by a list; by a session, which also polls; or by a posting, which is {@code
     * ibv_wr_*}.
     */
    @Param("list")
    public String by;

    /**
     * The data of a request: in a region; inline, of which 8 bytes are written for each post; or
     * copied before each post, to the region or inline.
     */
    @Param("region")
    public String data;

    @Param("1")
    public int sges;

    /** The bytes of data that are copied or inline; others are 64. */
    @Param("64")
    public int size;

    /** How many requests one call posts. */
    @Param({"1", "16"})
    public int batch;

    /** Every how many requests one is signaled. */
    @Param("1")
    public int interval;

    /** How many completions one call takes; 0: as many as a post has requests. */
    @Param("0")
    public int polled;

    /** The size of send queue and completion queue. */
    @Param("512")
    public int capacity;

    /** How many queue pairs a thread posts to in turns. */
    @Param("1")
    public int pairs;

    /** The completion queue: plain, extended, or direct, beside which C has plain queues. */
    @Param("plain")
    public String queue;

    /** Whether the queue pair has receives of its own, or those of a shared receive queue. */
    @Param("own")
    public String receives;

    /** Whether each thread has a thread domain. */
    @Param("false")
    public boolean threadDomain;

    /** What threads share: nothing, the completion queue, or the queue pair. */
    @Param("nothing")
    public String share;

    private Queues shared;

    /** Returns the queues of a thread. */
    synchronized Queues queues() {
      if (share.equals("nothing")) {
        return new Queues(this, null, isDirect());
      }
      if (shared == null) {
        shared = new Queues(this, null, isDirect());
        return shared;
      }
      return share.equals("pair") ? shared : new Queues(this, shared, isDirect());
    }

    boolean isDirect() {
      return queue.equals("direct");
    }

    boolean isExtended() {
      return queue.equals("extended");
    }

    boolean isInline() {
      return data.endsWith("inline");
    }

    boolean isWrite() {
      return operation.equals("write");
    }

    int polled() {
      return polled == 0 ? batch : polled;
    }
  }

  /** The queues of a thread, and its loops. */
  @State(Scope.Thread)
  public static class Open {
    Queues queues;
    MeasuredLoop loop;

    /** The queues that C uses, and its loops; null if it is not measured. */
    Queues queuesOfC;

    MeasuredLoop inC;

    /** Opens the device. */
    @Setup
    public void open(Choice choice) throws Throwable {
      queues = choice.queues();
      loop = new JavaLoop(choice, queues);
      if (choice.c) {
        queuesOfC = choice.isDirect() ? new Queues(choice, null, false) : queues;
        inC = new CLoop(choice, queuesOfC);
      }
    }

    /** Closes it. */
    @TearDown
    public void close() {
      queues.close();
      if (inC != null && queuesOfC != queues) {
        queuesOfC.close();
      }
    }
  }

  /** What the loop in C took, which is measured before each sample of Java. */
  @AuxCounters(AuxCounters.Type.EVENTS)
  @State(Scope.Thread)
  public static class C {
    private final long[] samples = new long[1 << 18];
    private int count;
    private long begin;

    /** Begins an iteration. */
    @Setup(Level.Iteration)
    public void clear() {
      count = 0;
    }

    void start() {
      begin = System.nanoTime();
    }

    void stop() {
      samples[count++ % samples.length] = System.nanoTime() - begin;
    }

    /** The median of an iteration. */
    public double c() {
      int known = Math.min(count, samples.length);
      Arrays.sort(samples, 0, known);
      return known == 0 ? 0 : samples[known / 2];
    }

    /** How many medians are in the sum that JMH reports. */
    public long medians() {
      return 1;
    }
  }

  /** The completions of posted requests are taken between two posts. */
  public static class Unposted extends Open {
    /** Posts and polls in C. */
    @Setup(Level.Invocation)
    public void prepare(C c) {
      if (inC != null) {
        queuesOfC.prepare();
        c.start();
        inC.post();
        c.stop();
        Devices.advance();
        inC.poll();
        queuesOfC.finish();
      }
      queues.prepare();
    }

    /** Polls. */
    @TearDown(Level.Invocation)
    public void complete() {
      Devices.advance();
      loop.poll();
      queues.finish();
    }
  }

  /** Requests are posted before each poll. */
  public static class Posted extends Open {
    /** Posts, after a post and a poll in C. */
    @Setup(Level.Invocation)
    public void post(C c) {
      if (inC != null) {
        queuesOfC.prepare();
        inC.post();
        Devices.advance();
        c.start();
        inC.poll();
        c.stop();
        queuesOfC.finish();
      }
      queues.prepare();
      loop.post();
      Devices.advance();
    }

    /** Lets the peer poll. */
    @TearDown(Level.Invocation)
    public void finish() {
      queues.finish();
    }
  }

  /** A peer sends before each poll. */
  public static class Sent extends Open {
    @Setup
    @Override
    public void open(Choice choice) throws Throwable {
      super.open(choice);
      loop.postReceives();
      if (inC != null && queuesOfC != queues) {
        inC.postReceives();
      }
    }

    /** Lets the peer send, after C has received. */
    @Setup(Level.Invocation)
    public void send(C c) {
      if (inC != null) {
        queuesOfC.sendFromPeer();
        Devices.advance();
        c.start();
        inC.receive();
        c.stop();
        queuesOfC.pollPeer();
      }
      queues.sendFromPeer();
      Devices.advance();
    }

    /** Lets the peer poll. */
    @TearDown(Level.Invocation)
    public void finish() {
      queues.pollPeer();
    }
  }

  /** Nothing is posted. */
  public static class Empty extends Open {
    /** Polls in C. */
    @Setup(Level.Invocation)
    public void poll(C c) {
      if (inC != null) {
        c.start();
        inC.pollEmpty();
        c.stop();
      }
    }
  }

  /** Patches and posts requests. */
  @Benchmark
  public void post(Unposted state) {
    state.loop.post();
  }

  /** Polls, and reads status, id and length of each completion. */
  @Benchmark
  public long poll(Posted state) {
    return state.loop.poll();
  }

  /** Polls, patches receive requests and posts them again. */
  @Benchmark
  public long receive(Sent state) {
    return state.loop.receive();
  }

  /** Polls a queue without completions. */
  @Benchmark
  public long pollEmpty(Empty state) {
    return state.loop.pollEmpty();
  }
}
