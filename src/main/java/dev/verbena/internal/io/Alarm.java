package dev.verbena.internal.io;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.verbena.internal.foreign.Call;
import dev.verbena.internal.foreign.Libc;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A wait of one thread for file descriptors that become readable, for a time, or until another
 * thread rings ({@code ppoll(2)} and an {@code eventfd(2)}). Allocates nothing.
 */
public final class Alarm implements AutoCloseable {
  private static final short POLLIN = 1;
  private static final long POLLFD = 8;
  private static final long EVENTS = 4;
  private static final long REVENTS = 6;
  private static final long SECOND = 1_000_000_000L;

  private static final MemorySegment PPOLL = Libc.find("ppoll");
  private static final MemorySegment READ = Libc.find("read");
  private static final MemorySegment WRITE = Libc.find("write");
  private static final MemorySegment ONE = Arena.global().allocateFrom(JAVA_LONG, 1);

  private final EventFile file = EventFile.open();

  /** A {@code struct timespec}, and what is read from the eventfd. */
  private final MemorySegment timeout = Arena.ofAuto().allocate(JAVA_LONG, 3);

  private final MemorySegment bell = polled(new int[0]);
  private volatile MemorySegment polled = bell;
  private boolean closed;

  private MemorySegment polled(int[] descriptors) {
    MemorySegment all =
        Arena.ofAuto()
            .allocate(POLLFD * (descriptors.length + 1), ValueLayout.JAVA_LONG.byteSize());
    for (int i = 0; i <= descriptors.length; i++) {
      all.set(JAVA_INT, i * POLLFD, i == 0 ? file.descriptor() : descriptors[i - 1]);
      all.set(ValueLayout.JAVA_SHORT, i * POLLFD + EVENTS, POLLIN);
    }
    return all;
  }

  /** Sets the descriptors of the waits that begin from now on. */
  public void descriptors(int... descriptors) {
    polled = polled(descriptors);
  }

  /** Waits at most so many nanoseconds. */
  public void await(long nanos) {
    await(nanos, polled);
  }

  /** Waits at most so many nanoseconds, not for the descriptors. */
  public void awaitRing(long nanos) {
    await(nanos, bell);
  }

  private void await(long nanos, MemorySegment fds) {
    timeout.setAtIndex(JAVA_LONG, 0, nanos / SECOND);
    timeout.setAtIndex(JAVA_LONG, 1, nanos % SECOND);
    long address = timeout.address();
    long _ = Call.plain(PPOLL, fds.address(), fds.byteSize() / POLLFD, address, 0);
    if (fds.get(ValueLayout.JAVA_SHORT, REVENTS) != 0) {
      long _ = Call.plain(READ, file.descriptor(), address + 2 * Long.BYTES, Long.BYTES);
      fds.set(ValueLayout.JAVA_SHORT, REVENTS, (short) 0);
    }
  }

  /** Ends the wait of the other thread, or the next one. */
  public synchronized void ring() {
    if (closed) {
      return; // The number may be that of another file.
    }
    long _ = Call.plain(WRITE, file.descriptor(), ONE.address(), Long.BYTES);
  }

  @Override
  public synchronized void close() {
    closed = true;
    file.close();
  }
}
