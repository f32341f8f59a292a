package dev.verbena.internal.foreign;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** The errno of the calling thread. The JVM itself may change it between two calls of C. */
public final class ThreadErrno {
  private static final MethodHandle LOCATION =
      Linker.nativeLinker()
          .downcallHandle(
              Linker.nativeLinker().defaultLookup().find("__errno_location").orElseThrow(),
              FunctionDescriptor.of(ValueLayout.JAVA_LONG));

  private ThreadErrno() {}

  static int get() {
    return Memory.getInt(location());
  }

  static void set(int errno) {
    Memory.putInt(location(), errno);
  }

  private static long location() {
    try {
      return (long) LOCATION.invokeExact();
    } catch (Throwable t) {
      throw Call.impossible(t);
    }
  }
}
