package dev.verbena.internal.mlx5;

import dev.verbena.internal.Memory;
import java.lang.invoke.VarHandle;

/**
 * Tells the device about new entries: by a doorbell record, a number in host memory that the device
 * reads, and by a doorbell register, a store to the device.
 *
 * <p>The order is that of libmlx5 on x86-64, where the processor does not reorder stores to
 * ordinary memory. Registers are mapped as write-combining memory, whose stores it does reorder and
 * delay; libmlx5 places an {@code sfence} before and after them. A full fence, which HotSpot
 * compiles to an instruction with a lock prefix, has the same effect: such an instruction waits for
 * all earlier stores and empties the write-combining buffers.
 */
final class Doorbell {
  private Doorbell() {}

  /** Stores a number in a doorbell record, after the entries that it covers. */
  static void record(long address, int number) {
    VarHandle.storeStoreFence();
    Memory.putIntOpaque(address, Integer.reverseBytes(number));
  }

  /**
   * Stores eight bytes in a doorbell register, after all earlier stores and before all later ones.
   *
   * @param value the bytes as they are in memory
   */
  static void ring(long register, long value) {
    VarHandle.fullFence();
    Memory.putLongOpaque(register, value);
    VarHandle.fullFence();
  }
}
