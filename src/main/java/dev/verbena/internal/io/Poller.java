package dev.verbena.internal.io;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Libc;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Simulated;
import dev.verbena.internal.time.Time;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A thread that waits in epoll_wait(2) for all threads that are parked until a descriptor is
 * readable, and for actions that run then. A waiting virtual thread releases its carrier, and
 * interrupts reach every thread.
 */
final class Poller implements Simulated.Source {
  private static final int EPOLLONESHOT = 1 << 30;
  private static final int CAPACITY = 64;

  /** A thread or an action that waits until a descriptor is readable, or its wait is closed. */
  abstract static class Waiter {
    private final @Nullable Readiness wait;

    Waiter(@Nullable Readiness wait) {
      this.wait = wait;
    }

    boolean isOf(Readiness readiness) {
      return wait == readiness;
    }

    /** Ends the wait; called once at most. */
    abstract void wake();
  }

  /** A thread that is parked, or about to park. */
  static final class Parked extends Waiter {
    private final Thread thread = Thread.currentThread();
    private volatile boolean woken;

    Parked(Readiness wait) {
      super(wait);
    }

    boolean isWoken() {
      return woken;
    }

    @Override
    void wake() {
      woken = true;
      LockSupport.unpark(thread);
    }
  }

  private static Poller instance;

  /** Those of simulations, which look themselves. */
  private static final Map<Simulated, Poller> SIMULATED = new ConcurrentHashMap<>();

  private final int epoll;
  private final MemorySegment events =
      Arena.global().allocate(CAPACITY * EpollEvents.SIZE, Long.BYTES);
  private final ScopedLock lock = new ScopedLock();
  private final Map<Integer, List<Waiter>> waiters = new HashMap<>();

  private Poller(int epoll) {
    this.epoll = epoll;
  }

  /** Returns the poller, started at the first wait. */
  static synchronized Poller get() {
    Simulated simulation = Time.simulation();
    if (simulation != null) {
      return SIMULATED.computeIfAbsent(simulation, Poller::of);
    }
    if (instance == null) {
      Poller poller = new Poller(Libc.epoll_create1());
      Thread.ofPlatform()
          .daemon()
          .name("verbena-poller")
          .start(() -> ServiceLoop.run(() -> poller.step(-1), poller::wakeEverybody));
      instance = poller;
    }
    return instance;
  }

  private static Poller of(Simulated simulation) {
    Poller poller = new Poller(Libc.epoll_create1());
    simulation.whenIdle(poller);
    return poller;
  }

  @Override
  public void look() {
    step(0);
  }

  @Override
  public synchronized void close() {
    SIMULATED.values().remove(this);
    Libc.closeQuietly(epoll);
  }

  private void step(int milliseconds) {
    int count = Libc.epoll_wait(epoll, events.address(), CAPACITY, milliseconds);
    for (int i = 0; i < count; i++) {
      wakeAll(EpollEvents.number(events, i));
    }
  }

  /** Wakes all waiters after a failure, which may have lost reports. */
  private void wakeEverybody() {
    List<Integer> descriptors;
    try (var _ = lock.hold()) {
      descriptors = List.copyOf(waiters.keySet());
    }
    descriptors.forEach(this::wakeAll);
  }

  /**
   * Wakes all waiters of a readable descriptor, which is reported once: those that find no data
   * wait again.
   */
  private void wakeAll(int descriptor) {
    List<Waiter> all;
    try (var _ = lock.hold()) {
      all = waiters.remove(descriptor);
    }
    if (all != null) {
      for (Waiter waiter : all) {
        boolean _ = ServiceLoop.attempt(waiter::wake); // It may start a thread, which can fail.
      }
    }
  }

  /** Registers a waiter to be woken when the descriptor is readable, immediately if it is. */
  void add(int descriptor, Waiter waiter) {
    lock.lock();
    try {
      waiters.computeIfAbsent(descriptor, d -> new ArrayList<>(1)).add(waiter);
      arm(descriptor);
    } catch (VerbsException e) {
      removeLocked(descriptor, waiter);
      throw e;
    } finally {
      lock.unlock();
    }
  }

  /** Removes a waiter that does not wait any more. */
  void remove(int descriptor, Waiter waiter) {
    try (var _ = lock.hold()) {
      removeLocked(descriptor, waiter);
    }
  }

  private void removeLocked(int descriptor, Waiter waiter) {
    List<Waiter> all = waiters.get(descriptor);
    if (all != null && all.remove(waiter) && all.isEmpty()) {
      waiters.remove(descriptor);
    }
  }

  /** Wakes all waiters of one object, and removes the descriptor if it has no other waiters. */
  void close(int descriptor, Readiness wait) {
    List<Waiter> woken = List.of();
    try (var _ = lock.hold()) {
      List<Waiter> all = waiters.get(descriptor);
      if (all != null) {
        woken = all.stream().filter(waiter -> waiter.isOf(wait)).toList();
        all.removeAll(woken);
      }
      if (all == null || all.isEmpty()) {
        waiters.remove(descriptor);
        // It may not have been added, or may be closed already; both are fine.
        Libc.epoll_ctl(epoll, Libc.EPOLL_CTL_DEL, descriptor, 0);
      }
    }
    woken.forEach(Waiter::wake);
  }

  /**
   * Arms the descriptor for one report. The kernel's registration of the number may be that of an
   * earlier file.
   */
  private void arm(int descriptor) {
    int wanted = EpollEvents.READABLE | EPOLLONESHOT;
    int errno = EpollEvents.control(epoll, Libc.EPOLL_CTL_MOD, descriptor, descriptor, wanted);
    if (errno == Errno.ENOENT) {
      errno = EpollEvents.control(epoll, Libc.EPOLL_CTL_ADD, descriptor, descriptor, wanted);
    }
    if (errno != 0) {
      throw new VerbsException("epoll_ctl", errno, "file descriptor " + descriptor);
    }
  }
}
