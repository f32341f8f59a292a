package dev.verbena.benchmarks;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/**
 * The C loops of ring.c: one call runs a whole loop, so that the cost of the call is negligible.
 */
final class CLoops {
  private static final SymbolLookup RING =
      SymbolLookup.libraryLookup(System.getProperty("dev.verbena.libibverbs"), Arena.global());

  static final MethodHandle SEND = loop("loop_send", ADDRESS, ADDRESS, ADDRESS, JAVA_INT, JAVA_INT);
  static final MethodHandle INLINE = loop("loop_send_inline", ADDRESS, ADDRESS, ADDRESS, JAVA_INT);
  static final MethodHandle POST = loop("loop_post", ADDRESS, ADDRESS, JAVA_INT);
  static final MethodHandle RECEIVE = loop("loop_receive", ADDRESS, ADDRESS, ADDRESS, JAVA_INT);
  static final MethodHandle POLL = loop("loop_poll", ADDRESS, JAVA_INT);
  static final MethodHandle EMPTY_POLL = loop("loop_empty_poll", ADDRESS, JAVA_INT);
  static final MethodHandle WR = loop("loop_wr", ADDRESS, ADDRESS, ADDRESS, JAVA_INT);
  static final MethodHandle CURSOR = loop("loop_cursor", ADDRESS, JAVA_INT);

  private CLoops() {}

  private static MethodHandle loop(String name, MemoryLayout... arguments) {
    FunctionDescriptor descriptor =
        FunctionDescriptor.of(JAVA_LONG, arguments).appendArgumentLayouts(JAVA_LONG);
    return Linker.nativeLinker().downcallHandle(RING.find(name).orElseThrow(), descriptor);
  }

  /** Returns the sum of a loop; throws if the loop failed. */
  static long sum(long result) {
    if (result == -1) {
      throw new IllegalStateException("the C loop failed");
    }
    return result;
  }
}
