package dev.verbena.internal.io;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.ErrorConvention;
import dev.verbena.internal.NativeFunctions;
import dev.verbena.internal.foreign.Downcall;
import dev.verbena.internal.foreign.Libc;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** A counter with a file descriptor: an {@code eventfd(2)} with {@code EFD_SEMAPHORE}. */
final class LinuxEventFile extends EventFile {
  private static final int EFD_SEMAPHORE = 1;
  private static final int EFD_CLOEXEC = 0x80000;

  private static final MemorySegment READ = Libc.find("read");
  private static final MemorySegment WRITE = Libc.find("write");
  private static final MemorySegment ONE = Arena.global().allocateFrom(JAVA_LONG, 1);

  private final int descriptor;

  /** The errno of {@link #add}. */
  private final MemorySegment capture = Downcall.capture(Arena.ofAuto());

  private LinuxEventFile(int descriptor) {
    this.descriptor = descriptor;
  }

  static LinuxEventFile create() {
    return new LinuxEventFile(
        (int)
            NativeFunctions.call(
                Libc.find("eventfd"),
                "eventfd",
                ErrorConvention.MINUS_ONE,
                0,
                EFD_SEMAPHORE | EFD_CLOEXEC));
  }

  @Override
  public int descriptor() {
    return descriptor;
  }

  @Override
  public void add() {
    long size = Long.BYTES;
    if (Downcall.call(WRITE, capture, descriptor, ONE.address(), size, 0, 0, 0) != size) {
      throw new VerbsException("write", Downcall.errno(capture));
    }
  }

  @Override
  public int take() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment ofRead = Downcall.capture(arena);
      long count = arena.allocate(JAVA_LONG).address();
      int errno;
      do {
        long read = Downcall.call(READ, ofRead, descriptor, count, Long.BYTES, 0, 0, 0);
        errno = read < 0 ? Downcall.errno(ofRead) : 0;
      } while (errno == Errno.EINTR);
      return errno;
    }
  }

  @Override
  public void close() {
    Libc.closeQuietly(descriptor);
  }
}
