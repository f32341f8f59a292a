package dev.verbena.internal.mlx5;

import dev.verbena.internal.foreign.Memory;

/**
 * The segments of 16 bytes or a multiple that a work queue entry consists of. All numbers in them
 * are big-endian.
 */
final class WqeSegments {
  /** The size of a control, remote address, atomic or data segment. */
  static final int SIZE = 16;

  /** The size of the segment of a datagram with its address vector. */
  static final int DATAGRAM_SIZE = 48;

  /** Where the flags of the control segment are. */
  static final long FLAGS = 11;

  /** The flags of the control segment. */
  static final int COMPLETION = 2 << 2;

  static final int SOLICITED = 1 << 1;
  static final int FENCE = 4 << 5;
  static final int SMALL_FENCE = 1 << 5;

  /** The length of a data segment is that of inline data, which follows. */
  static final int INLINE = 0x80000000;

  /** The local key of a data segment that ends the list of a receive request. */
  private static final int INVALID_KEY = 0x100;

  private static final int ATOMIC_LENGTH = 8;
  private static final int EXTENDED_ADDRESS = 0x80000000;

  private static final long SGE_ADDRESS = 0;
  private static final long SGE_LENGTH = 8;
  private static final long SGE_KEY = 12;

  private WqeSegments() {}

  /** Two numbers of four bytes, the first of which comes first in memory. */
  private static long pair(int first, int second) {
    return Long.reverseBytes((long) first << Integer.SIZE | Integer.toUnsignedLong(second));
  }

  /**
   * Writes a control segment.
   *
   * @param index the index of the entry's first block since the queue was reset
   * @param units the size of the entry in units of 16 bytes
   * @param immediate immediate data or a key, big-endian
   * @return its first eight bytes, which are also what the doorbell register takes
   */
  static long control(
      long at, int index, int opcode, int number, int units, int flags, int immediate) {
    long first = pair((index & 0xffff) << 8 | opcode, number << 8 | units);
    Memory.putLong(at, first);
    // Signature, stream channel and flags; then the immediate data.
    Memory.putLong(at + 8, Integer.toUnsignedLong(flags << 24) | (long) immediate << Integer.SIZE);
    return first;
  }

  /** Returns the size of an entry in units of 16 bytes by the first eight bytes of its control. */
  static int units(long control) {
    return (int) (control >>> 56);
  }

  /** Returns the first eight bytes of a control segment of another size. */
  static long withUnits(long control, int units) {
    return (control & (-1L >>> Byte.SIZE)) | ((long) units << 56);
  }

  /** Returns the first eight bytes of a control segment with an index in place of 0. */
  static long withIndex(long control, int index) {
    return control | Integer.toUnsignedLong(Integer.reverseBytes((index & 0xffff) << 8));
  }

  static void remote(long at, long address, int key) {
    Memory.putLong(at, Long.reverseBytes(address));
    Memory.putLong(at + 8, pair(key, 0));
  }

  static void compareAndSwap(long at, long swap, long compare) {
    Memory.putLong(at, Long.reverseBytes(swap));
    Memory.putLong(at + 8, Long.reverseBytes(compare));
  }

  /** Writes the first half only, as libmlx5 does. */
  static void fetchAndAdd(long at, long add) {
    Memory.putLong(at, Long.reverseBytes(add));
  }

  /**
   * Writes the segment of a datagram.
   *
   * @param vector the {@code struct mlx5_wqe_av} of the address handle
   */
  static void datagram(long at, long vector, int number, int key) {
    Memory.putLong(at, pair(key, Memory.getInt(vector + 4)));
    Memory.putInt(at + 8, Integer.reverseBytes(number | EXTENDED_ADDRESS));
    Memory.putInt(at + 12, Memory.getInt(vector + 12));
    for (int i = 16; i < DATAGRAM_SIZE; i += Long.BYTES) {
      Memory.putLong(at + i, Memory.getLong(vector + i));
    }
  }

  /** Returns the length of a {@code struct ibv_sge}. */
  static int length(long sge) {
    return Memory.getInt(sge + SGE_LENGTH);
  }

  static long address(long sge) {
    return Memory.getLong(sge + SGE_ADDRESS);
  }

  /** Writes a data segment of a {@code struct ibv_sge}. */
  static void data(long at, long sge) {
    // Length and key are in the same order, each with its bytes reversed.
    Memory.putLong(at, Long.reverseBytes(Long.rotateLeft(Memory.getLong(sge + SGE_LENGTH), 32)));
    Memory.putLong(at + 8, Long.reverseBytes(address(sge)));
  }

  static void data(long at, long address, int length, int key) {
    Memory.putLong(at, pair(length, key));
    Memory.putLong(at + 8, Long.reverseBytes(address));
  }

  static void atomicData(long at, long sge) {
    Memory.putLong(at, pair(ATOMIC_LENGTH, Memory.getInt(sge + SGE_KEY)));
    Memory.putLong(at + 8, Long.reverseBytes(address(sge)));
  }

  /** Writes the data segment that ends a list which is shorter than its entry. */
  static void end(long at) {
    Memory.putLong(at, pair(0, INVALID_KEY));
    Memory.putLong(at + 8, 0);
  }
}
