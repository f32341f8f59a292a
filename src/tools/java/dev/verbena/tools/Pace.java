package dev.verbena.tools;

import java.util.function.LongSupplier;

/**
 * When operations begin: each as soon as the one before has ended, or at a fixed rate.
 *
 * <p>At a fixed rate an operation that begins late, because the one before took long, is measured
 * from the time at which it should have begun: a stall is part of all times that it delays, which a
 * measurement of one operation after the other leaves out (coordinated omission).
 */
final class Pace {
  private static final int TOLERATED = 10;
  private static final long TOLERATED_NANOS = 1_000_000;

  private final double interval;
  private final LongSupplier clock;
  private long start;
  private long number;
  private long late;

  private Pace(double interval, LongSupplier clock) {
    this.interval = interval;
    this.clock = clock;
  }

  /** Returns the pace of one operation after the other. */
  static Pace unlimited() {
    return new Pace(0, System::nanoTime);
  }

  static Pace perSecond(double rate, LongSupplier clock) {
    return new Pace(1e9 / rate, clock);
  }

  boolean isFixed() {
    return interval > 0;
  }

  /**
   * Returns whether the last operation began late by more than some operations and a millisecond,
   * which is the case if operations take longer than the rate permits.
   */
  boolean isMissed() {
    return late > Math.max(TOLERATED_NANOS, TOLERATED * interval);
  }

  /** Begins: the next operation is the first. */
  void begin() {
    start = clock.getAsLong();
    number = 0;
  }

  /** Waits for the time of the next operation, and returns it in nanoseconds. */
  long next() {
    long now = clock.getAsLong();
    if (interval == 0) {
      return now;
    }
    long due = start + (long) (interval * number);
    number++;
    late = Math.max(0, now - due);
    while (clock.getAsLong() < due) {
      Thread.onSpinWait();
    }
    return due;
  }
}
