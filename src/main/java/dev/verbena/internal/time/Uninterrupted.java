package dev.verbena.internal.time;

import java.time.Duration;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/**
 * Waits that an interrupt does not end, for the close of objects that other threads use. They
 * restore the interrupt status of the thread.
 */
public final class Uninterrupted {
  /** An operation that waits, and returns whether it succeeded before its time was over. */
  public interface Wait {
    boolean await() throws InterruptedException;
  }

  /** Waits for a signal, for so many nanoseconds at most. */
  private interface Signal {
    void await(long nanos) throws InterruptedException;
  }

  private Uninterrupted() {}

  /** Waits, also in an interrupted thread. */
  public static boolean await(Wait wait) {
    boolean interrupted = Thread.interrupted();
    try {
      while (true) {
        try {
          return wait.await();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /**
   * Acquires a lock: objects that the holder of the lock uses must not be destroyed because of an
   * interrupt.
   *
   * @param remaining returns the remaining time in nanoseconds
   */
  public static boolean acquire(ReentrantLock lock, LongSupplier remaining) {
    return await(() -> Time.tryLock(lock, remaining.getAsLong()));
  }

  /**
   * Waits until something holds. Who changes that notifies a monitor, which the caller holds.
   *
   * @return false if the time was over before
   */
  public static boolean awaitNotification(Object monitor, BooleanSupplier holds, long nanos) {
    return await(left -> Time.wait(monitor, left), holds, nanos);
  }

  /**
   * Waits until something holds. Who changes that signals a condition, whose lock the caller holds.
   *
   * @return false if the time was over before
   */
  public static boolean awaitSignal(Condition condition, BooleanSupplier holds, long nanos) {
    return await(left -> Time.await(condition, left), holds, nanos);
  }

  private static boolean await(Signal signal, BooleanSupplier holds, long nanos) {
    long start = Time.now();
    return await(
        () -> {
          long left = left(nanos, start);
          while (!holds.getAsBoolean() && left > 0) {
            signal.await(left);
            left = left(nanos, start);
          }
          return holds.getAsBoolean();
        });
  }

  /** Returns what is left of a time, of which the largest value is no limit. */
  private static long left(long nanos, long start) {
    return nanos == Long.MAX_VALUE ? nanos : nanos - (Time.now() - start);
  }

  /** Waits for the end of a thread; returns false if the time was over before. */
  public static boolean join(Thread thread, Duration limit) {
    long start = Time.now();
    return await(() -> Time.join(thread, limit.minusNanos(Time.now() - start)));
  }
}
