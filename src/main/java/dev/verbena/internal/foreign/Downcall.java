package dev.verbena.internal.foreign;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

/**
 * Calls a C function and keeps the errno that it left: for control calls.
 *
 * <p>One method handle serves all functions, since linking one costs milliseconds of start-up time:
 * it fills all six argument registers of x86-64 with 64 bits each. A function reads those of its
 * parameters, and of each the part that its type has; so do variadic functions, on x86-64 and on
 * aarch64.
 */
public final class Downcall {
  private static final int REGISTERS = 6;

  private static final StructLayout CAPTURE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO =
      CAPTURE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
  private static final MethodHandle HANDLE =
      Linker.nativeLinker()
          .downcallHandle(
              FunctionDescriptor.of(
                  JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
              Linker.Option.captureCallState("errno"));

  /** Whether all functions that are called are those of Java: no C function is one of Linux. */
  private static final boolean IS_JAVA = Platform.current().unsupportedReason() != null;

  /** The errno of a function of Java in a thread, without Linux, whose C library has another. */
  private static final ThreadLocal<int[]> LEFT = ThreadLocal.withInitial(() -> new int[1]);

  private Downcall() {}

  /** Leaves an errno for the caller of the function that returns next. */
  static void leave(int errno) {
    LEFT.get()[0] = errno;
  }

  /** Allocates memory for errno. */
  public static MemorySegment capture(Arena arena) {
    return arena.allocate(CAPTURE);
  }

  /** Returns the errno that a call left. */
  public static int errno(MemorySegment capture) {
    return (int) ERRNO.get(capture, 0L);
  }

  /**
   * Calls a function of at most six integers and pointers; a result that is narrower than 64 bits
   * must be cast to its type.
   */
  public static long call(MemorySegment function, MemorySegment capture, long... arguments) {
    long[] r = Arrays.copyOf(arguments, REGISTERS);
    return call(function, capture, r[0], r[1], r[2], r[3], r[4], r[5]);
  }

  /** Calls a function with all argument registers. */
  public static long call(
      MemorySegment function,
      MemorySegment capture,
      long a,
      long b,
      long c,
      long d,
      long e,
      long f) {
    try {
      long result = (long) HANDLE.invokeExact(function, capture, a, b, c, d, e, f);
      if (IS_JAVA) {
        ERRNO.set(capture, 0L, LEFT.get()[0]);
      }
      return result;
    } catch (Throwable t) {
      throw Call.impossible(t);
    }
  }
}
