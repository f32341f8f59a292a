package dev.verbena.internal.io;

import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Libc;

/** A file that a {@link Readiness} waits for: a descriptor of Linux, or one of the JVM. */
interface Watched {
  static Watched of(int descriptor) {
    return Libc.isPresent() ? new WatchedDescriptor(descriptor) : JavaEventFile.of(descriptor);
  }

  /**
   * Returns whether the file is readable, or becomes so while this may wait so long in a system
   * call.
   *
   * @throws IllegalStateException if the file is not open
   */
  boolean isReadable(int milliseconds);

  /**
   * Returns those that wait for the file.
   *
   * @throws VerbsException EMFILE, ENFILE or ENOMEM if nothing can wait for a descriptor
   */
  Waiters waiters();

  /** Those that wait for a file. */
  interface Waiters {
    /** Wakes a waiter once when the file is readable, immediately if it is. */
    void add(Poller.Waiter waiter);

    /** Removes a waiter that does not wait any more. */
    void remove(Poller.Waiter waiter);

    /** Wakes all waiters of one object. */
    void close(Readiness wait);
  }
}
