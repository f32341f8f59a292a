package dev.verbena.fuzz;

import java.lang.foreign.MemorySegment;
import java.lang.reflect.Executable;
import java.util.Random;
import java.util.function.Consumer;

/**
 * Parameters that take a C struct or a file descriptor on trust, which get none that is one, and
 * callbacks that must not call the library.
 */
final class Restrictions {
  /** Instead of an argument: the parameter is not restricted. */
  static final Object FREE = new Object();

  private static final int[] NO_DESCRIPTORS = {-1, Integer.MIN_VALUE, Integer.MAX_VALUE, 1 << 20};

  private Restrictions() {}

  static Object of(Executable called, int parameter, Random random, Memory memory) {
    Class<?> type = called.getParameterTypes()[parameter];
    if (type == MemorySegment.class && called.getName().equals("borrow")) {
      return memory.noStruct(random);
    } else if (type == int.class && called.getName().equals("importContext")) {
      // The context would own the descriptor, and close it.
      return NO_DESCRIPTORS[random.nextInt(NO_DESCRIPTORS.length)];
    } else if (type == Consumer.class && called.getName().equals("trace")) {
      return (Consumer<String>) line -> {}; // It is called under the lock of the network.
    }
    return FREE;
  }
}
