package dev.verbena.internal.io;

import dev.verbena.internal.foreign.Libc;

/**
 * A set of file descriptors that one thread waits for until some have events, for a time, or until
 * another thread wakes it. A virtual thread that waits releases its carrier.
 */
public abstract class EventSet implements AutoCloseable {
  /** The event of a descriptor that can be read: EPOLLIN. */
  public static final int READABLE = EpollEvents.READABLE;

  /** The event of a descriptor that can be written: EPOLLOUT. */
  public static final int WRITABLE = 4;

  /**
   * Opens an empty set.
   *
   * @throws dev.verbena.VerbsException EMFILE if the process has no more file descriptors
   */
  public static EventSet open() {
    return Libc.isPresent() ? EpollSet.create() : new JavaEventSet();
  }

  /**
   * Adds a descriptor.
   *
   * @param number what {@link #number} returns when it has an event; not negative
   * @param wanted {@link #READABLE}, {@link #WRITABLE} or both; errors are always events
   * @throws UnsupportedOperationException if it is not that of a software device, without Linux
   */
  public abstract void add(int descriptor, int number, int wanted);

  /** Changes the events of a descriptor that was added. */
  public abstract void change(int descriptor, int number, int wanted);

  /** Removes a descriptor, before it is closed. The kernel may have removed it with its file. */
  public abstract void remove(int descriptor);

  /**
   * Waits until a descriptor has an event, at most so many nanoseconds, until {@link #wake}, or for
   * an interrupt of a virtual thread.
   *
   * @param nanos {@link Long#MAX_VALUE} for no limit
   * @return the number of descriptors with events
   */
  public abstract int await(long nanos);

  /** Returns the number of a descriptor that had events after the last {@link #await}. */
  public abstract int number(int index);

  /** Returns the events of that descriptor: bits of epoll(7). */
  public abstract int events(int index);

  /** Ends the wait of the other thread, or the next one. */
  public abstract void wake();

  /** Closes the set when no thread uses it. */
  @Override
  public abstract void close();
}
