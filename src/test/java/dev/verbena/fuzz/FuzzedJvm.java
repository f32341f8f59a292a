package dev.verbena.fuzz;

import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.HotSpotDiagnosticMXBean.ThreadDumpFormat;
import dev.verbena.testing.Await;
import java.io.IOException;
import java.lang.management.LockInfo;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The program of the JVM that is fuzzed: rounds of random calls, each with a seed of its own that
 * is printed.
 */
final class FuzzedJvm {
  /** Exit statuses. */
  static final int FOUND = 10;

  static final int HUNG = 11;

  /** What no call needs; those that wait are interrupted after that. */
  private static final long INTERRUPTED_AFTER = 50_000_000;

  /** Not all the time: the JDK's allocation of native memory begins anew with each interrupt. */
  private static final int TICKS_BETWEEN_INTERRUPTS = 300;

  private static final int INTERRUPT_TICK = 5;

  private static final int TICK_MILLIS = 10;

  private static final Logger LIBRARY = Logger.getLogger("dev.verbena");

  private final RunOptions options;
  private final Journal journal;
  private final Surface surface;
  private final Findings findings = new Findings();
  private final Growth growth = new Growth();
  private long calls;

  private FuzzedJvm(RunOptions options, Journal journal) {
    this.options = options;
    this.journal = journal;
    this.surface =
        options.planted().isEmpty() ? new Surface() : new Surface(Planted.of(options.planted()));
  }

  /** Arguments: those of {@link RunOptions}, after the file of the journal. */
  public static void main(String[] args) throws Exception {
    LIBRARY.setLevel(Level.OFF);
    RunOptions options = RunOptions.parse(List.of(args).subList(1, args.length));
    FuzzedJvm jvm = new FuzzedJvm(options, Journal.create(Path.of(args[0])));
    jvm.run();
    System.out.println(jvm.calls + " calls");
    System.out.print(jvm.findings);
    System.out.flush();
    // What hangs on a thread of the library must not keep the JVM alive: it is a finding already.
    Runtime.getRuntime().halt(jvm.findings.isEmpty() ? 0 : FOUND);
  }

  private void run() throws InterruptedException {
    Thread main = Thread.currentThread();
    Thread.setDefaultUncaughtExceptionHandler(
        (thread, thrown) -> {
          if (thread.equals(main)) {
            thrown.printStackTrace(System.out);
          } else if (!(thrown instanceof Verdict.Thrown)) {
            findings.add(
                "uncaught: " + thrown.getClass().getSimpleName() + " in " + thread.getName(),
                "seed unknown: a thread of the library",
                thrown);
          }
        });
    long end = System.nanoTime() + options.time().toNanos();
    Random seeds = new Random(options.seed());
    int rounds = 0;
    do {
      long seed = rounds == 0 ? options.seed() : seeds.nextLong();
      System.out.println("round with seed " + seed);
      round(seed, end);
      rounds++;
    } while (options.calls() == 0 && !isOver(end, calls));
  }

  /** A busy machine makes few calls in a time. */
  private boolean isOver(long end, long made) {
    return System.nanoTime() > end && made >= options.leastCalls();
  }

  private void round(long seed, long end) throws InterruptedException {
    Target target = options.devices().target();
    long limit = options.calls() == 0 ? options.devices().callsInRound : options.calls();
    Round round = new Round(seed, target, surface, journal, findings, limit);
    List<Worker> workers = new ArrayList<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < options.threads(); i++) {
      Worker worker = new Worker(round, i);
      workers.add(worker);
      Thread.Builder thread = i % 2 == 0 ? Thread.ofPlatform() : Thread.ofVirtual();
      threads.add(thread.name("fuzz-" + i).start(target.on(i, worker)));
    }
    Watch watch = new Watch(workers, threads);
    while (threads.stream().anyMatch(Thread::isAlive)) {
      Await.pass(Duration.ofMillis(TICK_MILLIS), "the threads make calls");
      long made = calls + workers.stream().mapToLong(worker -> worker.calls).sum();
      if (options.calls() == 0 && isOver(end, made)) {
        round.end();
      }
      watch.look();
    }
    workers.forEach(worker -> calls += worker.calls);
    finish(round, workers);
  }

  /** Closes everything, watched like the calls. */
  private void finish(Round round, List<Worker> workers) throws InterruptedException {
    Thread closing =
        Thread.ofPlatform()
            .name("fuzz-closing")
            .start(
                () -> {
                  round.target.restore();
                  round.closeAll(workers);
                  try {
                    round.target.close();
                  } catch (RuntimeException | AssertionError | InterruptedException e) {
                    findings.add(
                        "left open: " + e.getMessage(), "seed " + round.seed + ", at the end", e);
                  }
                });
    for (int ticks = 0; closing.isAlive(); ticks++) {
      Await.pass(Duration.ofMillis(TICK_MILLIS), "what is open is closed");
      if (ticks > options.patience().toMillis() / TICK_MILLIS) {
        hang("closing everything", closing);
      }
    }
    try {
      System.out.println(calls + " calls, " + growth.afterRound());
    } catch (AssertionError e) {
      findings.add("growth", "after the round with seed " + round.seed, e);
    }
  }

  /** Ends calls that wait, and finds those that do not end. */
  private final class Watch {
    private final List<Worker> workers;
    private final List<Thread> threads;
    private final long[] seen;
    private final int[] ticks;

    Watch(List<Worker> workers, List<Thread> threads) {
      this.workers = workers;
      this.threads = threads;
      this.seen = new long[workers.size()];
      this.ticks = new int[workers.size()];
    }

    void look() {
      for (int i = 0; i < workers.size(); i++) {
        Worker worker = workers.get(i);
        long since = worker.since;
        // Ticks, not the clock: a machine that stands still for a while hangs nobody.
        ticks[i] = worker.calls == seen[i] && threads.get(i).isAlive() ? ticks[i] + 1 : 0;
        seen[i] = worker.calls;
        if (since != 0
            && System.nanoTime() - since > INTERRUPTED_AFTER
            && ticks[i] % TICKS_BETWEEN_INTERRUPTS == INTERRUPT_TICK) {
          threads.get(i).interrupt();
        }
        if (ticks[i] > options.patience().toMillis() / TICK_MILLIS) {
          hang("thread " + i, threads.get(i));
        }
      }
    }
  }

  private void hang(String what, Thread thread) {
    System.out.println("HANG of " + what + " (" + thread.getName() + "); all threads:");
    for (ThreadInfo info : ManagementFactory.getThreadMXBean().dumpAllThreads(true, true)) {
      System.out.println(
          "\""
              + info.getThreadName()
              + "\" "
              + info.getThreadState()
              + lock(info.getLockInfo(), info));
      for (StackTraceElement frame : info.getStackTrace()) {
        System.out.println("    at " + frame);
      }
    }
    printVirtualThreads();
    System.out.print(findings);
    System.out.flush();
    Runtime.getRuntime().halt(HUNG);
  }

  private void printVirtualThreads() {
    try {
      Path dump = journal.beside("threads");
      ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
          .dumpThreads(dump.toString(), ThreadDumpFormat.TEXT_PLAIN);
      for (String thread : Files.readString(dump).split("\n\n", -1)) {
        if (thread.lines().findFirst().orElse("").contains("virtual")) {
          System.out.println(thread);
        }
      }
    } catch (IOException e) {
      System.out.println("no stacks of virtual threads: " + e);
    }
  }

  private static String lock(LockInfo lock, ThreadInfo info) {
    return lock == null
        ? ""
        : " on " + lock + (info.getLockOwnerName() == null ? "" : " of " + info.getLockOwnerName());
  }
}
