package dev.verbena.internal;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;

/**
 * An array of {@code struct pollfd} for {@code rpoll}: rsockets and ordinary descriptors. Used by
 * one thread at a time.
 *
 * <p>{@code rpoll} is called without a timeout only: before rdma-core 62.1, one that timed out left
 * a count of threads too high, after which each later {@code rpoll} of the process could loop
 * forever. A {@link TimerFile} in the array ends the wait instead.
 */
public final class Rpoll {
  /** Data can be received, or a connection accepted. */
  public static final int POLLIN = 1;

  /** Data can be sent, or a connection is established. */
  public static final int POLLOUT = 4;

  /** The rsocket failed. */
  public static final int POLLERR = 8;

  /** The peer closed the connection. */
  public static final int POLLHUP = 16;

  private static final long SIZE = 8;
  private static final long EVENTS = 4;
  private static final long REVENTS = 6;

  private static final class Found {
    static final MemorySegment RPOLL = RsocketCalls.find("rpoll");
  }

  private final MemorySegment capture = Downcall.capture(Arena.ofAuto());
  private MemorySegment fds;
  private int capacity;
  private int size;

  /** An empty array. */
  public Rpoll() {
    allocate(4);
  }

  private void allocate(int entries) {
    fds = Arena.ofAuto().allocate(entries * SIZE, SIZE);
    capacity = entries;
  }

  /** Removes all entries. */
  public void clear() {
    size = 0;
  }

  /** Appends a descriptor with the events to wait for; returns its index. */
  public int add(int descriptor, int events) {
    if (size == capacity) {
      MemorySegment old = fds;
      allocate(2 * capacity);
      MemorySegment.copy(old, 0, fds, 0, old.byteSize());
    }
    fds.set(ValueLayout.JAVA_INT, size * SIZE, descriptor);
    fds.set(ValueLayout.JAVA_SHORT, size * SIZE + EVENTS, (short) events);
    fds.set(ValueLayout.JAVA_SHORT, size * SIZE + REVENTS, (short) 0);
    return size++;
  }

  /** Returns the events of an entry. */
  public int events(int index) {
    return fds.get(ValueLayout.JAVA_SHORT, index * SIZE + REVENTS);
  }

  /** Determines the events without waiting. */
  public void now() {
    rpoll(0);
  }

  /** Waits until an entry has an event. */
  public void await() {
    rpoll(-1);
  }

  private void rpoll(int milliseconds) {
    try {
      int result;
      do {
        result =
            (int) Downcall.call(Found.RPOLL, capture, fds.address(), size, milliseconds, 0, 0, 0);
      } while (result < 0 && Downcall.errno(capture) == Errno.EINTR);
      if (result < 0) {
        throw new VerbsException("rpoll", Downcall.errno(capture));
      }
    } finally {
      Reference.reachabilityFence(fds);
    }
  }
}
