package dev.verbena.internal.io;

import dev.verbena.internal.foreign.Libc;

/**
 * A counter on which software devices signal events: readable while it is positive; each read
 * decrements it. On Linux it has a file descriptor, that of an {@code eventfd(2)} with {@code
 * EFD_SEMAPHORE}; elsewhere it is one of the JVM, and its number is known to this library alone.
 */
public abstract class EventFile implements AutoCloseable {
  /**
   * Opens a file with the counter 0.
   *
   * @throws dev.verbena.VerbsException EMFILE if this process has no more file descriptors
   */
  public static EventFile open() {
    return Libc.isPresent() ? LinuxEventFile.create() : new JavaEventFile();
  }

  /** Returns the file descriptor, or the number. */
  public abstract int descriptor();

  /** Increments the counter. Allocates nothing, unless a thread waits in the JVM. */
  public abstract void add();

  /**
   * Decrements the counter; waits while it is 0, unless the file is non-blocking.
   *
   * @return 0, or the errno: EAGAIN if the file is non-blocking and the count is 0
   */
  public abstract int take();

  @Override
  public abstract void close();
}
