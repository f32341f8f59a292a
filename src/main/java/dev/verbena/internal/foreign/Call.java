package dev.verbena.internal.foreign;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;

/**
 * Calls through a function pointer: one method for each list of argument types, none of which
 * allocates.
 *
 * <p>The first letter of a name is the result type: {@code v} void, {@code i} int, {@code l} long,
 * {@code s} short, {@code b} byte. Pointers are {@code long}: a segment of a shared arena would
 * cost two atomic operations. Only memory of the caller, whose arena may be closed meanwhile, is a
 * segment. Methods with the suffix {@code Critical} make critical calls: faster, but the callee
 * must not block, enter the kernel, or call back into Java.
 */
public final class Call {
  private Call() {}

  private static MethodHandle plain(int arguments) {
    return Linker.nativeLinker().downcallHandle(descriptor(arguments));
  }

  private static MethodHandle critical(int arguments) {
    return Linker.nativeLinker()
        .downcallHandle(descriptor(arguments), Linker.Option.critical(false));
  }

  private static FunctionDescriptor descriptor(int arguments) {
    MemoryLayout[] registers = new MemoryLayout[arguments];
    Arrays.fill(registers, JAVA_LONG);
    return FunctionDescriptor.of(JAVA_LONG, registers);
  }

  /** The stack or the heap may be full; a downcall throws no exception of its own. */
  public static AssertionError impossible(Throwable t) {
    if (t instanceof Error e) {
      throw e;
    }
    return new AssertionError("a downcall throws no exception", t);
  }

  private static final class Plain1 {
    static final MethodHandle HANDLE = plain(1);
  }

  public static long plain(MemorySegment f, long a) {
    try {
      return (long) Plain1.HANDLE.invokeExact(f, a);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  private static final class Plain2 {
    static final MethodHandle HANDLE = plain(2);
  }

  public static long plain(MemorySegment f, long a, long b) {
    try {
      return (long) Plain2.HANDLE.invokeExact(f, a, b);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  private static final class Plain3 {
    static final MethodHandle HANDLE = plain(3);
  }

  public static long plain(MemorySegment f, long a, long b, long c) {
    try {
      return (long) Plain3.HANDLE.invokeExact(f, a, b, c);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  private static final class Plain4 {
    static final MethodHandle HANDLE = plain(4);
  }

  public static long plain(MemorySegment f, long a, long b, long c, long d) {
    try {
      return (long) Plain4.HANDLE.invokeExact(f, a, b, c, d);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  private static final class Plain5 {
    static final MethodHandle HANDLE = plain(5);
  }

  public static long plain(MemorySegment f, long a, long b, long c, long d, long e) {
    try {
      return (long) Plain5.HANDLE.invokeExact(f, a, b, c, d, e);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  private static final class Plain6 {
    static final MethodHandle HANDLE = plain(6);
  }

  public static long plain(MemorySegment f, long a, long b, long c, long d, long e, long g) {
    try {
      return (long) Plain6.HANDLE.invokeExact(f, a, b, c, d, e, g);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  private static final class Segment3 {
    static final MethodHandle HANDLE = segment(JAVA_LONG, ADDRESS, JAVA_LONG);
  }

  private static final class Segment4 {
    static final MethodHandle HANDLE = segment(JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG);
  }

  private static MethodHandle segment(MemoryLayout... arguments) {
    return Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(JAVA_LONG, arguments));
  }

  public static long plain(MemorySegment f, long a, MemorySegment b, long c) {
    try {
      return (long) Segment3.HANDLE.invokeExact(f, a, b, c);
    } catch (RuntimeException e) {
      throw e; // The segment's arena was closed meanwhile.
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  public static long plain(MemorySegment f, long a, MemorySegment b, long c, long d) {
    try {
      return (long) Segment4.HANDLE.invokeExact(f, a, b, c, d);
    } catch (RuntimeException e) {
      throw e; // The segment's arena was closed meanwhile.
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  private static final class Critical1 {
    static final MethodHandle HANDLE = critical(1);
  }

  public static long critical(MemorySegment f, long a) {
    try {
      return (long) Critical1.HANDLE.invokeExact(f, a);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  private static final class Critical3 {
    static final MethodHandle HANDLE = critical(3);
  }

  public static long critical(MemorySegment f, long a, long b, long c) {
    try {
      return (long) Critical3.HANDLE.invokeExact(f, a, b, c);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  private static final class Critical2 {
    static final MethodHandle HANDLE = critical(2);
  }

  public static long critical(MemorySegment f, long a, long b) {
    try {
      return (long) Critical2.HANDLE.invokeExact(f, a, b);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  private static final class Critical4 {
    static final MethodHandle HANDLE = critical(4);
  }

  public static long critical(MemorySegment f, long a, long b, long c, long d) {
    try {
      return (long) Critical4.HANDLE.invokeExact(f, a, b, c, d);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }
}
