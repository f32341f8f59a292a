package dev.verbena.verbs;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/** Waits for the end of a {@link Posting} or of polling by a {@link CompletionCursor}. */
final class OpenSection {
  /** Much longer than either should be open, since C holds a lock for as long. */
  private static final Duration LIMIT = Duration.ofSeconds(5);

  private static final long PAUSE = TimeUnit.MICROSECONDS.toNanos(50);

  private OpenSection() {}

  /**
   * Waits for the thread that has a section open, if it is another one. None can be opened
   * meanwhile, since their object is being closed.
   *
   * @param owner the thread that has the section open, or null
   * @param endIfAbandoned ends the section of a thread that has ended
   * @return the thread that still has it open: this one, or one that does not end it; or null
   */
  static Thread await(AtomicReference<Thread> owner, Runnable endIfAbandoned) {
    long start = System.nanoTime();
    while (true) {
      endIfAbandoned.run();
      Thread thread = owner.getAcquire();
      if (thread == null
          || thread.equals(Thread.currentThread())
          || System.nanoTime() - start > LIMIT.toNanos()) {
        return thread;
      }
      LockSupport.parkNanos(PAUSE);
    }
  }
}
