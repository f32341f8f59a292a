package dev.verbena.verbs;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.time.Duration;

/** Waits until something can be read from a file descriptor. */
final class FileWait {
  private static final short POLLIN = 1;
  private static final long INTERVAL = 1_000_000;

  private final int descriptor;
  private volatile boolean closed;

  private FileWait(int descriptor) {
    this.descriptor = descriptor;
  }

  /** Linked when something waits for the first time. */
  private static final class Poll {
    static final MethodHandle HANDLE =
        Linker.nativeLinker()
            .downcallHandle(
                Linker.nativeLinker().defaultLookup().find("poll").orElseThrow(),
                FunctionDescriptor.of(
                    ValueLayout.JAVA_INT,
                    ValueLayout.ADDRESS,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_INT));
  }

  static FileWait on(int descriptor) {
    return new FileWait(descriptor);
  }

  /** Whether something can be read now. */
  boolean isReadable() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pollfd = arena.allocate(ValueLayout.JAVA_LONG);
      pollfd.set(ValueLayout.JAVA_INT, 0, descriptor);
      pollfd.set(ValueLayout.JAVA_SHORT, 4, POLLIN);
      return (int) Poll.HANDLE.invokeExact(pollfd, 1L, 0) > 0;
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }

  /**
   * Waits until something can be read, the time is over or this is closed.
   *
   * @param timeout how long at most; null for ever
   */
  void await(Duration timeout) throws InterruptedException {
    long start = System.nanoTime();
    while (!closed
        && !isReadable()
        && (timeout == null || System.nanoTime() - start < timeout.toNanos())) {
      Thread.sleep(0, (int) (INTERVAL - 1));
    }
  }

  /** Makes everybody leave {@link #await}, now and from now on. */
  void close() {
    closed = true;
  }
}
