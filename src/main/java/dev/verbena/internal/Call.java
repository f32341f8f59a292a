package dev.verbena.internal;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * Calls through a function pointer, one method for each shape of arguments, none of which
 * allocates.
 *
 * <p>The first letter is the result: {@code v} nothing, {@code i} int, {@code l} long, {@code s}
 * short, {@code b} byte. Pointers are {@code long}: passing a segment of a shared arena costs two
 * atomic operations. Only memory of the caller, which may be freed meanwhile, is a segment. The
 * forms that end in {@code Critical} do not tell the JVM that the thread is in C: quicker, but the
 * callee must not block, nor enter the kernel, nor call back into Java.
 */
final class Call {
  private static final MethodHandle V_L = plain(null, JAVA_LONG);
  private static final MethodHandle V_LI = plain(null, JAVA_LONG, JAVA_INT);
  private static final MethodHandle V_LIL = plain(null, JAVA_LONG, JAVA_INT, JAVA_LONG);
  private static final MethodHandle V_LILI = plain(null, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT);
  private static final MethodHandle V_LILL = plain(null, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG);
  private static final MethodHandle V_LILLL =
      plain(null, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
  private static final MethodHandle V_LILLBB =
      plain(null, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_BYTE, JAVA_BYTE);
  private static final MethodHandle V_LLIL = plain(null, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG);
  private static final MethodHandle V_LASS =
      plain(null, JAVA_LONG, ADDRESS, JAVA_SHORT, JAVA_SHORT);
  private static final MethodHandle V_LAL = plain(null, JAVA_LONG, ADDRESS, JAVA_LONG);
  private static final MethodHandle V_LLL = plain(null, JAVA_LONG, JAVA_LONG, JAVA_LONG);
  private static final MethodHandle V_LLII = plain(null, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT);
  private static final MethodHandle V_LL = plain(null, JAVA_LONG, JAVA_LONG);
  private static final MethodHandle I_L = plain(JAVA_INT, JAVA_LONG);
  private static final MethodHandle I_LI = plain(JAVA_INT, JAVA_LONG, JAVA_INT);
  private static final MethodHandle I_LL = plain(JAVA_INT, JAVA_LONG, JAVA_LONG);
  private static final MethodHandle I_LIL = plain(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG);
  private static final MethodHandle I_LLL = plain(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
  private static final MethodHandle I_LLLL =
      plain(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
  private static final MethodHandle L_L = plain(JAVA_LONG, JAVA_LONG);
  private static final MethodHandle S_L = plain(JAVA_SHORT, JAVA_LONG);
  private static final MethodHandle B_L = plain(JAVA_BYTE, JAVA_LONG);
  private static final MethodHandle I_L_CRITICAL = critical(JAVA_INT, JAVA_LONG);
  private static final MethodHandle I_LI_CRITICAL = critical(JAVA_INT, JAVA_LONG, JAVA_INT);
  private static final MethodHandle I_LIL_CRITICAL =
      critical(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG);
  private static final MethodHandle I_LLL_CRITICAL =
      critical(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
  private static final MethodHandle L_L_CRITICAL = critical(JAVA_LONG, JAVA_LONG);
  private static final MethodHandle S_L_CRITICAL = critical(JAVA_SHORT, JAVA_LONG);
  private static final MethodHandle B_L_CRITICAL = critical(JAVA_BYTE, JAVA_LONG);

  private Call() {}

  private static MethodHandle plain(MemoryLayout result, MemoryLayout... arguments) {
    return Linker.nativeLinker().downcallHandle(descriptor(result, arguments));
  }

  private static MethodHandle critical(MemoryLayout result, MemoryLayout... arguments) {
    return Linker.nativeLinker()
        .downcallHandle(descriptor(result, arguments), Linker.Option.critical(false));
  }

  private static FunctionDescriptor descriptor(MemoryLayout result, MemoryLayout... arguments) {
    return result == null
        ? FunctionDescriptor.ofVoid(arguments)
        : FunctionDescriptor.of(result, arguments);
  }

  private static AssertionError impossible(Throwable t) {
    return new AssertionError("a downcall throws nothing of its own", t);
  }

  static void v(MemorySegment f, long a) {
    try {
      V_L.invokeExact(f, a);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static void v(MemorySegment f, long a, int b) {
    try {
      V_LI.invokeExact(f, a, b);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static void v(MemorySegment f, long a, int b, long c) {
    try {
      V_LIL.invokeExact(f, a, b, c);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static void v(MemorySegment f, long a, int b, long c, int d) {
    try {
      V_LILI.invokeExact(f, a, b, c, d);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static void v(MemorySegment f, long a, int b, long c, long d) {
    try {
      V_LILL.invokeExact(f, a, b, c, d);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static void v(MemorySegment f, long a, int b, long c, long d, long e) {
    try {
      V_LILLL.invokeExact(f, a, b, c, d, e);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static void v(MemorySegment f, long a, int b, long c, long d, byte e, byte g) {
    try {
      V_LILLBB.invokeExact(f, a, b, c, d, e, g);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static void v(MemorySegment f, long a, long b, int c, long d) {
    try {
      V_LLIL.invokeExact(f, a, b, c, d);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static void v(MemorySegment f, long a, MemorySegment b, short c, short d) {
    try {
      V_LASS.invokeExact(f, a, b, c, d);
    } catch (RuntimeException e) {
      throw e; // The segment's arena was closed meanwhile.
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static void v(MemorySegment f, long a, MemorySegment b, long c) {
    try {
      V_LAL.invokeExact(f, a, b, c);
    } catch (RuntimeException e) {
      throw e; // The segment's arena was closed meanwhile.
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static void v(MemorySegment f, long a, long b, long c) {
    try {
      V_LLL.invokeExact(f, a, b, c);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static void v(MemorySegment f, long a, long b, int c, int d) {
    try {
      V_LLII.invokeExact(f, a, b, c, d);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static void v(MemorySegment f, long a, long b) {
    try {
      V_LL.invokeExact(f, a, b);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static int i(MemorySegment f, long a) {
    try {
      return (int) I_L.invokeExact(f, a);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static int i(MemorySegment f, long a, int b) {
    try {
      return (int) I_LI.invokeExact(f, a, b);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static int i(MemorySegment f, long a, long b) {
    try {
      return (int) I_LL.invokeExact(f, a, b);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static int i(MemorySegment f, long a, int b, long c) {
    try {
      return (int) I_LIL.invokeExact(f, a, b, c);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static int i(MemorySegment f, long a, long b, long c) {
    try {
      return (int) I_LLL.invokeExact(f, a, b, c);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static int i(MemorySegment f, long a, long b, long c, long d) {
    try {
      return (int) I_LLLL.invokeExact(f, a, b, c, d);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static long l(MemorySegment f, long a) {
    try {
      return (long) L_L.invokeExact(f, a);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static short s(MemorySegment f, long a) {
    try {
      return (short) S_L.invokeExact(f, a);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static byte b(MemorySegment f, long a) {
    try {
      return (byte) B_L.invokeExact(f, a);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static int iCritical(MemorySegment f, long a) {
    try {
      return (int) I_L_CRITICAL.invokeExact(f, a);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static int iCritical(MemorySegment f, long a, int b) {
    try {
      return (int) I_LI_CRITICAL.invokeExact(f, a, b);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static int iCritical(MemorySegment f, long a, int b, long c) {
    try {
      return (int) I_LIL_CRITICAL.invokeExact(f, a, b, c);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static int iCritical(MemorySegment f, long a, long b, long c) {
    try {
      return (int) I_LLL_CRITICAL.invokeExact(f, a, b, c);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static long lCritical(MemorySegment f, long a) {
    try {
      return (long) L_L_CRITICAL.invokeExact(f, a);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static short sCritical(MemorySegment f, long a) {
    try {
      return (short) S_L_CRITICAL.invokeExact(f, a);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }

  static byte bCritical(MemorySegment f, long a) {
    try {
      return (byte) B_L_CRITICAL.invokeExact(f, a);
    } catch (Throwable t) {
      throw impossible(t);
    }
  }
}
