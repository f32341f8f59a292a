package dev.verbena.internal.io;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.ErrorConvention;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/**
 * A file descriptor with a counter: readable while the counter is positive; each read decrements it
 * (an {@code eventfd(2)} with {@code EFD_SEMAPHORE}). Software devices signal events on it.
 */
public final class EventFile implements AutoCloseable {
  private static final int EFD_SEMAPHORE = 1;
  private static final int EFD_CLOEXEC = 0x80000;

  private static final StructLayout CAPTURE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO =
      CAPTURE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
  private static final MethodHandle EVENTFD = handle("eventfd", JAVA_INT, JAVA_INT, JAVA_INT);
  private static final MethodHandle READ =
      handle("read", JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG);
  private static final MethodHandle WRITE =
      handle("write", JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG);
  private static final MethodHandle CLOSE = handle("close", JAVA_INT, JAVA_INT);

  private static final MemorySegment ONE = Arena.global().allocateFrom(JAVA_LONG, 1);

  private final int descriptor;

  /** The errno of {@link #add}. */
  private final MemorySegment capture = Arena.ofAuto().allocate(CAPTURE);

  private EventFile(int descriptor) {
    this.descriptor = descriptor;
  }

  private static MethodHandle handle(
      String function, MemoryLayout result, MemoryLayout... parameters) {
    return Linker.nativeLinker()
        .downcallHandle(
            Linker.nativeLinker().defaultLookup().find(function).orElseThrow(),
            FunctionDescriptor.of(result, parameters),
            Linker.Option.captureCallState("errno"));
  }

  /**
   * Opens a descriptor with the counter 0.
   *
   * @throws VerbsException EMFILE if this process has no more file descriptors
   */
  public static EventFile open() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = arena.allocate(CAPTURE);
      int descriptor = (int) EVENTFD.invokeExact(capture, 0, EFD_SEMAPHORE | EFD_CLOEXEC);
      if (descriptor < 0) {
        int errno = (int) ERRNO.get(capture, 0L);
        throw ErrorConvention.MINUS_ONE.failure("eventfd", descriptor, errno);
      }
      return new EventFile(descriptor);
    } catch (RuntimeException e) {
      throw e;
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }

  /** Returns the file descriptor. */
  public int descriptor() {
    return descriptor;
  }

  /** Increments the counter. Allocates nothing. */
  public void add() {
    try {
      long written =
          (long) WRITE.invokeExact(capture, descriptor, ONE.address(), (long) Long.BYTES);
      if (written != Long.BYTES) {
        throw new VerbsException("write", (int) ERRNO.get(capture, 0L));
      }
    } catch (RuntimeException e) {
      throw e;
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }

  /**
   * Decrements the counter; waits while it is 0, unless the descriptor is non-blocking.
   *
   * @return 0, or the errno: EAGAIN if the descriptor is non-blocking and the count is 0
   */
  public int take() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = arena.allocate(CAPTURE);
      MemorySegment count = arena.allocate(JAVA_LONG);
      long read;
      do {
        read = (long) READ.invokeExact(capture, descriptor, count.address(), (long) Long.BYTES);
      } while (read < 0 && (int) ERRNO.get(capture, 0L) == Errno.EINTR);
      return read < 0 ? (int) ERRNO.get(capture, 0L) : 0;
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }

  @Override
  public void close() {
    try (Arena arena = Arena.ofConfined()) {
      int _ = (int) CLOSE.invokeExact(arena.allocate(CAPTURE), descriptor);
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }
}
