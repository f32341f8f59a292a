package dev.verbena.internal.mlx5;

import dev.verbena.internal.Mlx5dv;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import java.util.function.LongFunction;

/**
 * Where the parts of libmlx5's objects are in memory: {@code mlx5dv_init_obj}, whose structs of
 * {@code <infiniband/mlx5dv.h>} are read here.
 */
final class QueueMemory {
  /** {@code enum mlx5dv_obj_type}, and the offset of the pair of pointers in mlx5dv_obj. */
  private enum Kind {
    QP(1, 0),
    CQ(1 << 1, 16),
    SRQ(1 << 2, 32),
    AH(1 << 5, 80);

    private final long type;
    private final long offset;

    Kind(long type, long offset) {
      this.type = type;
      this.offset = offset;
    }
  }

  /** The size of {@code struct mlx5dv_obj}, and more than that of any struct it points to. */
  private static final int OBJ_SIZE = 128;

  private static final int OUT_SIZE = 128;

  /** The size of a block of a send queue in bytes. */
  static final int BLOCK = 64;

  /** Where the doorbell records of the queues of a queue pair are, from its record on. */
  static final long RECEIVE_RECORD = 0;

  static final long SEND_RECORD = 4;

  private QueueMemory() {}

  /**
   * {@code struct mlx5dv_qp}.
   *
   * @param registerSize the size of each of the two halves of the doorbell register; 0 if it has
   *     none
   */
  record OfQueuePair(
      long record,
      long sends,
      int sendBlocks,
      int sendStride,
      long receives,
      int receiveEntries,
      int receiveStride,
      long register,
      int registerSize) {
    private OfQueuePair(long at) {
      this(
          Memory.getLong(at),
          Memory.getLong(at + 8),
          Memory.getInt(at + 16),
          Memory.getInt(at + 20),
          Memory.getLong(at + 24),
          Memory.getInt(at + 32),
          Memory.getInt(at + 36),
          Memory.getLong(at + 40),
          Memory.getInt(at + 48));
    }
  }

  /** {@code struct mlx5dv_cq}. */
  record OfCompletionQueue(
      long entries, long record, int count, int entrySize, long registers, int number) {
    private OfCompletionQueue(long at) {
      this(
          Memory.getLong(at),
          Memory.getLong(at + 8),
          Memory.getInt(at + 16),
          Memory.getInt(at + 20),
          Memory.getLong(at + 24),
          Memory.getInt(at + 32));
    }
  }

  /** {@code struct mlx5dv_srq}. */
  record OfSharedReceiveQueue(long entries, long record, int stride, int head, int tail) {
    private OfSharedReceiveQueue(long at) {
      this(
          Memory.getLong(at),
          Memory.getLong(at + 8),
          Memory.getInt(at + 16),
          Memory.getInt(at + 20),
          Memory.getInt(at + 24));
    }
  }

  static OfQueuePair queuePair(Mlx5dv functions, long qp) {
    return read(functions, Kind.QP, qp, OfQueuePair::new);
  }

  /** From then on, libmlx5 leaves the queue alone when a queue pair is reset or destroyed. */
  static OfCompletionQueue completionQueue(Mlx5dv functions, long cq) {
    return read(functions, Kind.CQ, cq, OfCompletionQueue::new);
  }

  static OfSharedReceiveQueue sharedReceiveQueue(Mlx5dv functions, long srq) {
    return read(functions, Kind.SRQ, srq, OfSharedReceiveQueue::new);
  }

  /** Returns the {@code struct mlx5_wqe_av} of an address handle. */
  static long addressVector(Mlx5dv functions, long ah) {
    return read(functions, Kind.AH, ah, Memory::getLong);
  }

  /** Calls {@code mlx5dv_init_obj}; the struct that it fills comes after the mlx5dv_obj. */
  private static <T> T read(Mlx5dv functions, Kind kind, long object, LongFunction<T> struct) {
    Block block = new Block(OBJ_SIZE + OUT_SIZE);
    Memory.putLong(block.address(kind.offset), object);
    Memory.putLong(block.address(kind.offset + Long.BYTES), block.address(OBJ_SIZE));
    functions.mlx5dv_init_obj(block.address(0), kind.type);
    T values = struct.apply(block.address(OBJ_SIZE));
    block.keep();
    return values;
  }
}
