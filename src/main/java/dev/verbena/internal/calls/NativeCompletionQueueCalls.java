package dev.verbena.internal.calls;

import dev.verbena.internal.foreign.Call;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.StackSpace;
import dev.verbena.raw.ibv_context;
import dev.verbena.raw.ibv_context_ops;
import java.lang.foreign.MemorySegment;

/** The data path of one completion queue, by function pointers of {@code ibv_context.ops}. */
public final class NativeCompletionQueueCalls implements CompletionQueueCalls {
  private static final long OPS = ibv_context.ops$offset();

  private final long cq;
  private final MemorySegment pollCq;
  private final MemorySegment reqNotifyCq;
  private final Crossing crossing;

  /**
   * Reads the pointers of a queue's context.
   *
   * @param cq the {@code ibv_cq}
   * @param critical whether calls may be linked as critical
   */
  public NativeCompletionQueueCalls(long cq, CriticalCalls critical) {
    long ops = Memory.contextOf(cq) + OPS;
    this.cq = cq;
    this.pollCq = Memory.function(ops + ibv_context_ops.poll_cq$offset(), "ibv_poll_cq");
    this.reqNotifyCq =
        Memory.function(ops + ibv_context_ops.req_notify_cq$offset(), "ibv_req_notify_cq");
    this.crossing = new Crossing(critical);
  }

  @Override
  public int ibv_poll_cq(int numEntries, long wc) {
    return (int)
        (crossing.isCritical()
            ? Call.critical(pollCq, cq, numEntries, wc)
            : Call.plain(pollCq, cq, numEntries, wc));
  }

  @Override
  public int ibv_req_notify_cq(int solicitedOnly) {
    StackSpace.requireForCall();
    return (int) Call.plain(reqNotifyCq, cq, solicitedOnly);
  }
}
