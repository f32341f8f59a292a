package dev.verbena.internal;

import dev.verbena.internal.time.Time;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Lets several threads wait for the events of one file descriptor: one of them waits for the
 * descriptor and reads the events, the others wait for that thread. All methods are called with the
 * lock held once.
 *
 * {@snippet :
 * if (wait.begin(nanos)) {
 *   lock.unlock();
 *   try {
 *     // Wait for the descriptor, and read what is there.
 *   } finally {
 *     lock.lock();
 *     wait.end();
 *   }
 * }
 * }
 */
public final class SharedWait {
  private final Condition changed;
  private boolean isAwaited;

  public SharedWait(ReentrantLock lock) {
    changed = lock.newCondition();
  }

  /**
   * Begins a wait. If another thread waits for the descriptor, waits until it has ended, for a
   * {@linkplain #signal signal}, or until the time is over.
   *
   * @return whether the current thread is to wait for the descriptor, without the lock, and then
   *     calls {@link #end}
   */
  @SuppressWarnings("WaitNotInLoop") // The caller examines what it waits for again.
  public boolean begin(long nanos) throws InterruptedException {
    if (isAwaited) {
      long _ = Time.await(changed, nanos);
      return false;
    }
    isAwaited = true;
    return true;
  }

  /** Ends the wait of the thread that waited for the descriptor. */
  public void end() {
    isAwaited = false;
    signal();
  }

  /** Returns whether a thread waits for the descriptor. */
  public boolean isAwaited() {
    return isAwaited;
  }

  /** Makes the threads that wait for another thread examine again what they wait for. */
  public void signal() {
    changed.signalAll();
  }
}
