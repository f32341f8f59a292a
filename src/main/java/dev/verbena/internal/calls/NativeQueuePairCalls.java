package dev.verbena.internal.calls;

import dev.verbena.internal.foreign.Call;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_context;
import dev.verbena.raw.ibv_context_ops;
import java.lang.foreign.MemorySegment;

/** The data path of one queue pair, by function pointers of {@code ibv_context.ops}. */
public final class NativeQueuePairCalls implements QueuePairCalls {
  private static final long OPS = ibv_context.ops$offset();

  private final long qp;
  private final MemorySegment postSend;
  private final MemorySegment postRecv;
  private final Crossing crossing;

  /**
   * Reads the pointers of a queue pair's context.
   *
   * @param qp the {@code ibv_qp}
   * @param critical whether calls may be linked as critical
   */
  public NativeQueuePairCalls(long qp, CriticalCalls critical) {
    long ops = Memory.contextOf(qp) + OPS;
    this.qp = qp;
    this.postSend = Memory.function(ops + ibv_context_ops.post_send$offset(), "ibv_post_send");
    this.postRecv = Memory.function(ops + ibv_context_ops.post_recv$offset(), "ibv_post_recv");
    this.crossing = new Crossing(critical);
  }

  @Override
  public int ibv_post_send(long wr, long badWr) {
    return (int)
        (crossing.isCritical()
            ? Call.critical(postSend, qp, wr, badWr)
            : Call.plain(postSend, qp, wr, badWr));
  }

  @Override
  public int ibv_post_recv(long wr, long badWr) {
    return (int)
        (crossing.isCritical()
            ? Call.critical(postRecv, qp, wr, badWr)
            : Call.plain(postRecv, qp, wr, badWr));
  }
}
