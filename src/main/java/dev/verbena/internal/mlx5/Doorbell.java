package dev.verbena.internal.mlx5;

import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import java.lang.invoke.VarHandle;

/**
 * Tells the device about new entries: by a doorbell record, a number in host memory that the device
 * reads, and by a {@linkplain DoorbellRegister doorbell register}, stores to the device.
 *
 * <p>The order is that of libmlx5 on x86-64, where the processor does not reorder stores to
 * ordinary memory. Registers are mapped as write-combining memory, whose stores it does reorder and
 * delay; libmlx5 places an {@code sfence} before and after them. Here these are locked
 * instructions, which wait for all earlier stores and empty the write-combining buffers: the store
 * to the record before the register, and that to the lock after it, unless what was stored fills
 * the buffers, so that the processor empties them by itself.
 *
 * <p>Both are exchanges ({@code xchg}). {@code VarHandle.fullFence} is a locked instruction too,
 * but C2 omits it if another one follows without a branch or a call between them, even behind the
 * store to the register.
 */
final class Doorbell {
  private Doorbell() {}

  /**
   * Stores a number in a doorbell record of a queue without a register: after the stores to the
   * entries that it covers, or the loads of the entries that it frees.
   */
  static void record(long address, int number) {
    VarHandle.releaseFence();
    Memory.putIntOpaque(address, Integer.reverseBytes(number));
  }

  /**
   * Stores a number in a doorbell record of a queue with a register: after all earlier stores, and
   * before the stores to the register that follow.
   */
  static void exchange(long address, int number) {
    Memory.exchangeInt(Block.known(address), Integer.reverseBytes(number));
  }
}
