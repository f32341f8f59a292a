package dev.verbena.sockets;

import dev.verbena.internal.time.Uninterrupted;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The threads that copy from or to the buffers of a stream, which must not be freed meanwhile. All
 * methods are called with the lock of the stream held.
 */
final class CopyingThreads {
  private final Condition none;
  private int count;

  CopyingThreads(ReentrantLock lock) {
    none = lock.newCondition();
  }

  /** The current thread begins to copy, without the lock. */
  void enter() {
    count++;
  }

  /** The current thread has copied. */
  void leave() {
    count--;
    if (count == 0) {
      none.signalAll();
    }
  }

  /**
   * Waits until no thread copies; the caller has made sure that none begins. An interrupt does not
   * end the wait.
   *
   * @throws IllegalStateException if a thread still copies after a time
   */
  void awaitNone(long nanos) {
    if (!Uninterrupted.awaitSignal(none, () -> count == 0, nanos)) {
      throw new IllegalStateException(
          "the connection cannot be closed: for %d s, %d threads have not returned from copying"
              .formatted(TimeUnit.NANOSECONDS.toSeconds(nanos), count));
    }
  }
}
