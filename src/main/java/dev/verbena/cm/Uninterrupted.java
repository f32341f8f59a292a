package dev.verbena.cm;

import dev.verbena.internal.time.Time;
import java.util.concurrent.locks.ReentrantLock;

/** Waits that an interrupt does not end, for the close of objects that other threads use. */
final class Uninterrupted {
  /** An operation that waits, and returns whether it succeeded before the deadline. */
  interface Wait {
    boolean await() throws InterruptedException;
  }

  private Uninterrupted() {}

  /** Waits also in an interrupted thread, and restores its interrupt status. */
  static boolean await(Wait wait) {
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
   * Acquires a lock within a time, also in an interrupted thread: objects that the holder of the
   * lock uses must not be destroyed because of an interrupt.
   */
  static boolean acquire(ReentrantLock lock, Deadline deadline) {
    return await(() -> Time.tryLock(lock, deadline.remainingNanos()));
  }
}
