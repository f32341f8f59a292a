package dev.verbena.internal.calls;

import dev.verbena.internal.foreign.Call;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_context;
import dev.verbena.raw.ibv_context_ops;
import java.lang.foreign.MemorySegment;

/** The data path of one shared receive queue, by a function pointer of {@code ibv_context.ops}. */
public final class NativeSharedReceiveQueueCalls implements SharedReceiveQueueCalls {
  private static final long POST_SRQ_RECV =
      ibv_context.ops$offset() + ibv_context_ops.post_srq_recv$offset();

  private final long srq;
  private final MemorySegment postSrqRecv;
  private final Crossing crossing;

  /**
   * Reads the pointer of a queue's context.
   *
   * @param srq the {@code ibv_srq}
   * @param critical whether calls may be linked as critical
   */
  public NativeSharedReceiveQueueCalls(long srq, CriticalCalls critical) {
    this.srq = srq;
    this.postSrqRecv = Memory.function(Memory.contextOf(srq) + POST_SRQ_RECV, "ibv_post_srq_recv");
    this.crossing = new Crossing(critical);
  }

  @Override
  public int ibv_post_srq_recv(long wr, long badWr) {
    return (int)
        (crossing.isCritical()
            ? Call.critical(postSrqRecv, srq, wr, badWr)
            : Call.plain(postSrqRecv, srq, wr, badWr));
  }
}
