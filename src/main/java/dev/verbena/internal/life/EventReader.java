package dev.verbena.internal.life;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.io.Readiness;
import dev.verbena.internal.jfr.FlightEvents;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * A file descriptor that a C function reads events from. Several threads may read; each event is
 * returned to one of them. A wait ends when the owner is closed.
 *
 * <p>The C functions block and cannot be interrupted, and a descriptor that was readable may no
 * longer be: the kernel removes the events of an object that is destroyed, and C code or another
 * instance may read too. So the descriptor is set to non-blocking mode before the first event is
 * read.
 */
public final class EventReader<E> {
  private final Core owner;
  private final int descriptor;
  private final Supplier<E> reader;
  private final ScopedLock lock = new ScopedLock();
  private Readiness wait;

  /**
   * Creates a reader of the events of a descriptor.
   *
   * @param owner must be open while events are read
   * @param reader reads one event; returns null if it is to be ignored
   */
  public EventReader(Core owner, int descriptor, Supplier<E> reader) {
    this.owner = owner;
    this.descriptor = descriptor;
    this.reader = reader;
  }

  /** Returns the next event without waiting, or null. */
  public E poll() {
    try (var _ = lock.hold()) {
      Readiness file = readiness();
      E event = null;
      while (event == null && file.isReadable()) {
        event = read();
      }
      return event;
    }
  }

  /** Returns the next event; null if it is to be ignored, or if there is none any more. */
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

  /** Waits for an event with a timeout; returns null if it elapsed. */
  public E poll(Duration timeout) throws InterruptedException {
    return await(TimeUnit.NANOSECONDS.convert(timeout));
  }

  /** Waits for an event. */
  public E take() throws InterruptedException {
    return await(Long.MAX_VALUE);
  }

  private E await(long nanos) throws InterruptedException {
    long start = Time.now();
    E event = poll();
    if (event != null) {
      return event;
    }
    Object begun = FlightEvents.beginWait();
    try {
      for (long left = nanos; event == null && left > 0; ) {
        awaitReadable(owner, left);
        event = poll();
        left = nanos == Long.MAX_VALUE ? nanos : nanos - (Time.now() - start);
      }
      return event;
    } finally {
      FlightEvents.endWait(begun, owner, event != null);
    }
  }

  /**
   * Runs an action once, in a thread of its own, when an event can probably be read; never if the
   * owner is closed before.
   */
  public void whenReadable(Runnable action) {
    try (var _ = lock.hold()) {
      readiness().whenReadable(action);
    }
  }

  /**
   * Waits until an event can probably be read, the time is over, or {@link #stop} ends the wait.
   *
   * @param concerned must be open, besides the owner
   */
  public void awaitReadable(Core concerned, long nanos) throws InterruptedException {
    Readiness file;
    try (var _ = lock.hold()) {
      file = readiness();
      concerned.requireNotClosing(); // Or its stop may have been before this wait.
    }
    file.await(nanos);
  }

  private Readiness readiness() {
    owner.requireOpen();
    if (wait == null) {
      Readiness.setNonBlocking(descriptor);
      wait = Readiness.of(descriptor, owner.toString());
    }
    return wait;
  }

  /**
   * Ends the waits of all threads; called when closing of the owner, or of another object, begins.
   */
  public void stop() {
    try (var _ = lock.hold()) {
      if (wait != null) {
        wait.close();
        wait = null; // Created again for the next wait.
      }
    }
  }
}
