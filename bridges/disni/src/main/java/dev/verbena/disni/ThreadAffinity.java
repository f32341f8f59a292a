package dev.verbena.disni;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Optional;

/** The processors that the calling thread may run on: {@code sched_setaffinity(2)} of Linux. */
public final class ThreadAffinity {
  private static final System.Logger LOG = System.getLogger("dev.verbena.disni");

  /** The size of {@code cpu_set_t}. */
  private static final long SET = 128;

  private static final long UNKNOWN = ~0L;
  private static final int CALLING_THREAD = 0;

  private static final Optional<MethodHandle> SET_AFFINITY = function("sched_setaffinity");
  private static final Optional<MethodHandle> GET_AFFINITY = function("sched_getaffinity");

  private ThreadAffinity() {}

  private static Optional<MethodHandle> function(String name) {
    Linker linker = Linker.nativeLinker();
    FunctionDescriptor descriptor =
        FunctionDescriptor.of(
            ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.ADDRESS);
    return linker.defaultLookup().find(name).map(at -> linker.downcallHandle(at, descriptor));
  }

  /**
   * Restricts the calling thread to some processors, or logs that the system does not permit it.
   *
   * @param processors bit n for processor n
   */
  public static void set(long processors) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment set = arena.allocate(SET, Long.BYTES);
      set.set(ValueLayout.JAVA_LONG, 0, processors);
      if (call(SET_AFFINITY, set) < 0) {
        LOG.log(
            System.Logger.Level.WARNING,
            "sched_setaffinity to the processors 0x"
                + Long.toHexString(processors)
                + " failed: the thread may run on all processors that it could run on before");
      }
    }
  }

  /**
   * Returns the processors that the calling thread may run on.
   *
   * @return bit n for processor n; all bits if the system does not tell
   */
  public static long get() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment set = arena.allocate(SET, Long.BYTES);
      return call(GET_AFFINITY, set) < 0 ? UNKNOWN : set.get(ValueLayout.JAVA_LONG, 0);
    }
  }

  private static int call(Optional<MethodHandle> function, MemorySegment set) {
    if (function.isEmpty()) {
      return -1;
    }
    try {
      return (int) function.get().invokeExact(CALLING_THREAD, SET, set);
    } catch (Throwable t) {
      throw new AssertionError(t); // C throws nothing.
    }
  }
}
