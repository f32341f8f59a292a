package dev.verbena.fuzz;

import java.lang.foreign.MemorySegment;
import java.lang.reflect.Executable;
import java.util.Random;
import java.util.function.Consumer;

/**
 * Parameters that take a C struct or a file descriptor on trust, which get none that is one, sizes
 * of memory, which must not use up that of the host, and callbacks that must not call the library.
 */
final class Restrictions {
  /** Instead of an argument: the parameter is not restricted. */
  static final Object FREE = new Object();

  private static final int[] NO_DESCRIPTORS = {-1, Integer.MIN_VALUE, Integer.MAX_VALUE, 1 << 20};

  /** Sizes of memory that a host has, or that none has. */
  private static final long[] SIZES = {
    Long.MIN_VALUE, -1, 0, 1, 5000, 1 << 16, 1 << 24, 1L << 60, Long.MAX_VALUE
  };

  private Restrictions() {}

  static Object of(Executable called, int parameter, Random random, ArgumentMemory memory) {
    Class<?> type = called.getParameterTypes()[parameter];
    if (type == MemorySegment.class && called.getName().equals("borrow")) {
      return memory.noStruct(random);
    } else if (type == int.class && called.getName().equals("importContext")) {
      // The context would own the descriptor, and close it.
      return NO_DESCRIPTORS[random.nextInt(NO_DESCRIPTORS.length)];
    } else if (type == long.class
        && (called.getName().equals("allocateMemory") || called.getName().equals("memory"))) {
      return SIZES[random.nextInt(SIZES.length)];
    } else if (type == Consumer.class && called.getName().equals("trace")) {
      return (Consumer<String>) line -> {}; // It is called under the lock of the network.
    }
    return FREE;
  }
}
