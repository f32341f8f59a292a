package dev.verbena.internal.io;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Libc;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;

/**
 * A set of file descriptors of Linux ({@code epoll(7)} and an {@code eventfd(2)}). Waiting costs
 * what has events, whatever the size of the set.
 */
final class EpollSet extends EventSet {
  /** The number that {@link #number} returns for the descriptor that wakes. */
  private static final int WAKE = -1;

  private static final int CAPACITY = 256;

  private final int epoll;
  private final EventFile file;
  private final Readiness readiness;
  private final MemorySegment events =
      Arena.ofAuto().allocate(CAPACITY * EpollEvents.SIZE, Long.BYTES);
  private int count;

  private EpollSet(int epoll, EventFile file) {
    this.epoll = epoll;
    this.file = file;
    this.readiness = Readiness.of(epoll);
  }

  static EpollSet create() {
    int epoll = Libc.epoll_create1();
    EventFile file = null;
    try {
      file = EventFile.open();
      Libc.setNonBlocking(file.descriptor());
      EpollSet set = new EpollSet(epoll, file);
      set.add(file.descriptor(), WAKE, READABLE);
      return set;
    } catch (Throwable t) {
      if (file != null) {
        file.close();
      }
      Libc.closeQuietly(epoll);
      throw t;
    }
  }

  @Override
  public void add(int descriptor, int number, int wanted) {
    control(Libc.EPOLL_CTL_ADD, descriptor, number, wanted);
  }

  @Override
  public void change(int descriptor, int number, int wanted) {
    control(Libc.EPOLL_CTL_MOD, descriptor, number, wanted);
  }

  private void control(int operation, int descriptor, int number, int wanted) {
    int errno = EpollEvents.control(epoll, operation, descriptor, number, wanted);
    if (errno != 0) {
      throw new VerbsException("epoll_ctl", errno, "file descriptor " + descriptor);
    }
  }

  @Override
  public void remove(int descriptor) {
    int errno = Libc.epoll_ctl(epoll, Libc.EPOLL_CTL_DEL, descriptor, 0);
    if (errno != 0 && errno != Errno.ENOENT) {
      throw new VerbsException("epoll_ctl", errno, "file descriptor " + descriptor);
    }
  }

  @Override
  public int await(long nanos) {
    if (nanos > 0 && Thread.currentThread().isVirtual()) {
      try {
        boolean _ = readiness.await(nanos);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      return now(0);
    }
    return now(millis(nanos));
  }

  private static int millis(long nanos) {
    if (nanos == Long.MAX_VALUE) {
      return -1;
    }
    long unit = TimeUnit.MILLISECONDS.toNanos(1);
    return (int) Math.min(Integer.MAX_VALUE, Math.ceilDiv(Math.max(0, nanos), unit));
  }

  private int now(int millis) {
    int all = Libc.epoll_wait(epoll, events.address(), CAPACITY, millis);
    count = 0;
    for (int i = 0; i < all; i++) {
      int number = EpollEvents.number(events, i);
      if (number == WAKE) {
        takeWakes();
      } else {
        EpollEvents.copy(events, i, count++);
      }
    }
    return count;
  }

  private void takeWakes() {
    int errno = 0;
    while (errno == 0) {
      errno = file.take();
    }
    if (errno != Errno.EAGAIN) {
      throw new VerbsException("read", errno, "eventfd");
    }
  }

  @Override
  public int number(int index) {
    return EpollEvents.number(events, index);
  }

  @Override
  public int events(int index) {
    return EpollEvents.events(events, index);
  }

  @Override
  public void wake() {
    file.add();
  }

  @Override
  public void close() {
    readiness.close();
    file.close();
    Libc.closeQuietly(epoll);
  }
}
