package dev.verbena.testing;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** The calling thread's errno, for C functions that are played by Java. */
public final class NativeErrno {
  private static final MethodHandle LOCATION =
      Linker.nativeLinker()
          .downcallHandle(
              Linker.nativeLinker().defaultLookup().find("__errno_location").orElseThrow(),
              FunctionDescriptor.of(ValueLayout.ADDRESS.withTargetLayout(ValueLayout.JAVA_INT)));

  private NativeErrno() {}

  /** Sets errno. To be done last: whatever else the thread does may change it. */
  public static void set(int errno) {
    try {
      MemorySegment location = (MemorySegment) LOCATION.invokeExact();
      location.set(ValueLayout.JAVA_INT, 0, errno);
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }
}
