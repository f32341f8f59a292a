package dev.verbena.internal.io;

import dev.verbena.internal.foreign.Libc;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;

/** A file descriptor of Linux: poll(2) for a short time, {@link Poller} for a longer one. */
final class WatchedDescriptor implements Watched {
  private static final short POLLIN = 1;
  private static final short POLLNVAL = 0x20;
  private static final long REVENTS = 6;

  private final int descriptor;

  /**
   * The {@code struct pollfd}, shared by all threads: they poll for the same and use only poll's
   * result. Alive as long as a thread is inside.
   */
  private final MemorySegment pollfd = Arena.ofAuto().allocate(Long.BYTES, Long.BYTES);

  WatchedDescriptor(int descriptor) {
    this.descriptor = descriptor;
    pollfd.set(ValueLayout.JAVA_INT, 0, descriptor);
    pollfd.set(ValueLayout.JAVA_SHORT, Integer.BYTES, POLLIN);
  }

  @Override
  public boolean isReadable(int milliseconds) {
    try {
      boolean readable = Libc.poll(pollfd.address(), 1, milliseconds) > 0;
      if (readable && (pollfd.get(ValueLayout.JAVA_SHORT, REVENTS) & POLLNVAL) != 0) {
        throw new IllegalStateException("file descriptor " + descriptor + " is not open");
      }
      return readable;
    } finally {
      Reference.reachabilityFence(pollfd);
    }
  }

  @Override
  public Waiters waiters() {
    return new Polled(Poller.get(), descriptor);
  }

  private record Polled(Poller poller, int descriptor) implements Waiters {
    @Override
    public void add(Poller.Waiter waiter) {
      poller.add(descriptor, waiter);
    }

    @Override
    public void remove(Poller.Waiter waiter) {
      poller.remove(descriptor, waiter);
    }

    @Override
    public void close(Readiness wait) {
      poller.close(descriptor, wait);
    }
  }
}
