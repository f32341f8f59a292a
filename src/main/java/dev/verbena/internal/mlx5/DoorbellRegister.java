package dev.verbena.internal.mlx5;

import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import java.util.Map;

/**
 * The doorbell register of a send queue. It has two halves, which are written in turn. A write
 * tells the device which entry is new: by the first eight bytes of the entry, or, as libmlx5 does
 * with a single entry, by all of it (BlueFlame), so that the device need not read it from memory.
 *
 * <p>Entries are only copied into a register that nothing else writes to: the stores of two threads
 * could mix, while eight bytes are one store.
 */
final class DoorbellRegister {
  private static final int UNITS_OF_A_BLOCK = QueueMemory.BLOCK / WqeSegments.SIZE;

  /** The number of longs of a block. */
  private static final int LONGS = QueueMemory.BLOCK / Long.BYTES;

  private static final int LONG_SHIFT = 3;

  private final long address;
  private final int half;
  private final int largest;
  private final int largestInline;
  private final long start;
  private final long end;

  /** Where in the register the half is that is written next. */
  private int offset;

  /** The single entries that are copied. */
  enum Copied {
    NONE,
    WITH_INLINE_DATA,
    ALL;

    /**
     * Returns those that libmlx5 copies.
     *
     * @param variables the environment variables of the process
     */
    static Copied by(Map<String, String> variables) {
      if (!variables.getOrDefault("MLX5_SHUT_UP_BF", "0").equals("0")) {
        return NONE;
      }
      return variables.getOrDefault("MLX5_POST_SEND_PREFER_BF", "1").equals("0")
          ? WITH_INLINE_DATA
          : ALL;
    }
  }

  /**
   * A register.
   *
   * @param half the size of each half in bytes; 0 if it has eight bytes in all
   * @param copied none, unless the send queue is the only one of the register
   * @param buffer the address of the blocks of the send queue
   * @param blocks their number
   */
  DoorbellRegister(long address, int half, Copied copied, long buffer, int blocks) {
    this.address = address;
    this.half = half;
    this.largest = copied == Copied.ALL ? half / WqeSegments.SIZE : 0;
    this.largestInline = copied == Copied.NONE ? 0 : half / WqeSegments.SIZE;
    this.start = buffer;
    this.end = buffer + (long) blocks * QueueMemory.BLOCK;
  }

  /**
   * Tells the device about new entries. The caller has stored their number by {@link
   * Doorbell#exchange}, holds a lock, and ends with {@link QueueLock#flushAndUnlock}: if the stores
   * were delayed, those of the next owner could overtake them. If the entry was copied, it may end
   * with {@link QueueLock#unlockFilled}.
   *
   * @param entry the address of the last entry
   * @param units the size of the entry in units of 16 bytes, if it is the only one; otherwise 0
   * @param isInline whether it has inline data
   * @return whether the entry was copied
   */
  boolean ring(long entry, int units, boolean isInline) {
    long to = Block.known(address + offset);
    offset ^= half;
    if (units > 1 && units <= (isInline ? largestInline : largest)) {
      copy(entry, to, units);
      return true;
    }
    Memory.putLongOpaque(to, Memory.getLong(entry));
    return false;
  }

  /** Copies whole blocks, as libmlx5, which continue at the start of the queue. */
  private void copy(long entry, long register, int units) {
    long from = entry;
    long to = register;
    for (int left = units; left > 0; left -= UNITS_OF_A_BLOCK) {
      copyBlock(from, to);
      from += QueueMemory.BLOCK;
      to += QueueMemory.BLOCK;
      if (from == end) {
        from = start;
      }
    }
  }

  /**
   * Copies a block by opaque stores, which stay in this order. C2 makes eight of the loop: by the
   * masks it knows that all addresses are valid and aligned. Eight calls would be too many to
   * inline.
   */
  private static void copyBlock(long from, long to) {
    long source = Block.known(from);
    long target = Block.known(to) & -Long.BYTES;
    for (int i = 0; i < LONGS; i++) {
      long at = (long) (i & (LONGS - 1)) << LONG_SHIFT;
      Memory.putLongOpaque(target + at, Memory.getLong(source + at));
    }
  }
}
