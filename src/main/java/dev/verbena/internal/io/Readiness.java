package dev.verbena.internal.io;

import dev.verbena.internal.foreign.Libc;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import dev.verbena.internal.time.Uninterrupted;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
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
  private static final short POLLIN = 1;
  private static final short POLLNVAL = 0x20;
  private static final long REVENTS = 6;

  /**
   * The time that a platform thread waits in poll(2) before it parks. Events usually arrive soon,
   * and poll returns in half the time: 15 us; parking takes 30 us (virtual threads 60 us). A thread
   * in poll cannot be woken, so that an interrupt or a close is noticed after up to this time.
   */
  private static final long DIRECT_MILLIS = 10;

  /** How long closing waits for other threads, which need only processor time to leave. */
  private static final Duration LIMIT = Duration.ofMinutes(2);

  private final int descriptor;

  /** The descriptor and whose it is, for messages. */
  private final String name;

  /**
   * The {@code struct pollfd}, shared by all threads: they poll for the same and use only poll's
   * result. Alive as long as a thread is inside.
   */
  private final MemorySegment pollfd = Arena.ofAuto().allocate(Long.BYTES, Long.BYTES);

  private final ScopedLock lock = new ScopedLock();
  private final Condition left = lock.newCondition();

  /** The threads in {@link #await}; guarded by the lock. */
  private final List<Thread> inside = new ArrayList<>(1);

  /** Set under the lock, so that close waits for threads that entered before. */
  private volatile boolean closed;

  private volatile boolean parked;

  private Readiness(int descriptor, String name) {
    this.descriptor = descriptor;
    this.name = name;
    pollfd.set(ValueLayout.JAVA_INT, 0, descriptor);
    pollfd.set(ValueLayout.JAVA_SHORT, Integer.BYTES, POLLIN);
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
    Libc.setNonBlocking(descriptor);
  }

  /**
   * Returns whether the descriptor is readable: data, an error, or the end of the file.
   *
   * @throws IllegalStateException if the descriptor is not open
   */
  public boolean isReadable() {
    return poll(0);
  }

  private boolean poll(int milliseconds) {
    try {
      boolean readable = Libc.poll(pollfd.address(), 1, milliseconds) > 0;
      if (readable && (pollfd.get(ValueLayout.JAVA_SHORT, REVENTS) & POLLNVAL) != 0) {
        throw new IllegalStateException("file descriptor " + descriptor + " is not open");
      }
      return readable;
    } finally {
      Reference.reachabilityFence(pollfd);
    }
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
        if (millis > 0 && poll((int) millis)) {
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
    Poller poller = Poller.get();
    var waiter = new Poller.Parked(this);
    parked = true;
    poller.add(descriptor, waiter);
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
      poller.remove(descriptor, waiter);
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
      Poller poller = Poller.get();
      parked = true;
      poller.add(
          descriptor,
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
        poller.close(descriptor, this);
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
      Poller.get().close(descriptor, this);
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
