package dev.verbena.messages;

import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import dev.verbena.internal.time.Uninterrupted;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Completions;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Waits for what the completions of a queue bring. One of the threads that wait reads the
 * completions for all; when what it waits for has come, another one reads.
 */
final class SharedReading {
  /** Processes completions; called by one thread at a time. */
  interface Reader {
    void read(Completions completions);
  }

  /** How long a thread parks or waits for a completion before it looks again. */
  static final long SLICE_NANOS = 20_000_000;

  private static final Duration SLICE = Duration.ofNanos(SLICE_NANOS);

  private final CompletionWaiter waiter;
  private final Completions completions;
  private final Reader reader;
  private final ScopedLock reading = new ScopedLock();

  /** The threads that wait while another one reads. */
  private final Queue<Thread> waiting = new ConcurrentLinkedQueue<>();

  SharedReading(CompletionWaiter waiter, int batch, Reader reader) {
    this.waiter = waiter;
    this.completions = new Completions(batch);
    this.reader = reader;
  }

  /**
   * Waits until something holds; returns false if the time is over before. Looks at least once.
   *
   * @param holds is not asked again once it returns true
   */
  boolean await(BooleanSupplier holds, long nanos) throws InterruptedException {
    long start = Time.now();
    long left = Math.max(0, nanos);
    while (!holds.getAsBoolean()) {
      if (left < 0) {
        return false;
      }
      if (reading.isHeldByCurrentThread()) {
        throw new IllegalStateException(
            "a callback must not wait for completions, which it delays");
      }
      if (reading.tryLock()) {
        try {
          if (holds.getAsBoolean()) { // By what another thread has read meanwhile.
            return true;
          }
          read(left);
        } finally {
          end();
        }
      } else if (left > 0 && awaitReader(holds, left)) {
        return true;
      }
      left = left == 0 ? -1 : Math.max(0, nanos - (Time.now() - start));
    }
    return true;
  }

  /** Waits until the thread that reads has something for this one; returns whether it holds. */
  private boolean awaitReader(BooleanSupplier holds, long nanos) throws InterruptedException {
    waiting.add(Thread.currentThread());
    try {
      if (holds.getAsBoolean()) {
        return true;
      }
      if (reading.isLocked()) {
        Time.park(this, Math.min(nanos, SLICE_NANOS));
      }
    } finally {
      boolean _ = waiting.remove(Thread.currentThread());
    }
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    return false;
  }

  /** Reads once, waiting for completions; returns false if another thread reads. */
  boolean tryRead(long nanos) throws InterruptedException {
    if (reading.isHeldByCurrentThread() || !reading.tryLock()) {
      return false;
    }
    try {
      read(nanos);
      return true;
    } finally {
      end();
    }
  }

  private void read(long nanos) throws InterruptedException {
    if (waiter.poll(completions, nanos < SLICE_NANOS ? Duration.ofNanos(nanos) : SLICE) > 0) {
      reader.read(completions);
    }
  }

  private void end() {
    reading.unlock();
    wake();
  }

  /** Lets a thread look again that waits while another one reads. */
  void wake() {
    LockSupport.unpark(waiting.peek());
  }

  /** Lets all threads look again. */
  void wakeAll() {
    waiting.forEach(LockSupport::unpark);
  }

  /** Runs an action when no thread reads, or after a time. */
  void whenNobodyReads(long nanos, Runnable action) {
    long start = Time.now();
    boolean isFree = Uninterrupted.acquire(reading, () -> nanos - (Time.now() - start));
    try {
      action.run();
    } finally {
      if (isFree) {
        reading.unlock();
      }
    }
  }
}
