package dev.verbena.cm;

import dev.verbena.internal.Deadline;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/** The number of a listener's connection requests and connections that are open. */
final class OpenConnections {
  private final ScopedLock lock = new ScopedLock();
  private final Condition noneLeft = lock.newCondition();

  /** Guarded by the lock. */
  private int count;

  void opened() {
    change(1);
  }

  void closed() {
    change(-1);
  }

  private void change(int by) {
    try (var _ = lock.hold()) {
      count += by;
      if (count == 0) {
        noneLeft.signalAll();
      }
    }
  }

  int count() {
    try (var _ = lock.hold()) {
      return count;
    }
  }

  /** Waits until none is open; returns false if the deadline passes before. */
  boolean awaitNone(Deadline deadline) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      while (count > 0 && !deadline.isOver()) {
        long _ =
            Time.await(noneLeft, Math.min(deadline.remainingNanos(), TimeUnit.DAYS.toNanos(1)));
      }
      return count == 0;
    } finally {
      lock.unlock();
    }
  }
}
