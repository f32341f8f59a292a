package dev.verbena.internal.io;

import dev.verbena.internal.foreign.Libc;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import dev.verbena.internal.time.Uninterrupted;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/**
 * Waits until a file descriptor is readable. Any number of threads may wait; all wake up when it is
 * readable, and those that find no data wait again.
 *
 * <p>After {@link #close} has returned, no thread uses the descriptor any more: its number may be
 * reused for another file.
 */
public final class Readiness implements AutoCloseable {
  /**
   * The time that a platform thread waits in poll(2), on Linux, before it parks. Events usually
   * arrive soon, and poll returns in half the time: 15 us; parking takes 30 us (virtual threads 60
   * us). A thread in poll cannot be woken, so that an interrupt or a close is noticed after up to
   * this time.
   */
  private static final long DIRECT_MILLIS = 10;

  /** How long closing waits for other threads, which need only processor time to leave. */
  private static final Duration LIMIT = Duration.ofMinutes(2);

  private final Watched file;

  /** The descriptor and whose it is, for messages. */
  private final String name;

  private final ScopedLock lock = new ScopedLock();
  private final Condition left = lock.newCondition();

  /** The threads in {@link #await}; guarded by the lock. */
  private final List<Thread> inside = new ArrayList<>(1);

  /** Set under the lock, so that close waits for threads that entered before. */
  private volatile boolean closed;

  private volatile boolean parked;

  private Readiness(int descriptor, String name) {
    this.file = Watched.of(descriptor);
    this.name = name;
  }

  /** Returns the readiness of a descriptor, which it does not own. */
  public static Readiness of(int descriptor) {
    return new Readiness(descriptor, "file descriptor " + descriptor);
  }

  /**
   * Returns the readiness of a descriptor, which it does not own.
   *
   * @param owner names the object that has the descriptor; a reference to it would keep it
   *     reachable, and hide that a program has dropped it
   */
  public static Readiness of(int descriptor, String owner) {
    return new Readiness(descriptor, "file descriptor " + descriptor + " of " + owner);
  }

  /** Makes a descriptor non-blocking: reads fail with EAGAIN instead of blocking. */
  public static void setNonBlocking(int descriptor) {
    if (Libc.isPresent()) {
      Libc.setNonBlocking(descriptor);
    } else {
      JavaEventFile.of(descriptor).setNonBlocking();
    }
  }

  /**
   * Returns a descriptor that a program may use in system calls.
   *
   * @throws UnsupportedOperationException where it is none of the operating system
   */
  public static int requireSystem(int descriptor) {
    Libc.require("a file descriptor of a channel", "wait by the methods of the channel");
    return descriptor;
  }

  /**
   * Returns whether the descriptor is readable: data, an error, or the end of the file.
   *
   * @throws IllegalStateException if the descriptor is not open
   */
  public boolean isReadable() {
    return file.isReadable(0);
  }

  /**
   * Waits until the descriptor is readable, the time has elapsed, or this is closed.
   *
   * @param nanos the maximum time in nanoseconds; {@link Long#MAX_VALUE} is unlimited
   * @return whether it was readable; another thread may read first
   * @throws InterruptedException if the thread is interrupted
   */
  public boolean await(long nanos) throws InterruptedException {
    long start = Time.now();
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    if (!enter()) {
      return false;
    }
    try {
      if (isReadable()) {
        return true;
      }
      if (!Thread.currentThread().isVirtual()) {
        long millis = Math.min(DIRECT_MILLIS, TimeUnit.NANOSECONDS.toMillis(nanos));
        if (millis > 0 && file.isReadable((int) millis)) {
          return !closed;
        }
      }
      return !closed && park(start, nanos);
    } finally {
      leave();
    }
  }

  /** Enters; returns false if this is closed. */
  boolean enter() {
    try (var _ = lock.hold()) {
      if (closed) {
        return false;
      }
      inside.add(Thread.currentThread());
      return true;
    }
  }

  /** Leaves, after this thread has entered. */
  void leave() {
    try (var _ = lock.hold()) {
      inside.remove(Thread.currentThread());
      left.signalAll();
    }
  }

  private boolean park(long start, long nanos) throws InterruptedException {
    Watched.Waiters waiters = file.waiters(); // It can fail: then close has nobody to wake.
    var waiter = new Poller.Parked(this);
    parked = true;
    waiters.add(waiter);
    try {
      // close reads parked after it has set closed: one of the two sees the other's write.
      while (!waiter.isWoken() && !closed) {
        if (Thread.interrupted()) {
          throw new InterruptedException();
        }
        long left = nanos == Long.MAX_VALUE ? nanos : nanos - (Time.now() - start);
        if (left <= 0) {
          return false;
        }
        Time.park(this, left);
      }
      return !closed;
    } finally {
      waiters.remove(waiter);
    }
  }

  /**
   * Runs an action once, by {@link Time#start}, when the descriptor is readable; not at all if this
   * is closed before. Closing does not wait for an action that has started.
   *
   * @param action the action
   */
  public void whenReadable(Runnable action) {
    if (!enter()) {
      return;
    }
    try {
      Watched.Waiters waiters = file.waiters();
      parked = true;
      waiters.add(
          new Poller.Waiter(this) {
            @Override
            void wake() {
              if (!closed) {
                // Virtual threads of the program that spin can occupy all carriers.
                Time.start(Readiness.this.toString(), action);
              }
            }
          });
      if (closed) { // As in park: one of the two sees the other.
        waiters.close(this);
      }
    } finally {
      leave();
    }
  }

  /**
   * Makes all threads leave {@link #await}, now and in the future, and returns when they have left:
   * after at most about {@value #DIRECT_MILLIS} ms, if they are given processor time.
   *
   * @throws IllegalStateException if a thread, which the message names with the owner, has not left
   *     within two minutes: the descriptor must not be closed yet, and this can be closed again
   */
  @Override
  public void close() {
    close(LIMIT);
  }

  /** Closes; waits for other threads at most so long. */
  void close(Duration limit) {
    try (var _ = lock.hold()) {
      closed = true;
    }
    if (parked) {
      file.waiters().close(this);
    }
    try (var _ = lock.hold()) {
      awaitNobodyInside(limit.toNanos());
    }
  }

  private void awaitNobodyInside(long nanos) {
    if (!Uninterrupted.awaitSignal(left, inside::isEmpty, nanos)) {
      throw new IllegalStateException(
          "the " + this + " cannot be closed: thread " + inside.getFirst() + " does not leave it");
    }
  }

  @Override
  public String toString() {
    return "wait on " + name;
  }
}
