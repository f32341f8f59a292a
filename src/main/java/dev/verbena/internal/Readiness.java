package dev.verbena.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Waits until something can be read from a file descriptor. Any number of threads may wait; all
 * wake when it is readable, and those who come too late to find something wait again.
 *
 * <p>Once {@link #close} has returned, no thread uses the descriptor any more: its number may soon
 * be that of another file.
 */
public final class Readiness implements AutoCloseable {
  private static final short POLLIN = 1;
  private static final short POLLNVAL = 0x20;
  private static final long REVENTS = 6;

  /**
   * How long a platform thread waits in poll(2) before it parks. Answers mostly come soon, and poll
   * notices them in half the time: 15 us, where parking costs 30 us (virtual threads 60 us). But
   * nothing wakes a thread from poll, so an interrupt or a close is noticed this much later.
   */
  private static final long DIRECT_MILLIS = 10;

  private final int descriptor;

  /**
   * The {@code struct pollfd}. All threads share it, since they ask the same and heed poll's result
   * alone; it lives as long as any of them is inside.
   */
  private final MemorySegment pollfd = Arena.ofAuto().allocate(Long.BYTES, Long.BYTES);

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition left = lock.newCondition();

  /** How many threads are in {@link #await}; under the lock. */
  private int inside;

  /** Set under the lock, so that whoever enters before is waited for. */
  private volatile boolean closed;

  private volatile boolean parked;

  private Readiness(int descriptor) {
    this.descriptor = descriptor;
    pollfd.set(ValueLayout.JAVA_INT, 0, descriptor);
    pollfd.set(ValueLayout.JAVA_SHORT, Integer.BYTES, POLLIN);
  }

  /** Waits on a descriptor, which stays the property of whoever opened it. */
  public static Readiness of(int descriptor) {
    return new Readiness(descriptor);
  }

  /** Makes reading a descriptor fail with EAGAIN where it would block. */
  public static void setNonBlocking(int descriptor) {
    Libc.setNonBlocking(descriptor);
  }

  /**
   * Whether something can be read now: data, an error, or the end of the file.
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
   * Waits until something can be read, the time is over, or this is closed.
   *
   * @param nanos how long at most; {@link Long#MAX_VALUE} is for ever
   * @return whether something can probably be read: another thread may be quicker
   * @throws InterruptedException if the thread is interrupted
   */
  public boolean await(long nanos) throws InterruptedException {
    long start = System.nanoTime();
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

  private boolean enter() {
    lock.lock();
    try {
      if (closed) {
        return false;
      }
      inside++;
      return true;
    } finally {
      lock.unlock();
    }
  }

  private void leave() {
    lock.lock();
    try {
      inside--;
      left.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private boolean park(long start, long nanos) throws InterruptedException {
    Poller poller = Poller.get();
    var waiter = new Poller.Waiter(this);
    parked = true;
    poller.add(descriptor, waiter);
    try {
      // Closing looks at parked after it has set closed: one of the two sees the other.
      while (!waiter.isWoken() && !closed) {
        if (Thread.interrupted()) {
          throw new InterruptedException();
        }
        long left = nanos == Long.MAX_VALUE ? nanos : nanos - (System.nanoTime() - start);
        if (left <= 0) {
          return false;
        }
        LockSupport.parkNanos(this, left);
      }
      return !closed;
    } finally {
      poller.remove(descriptor, waiter);
    }
  }

  /**
   * Makes everybody leave {@link #await}, now and from now on, and returns when they have left: at
   * most some {@value #DIRECT_MILLIS} ms later.
   */
  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
    } finally {
      lock.unlock();
    }
    if (parked) {
      Poller.get().close(descriptor, this);
    }
    lock.lock();
    try {
      while (inside > 0) {
        left.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public String toString() {
    return "wait on file descriptor " + descriptor;
  }
}
