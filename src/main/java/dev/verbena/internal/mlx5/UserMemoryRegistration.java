package dev.verbena.internal.mlx5;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_mr;
import dev.verbena.raw.ibv_mw_bind_info;
import dev.verbena.raw.rdma_h;

/**
 * The three blocks of a work queue entry that changes a memory key (UMR): binds or invalidates a
 * memory window.
 */
final class UserMemoryRegistration {
  private static final int BLOCK = 64;
  private static final long LONGEST = 1L << 31;

  private static final int INLINE = 1 << 7;
  private static final int CHECK_FREE = 1 << 5;
  private static final int TRANSLATION_OFFSET = 1 << 4;
  private static final int CHECK_NUMBER = 1 << 3;

  private static final long MASK_LENGTH = 1;
  private static final long MASK_START = 1 << 6;
  private static final long MASK_KEY = 1 << 13;
  private static final long MASK_NUMBER = 1 << 14;
  private static final long MASK_ACCESS = 1 << 18 | 1 << 19 | 1 << 20 | 1 << 21;
  private static final long MASK_FREE = 1 << 29;

  private static final int FREE = 1 << 6;
  private static final int ANY_QUEUE_PAIR = 0xffffff00;
  private static final int ONE_TRANSLATION = 4; // octowords, rounded up to 8 translations

  private UserMemoryRegistration() {}

  /** Returns whether a binding has a length that one entry can describe. */
  static boolean fits(long bindInfo) {
    return Long.compareUnsigned(length(bindInfo), LONGEST) <= 0;
  }

  private static long length(long bindInfo) {
    return Memory.getLong(bindInfo + ibv_mw_bind_info.length$offset());
  }

  /**
   * Writes the segments that follow the control segment, for a window that is bound.
   *
   * @param queue the queue, in whose buffer the entry may continue at the start
   * @param at the address after the control segment
   * @return the size in units of 16 bytes
   */
  static int bind(Mlx5SendQueue queue, long at, int windowType, int key, long bindInfo) {
    boolean isTypeTwo = windowType == rdma_h.IBV_MW_TYPE_2();
    long length = length(bindInfo);
    if (length == 0) {
      return unbind(queue, at, isTypeTwo, key);
    }
    long address = Memory.getLong(bindInfo + ibv_mw_bind_info.addr$offset());
    long region = Memory.getLong(bindInfo + ibv_mw_bind_info.mr$offset());
    int flags = Memory.getInt(bindInfo + ibv_mw_bind_info.mw_access_flags$offset());
    control(
        at,
        INLINE | TRANSLATION_OFFSET | (isTypeTwo ? CHECK_FREE : 0),
        ONE_TRANSLATION,
        MASK_FREE
            | MASK_KEY
            | MASK_LENGTH
            | MASK_START
            | MASK_ACCESS
            | (isTypeTwo ? MASK_NUMBER : 0));
    long context = queue.wrapped(at + WqeSegments.DATAGRAM_SIZE);
    // Free, reserved, access, flags; then the queue pair and the variant of the key.
    Memory.putByte(context, (byte) 0);
    Memory.putByte(context + 2, (byte) access(flags));
    Memory.putInt(
        context + 4,
        Integer.reverseBytes(
            (key & 0xff) | (isTypeTwo ? queue.number() << Byte.SIZE : ANY_QUEUE_PAIR)));
    boolean isZeroBased = (flags & rdma_h.IBV_ACCESS_ZERO_BASED()) != 0;
    Memory.putLong(context + 16, isZeroBased ? 0 : Long.reverseBytes(address));
    Memory.putLong(context + 24, Long.reverseBytes(length));
    long translation = queue.wrapped(context + BLOCK);
    Memory.putInt(translation, Integer.reverseBytes((int) length));
    Memory.putInt(
        translation + 4, Integer.reverseBytes(Memory.getInt(region + ibv_mr.lkey$offset())));
    Memory.putLong(translation + 8, Long.reverseBytes(address));
    for (int i = WqeSegments.SIZE; i < BLOCK; i += Long.BYTES) {
      Memory.putLong(translation + i, 0);
    }
    return (WqeSegments.DATAGRAM_SIZE + 2 * BLOCK) / WqeSegments.SIZE;
  }

  /** Writes the segments for a window that is unbound. */
  static int unbind(Mlx5SendQueue queue, long at, boolean isTypeTwo, int key) {
    control(
        at,
        INLINE | TRANSLATION_OFFSET | (isTypeTwo ? CHECK_NUMBER : 0),
        0,
        MASK_FREE | MASK_KEY | (isTypeTwo ? MASK_NUMBER : 0));
    long context = queue.wrapped(at + WqeSegments.DATAGRAM_SIZE);
    Memory.putByte(context, (byte) FREE);
    Memory.putInt(context + 4, Integer.reverseBytes((key & 0xff) | ANY_QUEUE_PAIR));
    return (WqeSegments.DATAGRAM_SIZE + BLOCK) / WqeSegments.SIZE;
  }

  private static void control(long at, int flags, int translations, long mask) {
    Memory.putInt(at, flags);
    Memory.putInt(at + 4, Short.toUnsignedInt(Short.reverseBytes((short) translations)));
    Memory.putLong(at + 8, Long.reverseBytes(mask));
    for (int i = WqeSegments.SIZE; i < WqeSegments.DATAGRAM_SIZE; i += Long.BYTES) {
      Memory.putLong(at + i, 0);
    }
  }

  private static int access(int flags) {
    return ((flags & rdma_h.IBV_ACCESS_LOCAL_WRITE()) != 0 ? 1 << 3 : 0)
        | ((flags & rdma_h.IBV_ACCESS_REMOTE_READ()) != 0 ? 1 << 4 : 0)
        | ((flags & rdma_h.IBV_ACCESS_REMOTE_WRITE()) != 0 ? 1 << 5 : 0)
        | ((flags & rdma_h.IBV_ACCESS_REMOTE_ATOMIC()) != 0 ? 1 << 6 : 0);
  }
}
