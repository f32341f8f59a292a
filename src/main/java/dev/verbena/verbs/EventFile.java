package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Readiness;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * A file descriptor that C reads events from: any number of threads take them, each event goes to
 * one, and whoever waits leaves when the owner is closed.
 *
 * <p>C's reading functions block, which no interrupt ends, and a descriptor that was readable need
 * not stay so: the kernel drops the events of an object that is destroyed, and C code or a second
 * instance may read too. So the descriptor is made non-blocking before the first event is taken.
 */
final class EventFile<E> {
  private final Resource owner;
  private final int descriptor;
  private final Supplier<E> reader;
  private final ReentrantLock lock = new ReentrantLock();
  private Readiness wait;

  /**
   * Events of a descriptor.
   *
   * @param owner must be open for events to be taken
   * @param reader reads one event; null if it is of no interest to anybody
   */
  EventFile(Resource owner, int descriptor, Supplier<E> reader) {
    this.owner = owner;
    this.descriptor = descriptor;
    this.reader = reader;
  }

  /** Takes an event that is there, or null. */
  E poll() {
    lock.lock();
    try {
      Readiness file = readiness();
      E event = null;
      while (event == null && file.isReadable()) {
        event = read();
      }
      return event;
    } finally {
      lock.unlock();
    }
  }

  /** The next event; null if nobody wants to know of it, or if it is gone again. */
  private E read() {
    try {
      return reader.get();
    } catch (VerbsException e) {
      if (e.errno() == Errno.EAGAIN) {
        return null;
      }
      throw e;
    }
  }

  /** Takes an event, waiting a while for it; null if none comes. */
  E poll(Duration timeout) throws InterruptedException {
    long start = System.nanoTime();
    E event = poll();
    for (Duration left = timeout; event == null && left.isPositive(); ) {
      awaitReadable(TimeUnit.NANOSECONDS.convert(left));
      event = poll();
      left = timeout.minusNanos(System.nanoTime() - start);
    }
    return event;
  }

  /** Takes an event, waiting for it as long as it takes. */
  E take() throws InterruptedException {
    E event = poll();
    while (event == null) {
      awaitReadable(Long.MAX_VALUE);
      event = poll();
    }
    return event;
  }

  private void awaitReadable(long nanos) throws InterruptedException {
    Readiness file;
    lock.lock();
    try {
      file = readiness();
    } finally {
      lock.unlock();
    }
    file.await(nanos);
  }

  private Readiness readiness() {
    owner.requireOpen();
    if (wait == null) {
      Readiness.setNonBlocking(descriptor);
      wait = Readiness.of(descriptor);
    }
    return wait;
  }

  /** Makes everybody leave; to be called when the owner has begun to close. */
  void stop() {
    lock.lock();
    try {
      if (wait != null) {
        wait.close();
        wait = null; // Made anew if closing fails.
      }
    } finally {
      lock.unlock();
    }
  }
}
