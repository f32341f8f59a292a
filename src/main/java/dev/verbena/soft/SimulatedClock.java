package dev.verbena.soft;

import dev.verbena.internal.time.Simulated;
import dev.verbena.internal.time.Time;
import dev.verbena.soft.engine.Timer;
import dev.verbena.soft.engine.TimerQueue;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.LongUnaryOperator;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/** The time of a simulation, which goes on when {@link #pass} is called. */
final class SimulatedClock implements Simulated {
  /** Any time: that of {@link System#nanoTime} begins anywhere, too. */
  static final long START = 1_000_000_000L;

  private static final long MOST_AHEAD = TimeUnit.SECONDS.toNanos(10);
  private static final double MOST_DRIFT = 100e-6;
  private static final long LONGEST_PAUSE = 2_000;
  private static final int MOST_LAST_STEPS = 100_000;
  private static final int PARTS_OF_QUIET = 1_000;
  private static final long PAGE = 4096;

  /** Of their own: so a device or clock more changes nothing else. */
  private final Random clocks;

  private final Random order;
  private final RandomGenerator random;
  private final SimulatedThreads threads;
  private final InjectedFaults faults;
  private final TimerQueue timers = new TimerQueue();
  private final List<Source> sources = new ArrayList<>();
  private long now = START;

  /** How many steps have begun with the end of a pause, how many others there were, until when. */
  private long pauses;

  private long otherSteps;
  private long quietSince = START;
  private volatile boolean isOver;
  private long nextAddress = 0x5eed_0000_0000L;

  SimulatedClock(
      long seed,
      Random order,
      RandomGenerator random,
      SimulatedThreads threads,
      InjectedFaults faults) {
    this.clocks = new Random(~seed);
    this.order = order;
    this.random = random;
    this.threads = threads;
    this.faults = faults;
  }

  Duration sinceStart() {
    return Duration.ofNanos(now - START);
  }

  /** Wakes the threads for which an event is there. */
  void look() {
    sources.forEach(Source::look);
  }

  /**
   * Goes on to the time of the next timers, and runs their actions.
   *
   * @return false if there are none
   */
  boolean pass() {
    if (timers.isEmpty()) {
      return false;
    }
    now = Math.max(now, timers.earliest());
    timers.expire(now);
    return true;
  }

  StepLog log() {
    return threads.log;
  }

  /** Ends the simulation, after the threads that can run: one that never ends remains in memory. */
  void close() {
    boolean isRunning = true;
    for (int i = 0; i < MOST_LAST_STEPS && isRunning; i++) {
      isRunning = threads.step(order, now);
    }
    isOver = true;
    sources.forEach(Source::close);
    threads.close();
  }

  @Override
  public boolean has(Thread thread) {
    return !isOver && (thread.isVirtual() || threads.isCarrier(thread));
  }

  @Override
  public long now() {
    return now;
  }

  @Override
  public LongUnaryOperator otherClock() {
    long ahead = clocks.nextLong(MOST_AHEAD);
    double drift = clocks.nextDouble(-MOST_DRIFT, MOST_DRIFT);
    return nanos -> nanos + ahead + (long) ((nanos - START) * drift);
  }

  @Override
  public Runnable after(long nanos, Runnable action) {
    return timer(nanos, action)::stop;
  }

  @Override
  public Timeout timeout(long nanos) {
    return new SimulatedTimeout(
        Thread.currentThread(), end -> timer(nanos, () -> threads.execute(end)));
  }

  private Timer timer(long nanos, Runnable action) {
    Timer timer = new Timer(timers, action);
    timer.start(nanos > Long.MAX_VALUE - now ? Long.MAX_VALUE : now + nanos);
    return timer;
  }

  @Override
  public boolean injects(Supplier<String> description) {
    return faults.injects(sinceStart(), description);
  }

  @Override
  public RandomGenerator random() {
    return random;
  }

  @Override
  public long address(long length) {
    long address = nextAddress;
    nextAddress += (length / PAGE + 2) * PAGE;
    return address;
  }

  @Override
  public Thread.Builder thread() {
    return threads.builder();
  }

  /**
   * Pauses become longer while nothing but pauses ends: so a loop that polls in vain gets to the
   * end of the longest simulation, or of a timeout, in some thousand steps. An interrupt does not
   * end them: the poller may not notice it.
   */
  @Override
  public void pause() {
    long others = threads.allSteps() - pauses;
    if (others != otherSteps) {
      otherSteps = others;
      quietSince = now;
    }
    boolean isInterrupted = Thread.interrupted();
    if (isInterrupted) {
      Time.park(1); // An interrupt has made the next park end at once.
    }
    Time.park(1 + order.nextLong(LONGEST_PAUSE) + (now - quietSince) / PARTS_OF_QUIET);
    pauses++;
    if (isInterrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void whenIdle(Source source) {
    sources.add(source);
  }
}
