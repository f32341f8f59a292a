package dev.verbena.internal.mlx5;

import dev.verbena.internal.calls.CriticalCalls;
import dev.verbena.internal.calls.ExtendedQueuePairCalls;
import dev.verbena.internal.calls.NativeQueuePairCalls;
import dev.verbena.internal.calls.PostingStart;
import dev.verbena.internal.calls.SendWorkRequest;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_sge;
import dev.verbena.raw.rdma_h;
import java.util.function.IntConsumer;

/**
 * Starts the postings of a queue pair of libmlx5 while its send queue has room.
 *
 * <p>The operations of libmlx5, {@code ibv_wr_rdma_write} and the others, only note that the queue
 * is full. They and the functions that set data and destination then write to the request before,
 * wherever that is: to the last one in the queue, which the device may not have executed yet, or by
 * a NULL pointer if the queue pair had no posting before. If the first request of a posting has
 * room, the request before is one of its own and is discarded with it. So one entry must be free.
 *
 * <p>No function tells. But a request is written to the next entry before it is discarded, and only
 * if that entry is free: the solicited bit of the entry changes.
 */
final class RoomCheck implements PostingStart {
  /** The flags of a request in its entry: {@code fm_ce_se} of {@code mlx5_wqe_ctrl_seg}. */
  private static final int FLAGS = 11;

  private static final int SOLICITED = 1 << 1;

  /** As many bytes as libmlx5 may read of a packet. */
  private static final int PACKET = 64;

  private final ExtendedQueuePairCalls calls;
  private final long record;
  private final long entries;
  private final int mask;

  /** Writes a request with these flags to the next entry, if it is free, and discards it. */
  private final IntConsumer discarded;

  /**
   * Creates the check of a queue pair.
   *
   * @param qp the {@code ibv_qp}
   * @param qpEx its {@code ibv_qp_ex}
   * @param memory where its send queue is
   */
  RoomCheck(long qp, long qpEx, QueueMemory.OfQueuePair memory) {
    calls = new ExtendedQueuePairCalls(qpEx, rdma_h.IBV_QP_EX_WITH_SEND());
    record = memory.record() + QueueMemory.SEND_RECORD;
    entries = memory.sends();
    mask = memory.sendBlocks() - 1;
    boolean isRaw = Memory.getInt(qp + ibv_qp.qp_type$offset()) == rdma_h.IBV_QPT_RAW_PACKET();
    discarded = isRaw ? tooLong(qp) : this::aborted;
  }

  @Override
  public synchronized boolean start() {
    while (true) {
      int position = position();
      long flags = entries + (long) (position & mask) * QueueMemory.BLOCK + FLAGS;
      int before = Memory.getByte(flags) & SOLICITED;
      discarded.accept(before == 0 ? rdma_h.IBV_SEND_SOLICITED() : 0);
      calls.ibv_wr_start();
      boolean isFree = (Memory.getByte(flags) & SOLICITED) != before;
      boolean hasMoved = position() != position; // Another thread has posted to the entry.
      if (isFree && !hasMoved) {
        return true;
      }
      calls.ibv_wr_abort();
      if (!hasMoved) {
        return false;
      }
    }
  }

  private int position() {
    return Integer.reverseBytes(Memory.getInt(record));
  }

  /** On a full queue, a send alone writes nothing. */
  private void aborted(int flags) {
    calls.ibv_wr_start();
    try {
      calls.wr_flags(flags);
      calls.ibv_wr_send();
    } finally {
      calls.ibv_wr_abort();
    }
  }

  /**
   * A send of a packet writes to the request before. But {@code ibv_post_send} writes the flags
   * before it refuses inline data that is too long. It cannot be used for all: it forgets that the
   * next request waits for a binding of a memory window, which packets have not.
   */
  private static IntConsumer tooLong(long qp) {
    long sge = SendWorkRequest.SIZE;
    long packet = sge + ibv_sge.sizeof();
    long bad = packet + PACKET;
    Block block = new Block(bad + Long.BYTES);
    long request = block.address(0);
    Memory.putLong(request + SendWorkRequest.SG_LIST, request + sge);
    Memory.putInt(request + SendWorkRequest.NUM_SGE, 1);
    Memory.putInt(request + SendWorkRequest.OPCODE, rdma_h.IBV_WR_SEND());
    Memory.putLong(request + sge + ibv_sge.addr$offset(), request + packet);
    Memory.putInt(request + sge + ibv_sge.length$offset(), Integer.MAX_VALUE);
    var plain = new NativeQueuePairCalls(qp, new CriticalCalls(false));
    return flags -> {
      Memory.putInt(request + SendWorkRequest.FLAGS, flags | rdma_h.IBV_SEND_INLINE());
      if (plain.ibv_post_send(request, request + bad) == 0) {
        throw new AssertionError("libmlx5 has posted inline data that is too long");
      }
      block.keep();
    };
  }
}
