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
import java.util.function.LongSupplier;

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
    return await(holds, nanos, () -> SLICE_NANOS);
  }

  /**
   * As {@link #await(BooleanSupplier, long)}, for what another thread may bring as well as a
   * completion.
   *
   * @param slice how long to wait for completions before looking again
   */
  boolean await(BooleanSupplier holds, long nanos, LongSupplier slice) throws InterruptedException {
    try {
      return readUntil(holds, nanos, slice);
    } finally {
      wakeToRead(); // This thread has read, or was woken to do so.
    }
  }

  private boolean readUntil(BooleanSupplier holds, long nanos, LongSupplier slice)
      throws InterruptedException {
    long start = Time.now();
    long left = Math.max(0, nanos);
    while (!holds.getAsBoolean()) {
      if (left < 0) {
        return false;
      }
      if (isInCallback()) {
        throw new IllegalStateException(
            "a callback must not wait for completions, which it delays");
      }
      if (reading.tryLock()) {
        try (reading) {
          if (holds.getAsBoolean()) { // By what another thread has read meanwhile.
            return true;
          }
          read(Math.min(left, slice.getAsLong()));
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

  /** Reads once; while another thread reads, waits for it, unless the time is zero. */
  void poll(long nanos) throws InterruptedException {
    try {
      if (!tryRead(nanos) && nanos > 0) {
        boolean _ = awaitReader(() -> false, nanos);
        boolean _ = tryRead(0);
      }
    } finally {
      wakeToRead(); // This thread has read, or was woken to do so and interrupted.
    }
  }

  /** Reads once, waiting for completions; returns false if another thread reads, or a callback. */
  private boolean tryRead(long nanos) throws InterruptedException {
    if (isInCallback() || !reading.tryLock()) {
      return false;
    }
    try (reading) {
      read(nanos);
      return true;
    }
  }

  private void read(long nanos) throws InterruptedException {
    if (waiter.poll(completions, nanos < SLICE_NANOS ? Duration.ofNanos(nanos) : SLICE) > 0) {
      reader.read(completions);
    }
  }

  /** Returns whether a callback asks, which must not wait. */
  boolean isInCallback() {
    return reading.isHeldByCurrentThread();
  }

  /** Unless a thread reads, wakes one that waits. */
  private void wakeToRead() {
    if (!reading.isLocked()) {
      LockSupport.unpark(waiting.peek());
    }
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
