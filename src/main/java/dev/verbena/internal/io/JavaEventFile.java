package dev.verbena.internal.io;

import dev.verbena.Errno;
import dev.verbena.internal.time.Uninterrupted;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A counter without a file descriptor, for which threads wait in the JVM. */
final class JavaEventFile extends EventFile implements Watched, Watched.Waiters {
  /** More than Linux gives to a descriptor, so that no system call takes the number for one. */
  private static final int FIRST = 1 << 30;

  /** The open files; a number is used again, as that of a descriptor, and so in each simulation. */
  private static final List<@Nullable JavaEventFile> OPEN = new ArrayList<>();

  private final int number;
  private long count;
  private boolean isNonBlocking;
  private boolean isClosed;
  private List<Poller.Waiter> waiters = new ArrayList<>(1);

  JavaEventFile() {
    synchronized (OPEN) {
      int free = OPEN.indexOf(null);
      if (free < 0) {
        free = OPEN.size();
        OPEN.add(null);
      }
      OPEN.set(free, this);
      number = FIRST + free;
    }
  }

  static boolean isOne(int descriptor) {
    return descriptor >= FIRST;
  }

  static JavaEventFile of(int number) {
    JavaEventFile found;
    synchronized (OPEN) {
      found = OPEN.get(number - FIRST);
    }
    if (found == null) {
      throw new IllegalStateException("file descriptor " + number + " is not open");
    }
    return found;
  }

  @Override
  public int descriptor() {
    return number;
  }

  synchronized void setNonBlocking() {
    isNonBlocking = true;
  }

  @Override
  public void add() {
    List<Poller.Waiter> woken;
    synchronized (this) {
      count++;
      notifyAll();
      if (waiters.isEmpty()) {
        return;
      }
      woken = waiters;
      waiters = new ArrayList<>(1);
    }
    for (Poller.Waiter waiter : woken) {
      boolean _ = ServiceLoop.attempt(waiter::wake); // It may start a thread, which can fail.
    }
  }

  @Override
  public synchronized int take() {
    if (count == 0 && isNonBlocking) {
      return Errno.EAGAIN;
    }
    boolean _ = Uninterrupted.awaitNotification(this, () -> count > 0 || isClosed, Long.MAX_VALUE);
    if (count == 0) {
      return Errno.EINVAL;
    }
    count--;
    return 0;
  }

  @Override
  public synchronized boolean isReadable(int milliseconds) {
    if (isClosed) {
      throw new IllegalStateException("file descriptor " + number + " is not open");
    }
    return count > 0;
  }

  @Override
  public Watched.Waiters waiters() {
    return this;
  }

  @Override
  public void add(Poller.Waiter waiter) {
    synchronized (this) {
      if (count == 0) {
        waiters.add(waiter);
        return;
      }
    }
    waiter.wake();
  }

  @Override
  public synchronized void remove(Poller.Waiter waiter) {
    waiters.remove(waiter);
  }

  @Override
  public void close(Readiness wait) {
    List<Poller.Waiter> woken;
    synchronized (this) {
      woken = waiters.stream().filter(waiter -> waiter.isOf(wait)).toList();
      waiters.removeAll(woken);
    }
    woken.forEach(Poller.Waiter::wake);
  }

  @Override
  public void close() {
    synchronized (OPEN) {
      OPEN.set(number - FIRST, null);
    }
    synchronized (this) {
      isClosed = true;
      notifyAll();
    }
  }
}
