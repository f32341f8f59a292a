package dev.verbena.internal.mlx5;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * How many entries of send queues the emulated mlx5 has executed in this process.
 *
 * @param copied those that it found in a doorbell register
 * @param fetched those that it read from the memory of the queue
 */
record BlueFlame(long copied, long fetched) {
  /** Returns the numbers since the start of the process. */
  static BlueFlame executed() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment counts = arena.allocate(ValueLayout.JAVA_LONG, 2);
      MethodHandle function =
          Linker.nativeLinker()
              .downcallHandle(
                  SymbolLookup.libraryLookup(System.getenv("VERBENA_NIC"), arena)
                      .find("emulated_nic_entries")
                      .orElseThrow(),
                  FunctionDescriptor.ofVoid(ValueLayout.ADDRESS));
      function.invokeExact(counts);
      return new BlueFlame(
          counts.getAtIndex(ValueLayout.JAVA_LONG, 0), counts.getAtIndex(ValueLayout.JAVA_LONG, 1));
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }

  /** Returns how many of these are later than others. */
  BlueFlame since(BlueFlame before) {
    return new BlueFlame(copied - before.copied, fetched - before.fetched);
  }
}
