package dev.verbena.fuzz;

import dev.verbena.util.ReceiveHandler;
import dev.verbena.verbs.ProviderAllocator;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** What the callbacks of the fuzzer return. */
final class Callbacks {
  private static final int ALLOCATED = 1 << 16;

  private Callbacks() {}

  /** Whether callers of the API write such an object themselves. */
  static boolean isCallback(Class<?> type) {
    return type == ReceiveHandler.class || type == ProviderAllocator.class;
  }

  static Object result(Class<?> type, Object[] arguments) {
    if (type == boolean.class) {
      return true;
    } else if (type == int.class) {
      return 0;
    } else if (type == long.class) {
      return 0L;
    } else if (type == MemorySegment.class) {
      // As an allocator must: zeros that stay valid; the JVM that is fuzzed is short-lived.
      return (long) arguments[0] <= ALLOCATED ? Arena.global().allocate(ALLOCATED, 4096) : null;
    }
    return null;
  }
}
