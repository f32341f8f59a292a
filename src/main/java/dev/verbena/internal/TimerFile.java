package dev.verbena.internal;

import dev.verbena.VerbsException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** A file descriptor that is readable after a time: {@code timerfd_create(2)}. */
public final class TimerFile implements AutoCloseable {
  private static final int CLOCK_MONOTONIC = 1;
  private static final int TFD_CLOEXEC = 0x80000;
  private static final long NANOS = 1_000_000_000;

  private static final class Found {
    static final MemorySegment TIMERFD_SETTIME = Libc.find("timerfd_settime");
  }

  private final int descriptor;
  private final MemorySegment capture = Downcall.capture(Arena.ofAuto());
  // struct itimerspec: interval and first expiration, each as seconds and nanoseconds.
  private final MemorySegment time = Arena.ofAuto().allocate(4 * Long.BYTES, Long.BYTES);

  private TimerFile(int descriptor) {
    this.descriptor = descriptor;
  }

  /**
   * Opens a timer that is not set.
   *
   * @throws VerbsException EMFILE if the process has too many open files
   */
  public static TimerFile open() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = Downcall.capture(arena);
      MemorySegment function = Libc.find("timerfd_create");
      int descriptor = (int) Downcall.call(function, capture, CLOCK_MONOTONIC, TFD_CLOEXEC);
      if (descriptor < 0) {
        throw new VerbsException("timerfd_create", Downcall.errno(capture));
      }
      return new TimerFile(descriptor);
    }
  }

  /** Returns the file descriptor. */
  public int descriptor() {
    return descriptor;
  }

  /** Makes the descriptor readable after a time, and no longer readable until then. */
  public void set(long nanos) {
    long delay = Math.max(1, nanos); // 0 would disarm it.
    time.set(ValueLayout.JAVA_LONG, 2 * Long.BYTES, delay / NANOS);
    time.set(ValueLayout.JAVA_LONG, 3 * Long.BYTES, delay % NANOS);
    long result =
        Downcall.call(Found.TIMERFD_SETTIME, capture, descriptor, 0, time.address(), 0, 0, 0);
    if ((int) result != 0) {
      throw new VerbsException("timerfd_settime", Downcall.errno(capture));
    }
  }

  @Override
  public void close() {
    try (Arena arena = Arena.ofConfined()) {
      long unused = Downcall.call(Libc.find("close"), Downcall.capture(arena), descriptor);
      assert unused == 0;
    }
  }
}
