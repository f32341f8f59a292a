package dev.verbena.sockets;

import dev.verbena.internal.EventFile;
import dev.verbena.internal.Rpoll;
import dev.verbena.internal.ServiceLoop;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A thread that waits in {@code rpoll} for all threads that read, write, connect or accept on
 * blocking channels. They park meanwhile: a virtual thread releases its carrier.
 *
 * <p>They do not call {@code rpoll} themselves, since a virtual thread in C does not release its
 * carrier, and each thread that leaves {@code rpoll} makes all others of the process examine their
 * rsockets again ({@code rs_poll_stop}).
 */
final class SharedPoll {
  /** A thread that waits for events of an rsocket. */
  private static final class Waiter {
    final Rsocket rsocket;
    final int events;
    final Thread thread = Thread.currentThread();
    volatile boolean isWoken;

    Waiter(Rsocket rsocket, int events) {
      this.rsocket = rsocket;
      this.events = events;
    }

    void wake() {
      isWoken = true;
      LockSupport.unpark(thread);
    }
  }

  private static SharedPoll instance;

  private final EventFile interrupt;
  private final AtomicBoolean isInterrupted = new AtomicBoolean();
  private final ReentrantLock lock = new ReentrantLock();

  /** Guarded by the lock. */
  private final List<Waiter> waiters = new ArrayList<>();

  /** Of the thread. */
  private final Rpoll rpoll = new Rpoll();

  private final List<Waiter> polled = new ArrayList<>();

  private SharedPoll(EventFile interrupt) {
    this.interrupt = interrupt;
  }

  /** Returns the instance, whose thread is started at the first wait. */
  static synchronized SharedPoll get() throws IOException {
    if (instance == null) {
      SharedPoll started = new SharedPoll(Failures.or(EventFile::open));
      Thread.ofPlatform()
          .daemon()
          .name("verbena-rpoll")
          .start(() -> ServiceLoop.run(started::step, started::wakeAll));
      instance = started;
    }
    return instance;
  }

  /**
   * Waits until an rsocket has one of the events. May return earlier, in particular when the
   * rsocket is closed.
   */
  void await(Rsocket rsocket, int events, long nanos) {
    Waiter waiter = new Waiter(rsocket, events);
    long start = System.nanoTime();
    lock.lock();
    try {
      waiters.add(waiter);
    } finally {
      lock.unlock();
    }
    interrupt();
    // An interrupt closes the channel, which wakes the waiter; until then park returns at once.
    boolean wasInterrupted = false;
    while (!waiter.isWoken) {
      long left = nanos == Rsocket.FOREVER ? nanos : nanos - (System.nanoTime() - start);
      if (left <= 0) {
        break;
      }
      LockSupport.parkNanos(this, left);
      wasInterrupted |= Thread.interrupted();
    }
    if (wasInterrupted) {
      Thread.currentThread().interrupt();
    }
    lock.lock();
    try {
      waiters.remove(waiter);
    } finally {
      lock.unlock();
    }
  }

  /** Wakes the threads that wait for an rsocket. */
  void wake(Rsocket rsocket) {
    lock.lock();
    try {
      for (Waiter waiter : waiters) {
        if (waiter.rsocket == rsocket) {
          waiter.wake();
        }
      }
      waiters.removeIf(waiter -> waiter.isWoken);
    } finally {
      lock.unlock();
    }
    interrupt();
  }

  /** Makes the thread examine all waiters again. */
  private void interrupt() {
    if (isInterrupted.compareAndSet(false, true)) {
      interrupt.add();
    }
  }

  private void step() {
    try {
      prepare();
      rpoll.await();
      wakeReady();
      if (rpoll.events(0) != 0) {
        int _ = interrupt.take();
        isInterrupted.set(false);
      }
    } finally {
      for (Waiter waiter : polled) {
        waiter.rsocket.leavePoll();
      }
      polled.clear();
    }
  }

  private void wakeAll() {
    lock.lock();
    try {
      waiters.forEach(Waiter::wake); // They fail, or wait again.
      waiters.clear();
    } finally {
      lock.unlock();
    }
  }

  private void prepare() {
    rpoll.clear();
    rpoll.add(interrupt.descriptor(), Rpoll.POLLIN);
    // Rsockets are locked before this, not after it.
    List<Waiter> all;
    lock.lock();
    try {
      all = List.copyOf(waiters);
    } finally {
      lock.unlock();
    }
    for (Waiter waiter : all) {
      if (waiter.rsocket.tryEnterPoll()) {
        polled.add(waiter);
        rpoll.add(waiter.rsocket.descriptor(), waiter.events);
      } else {
        waiter.wake();
      }
    }
  }

  private void wakeReady() {
    lock.lock();
    try {
      for (int i = 0; i < polled.size(); i++) {
        if (rpoll.events(i + 1) != 0) {
          polled.get(i).wake();
        }
      }
      waiters.removeIf(waiter -> waiter.isWoken);
    } finally {
      lock.unlock();
    }
  }
}
