package dev.verbena.internal.calls;

import dev.verbena.internal.foreign.Call;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_wq;
import java.lang.foreign.MemorySegment;

/** The data path of one work queue: the function pointer of {@code ibv_wq} itself. */
public final class WorkQueueCalls {
  private final long wq;
  private final MemorySegment postRecv;
  private final Crossing crossing;

  /**
   * Reads the pointer of a queue.
   *
   * @param wq the {@code ibv_wq}
   * @param critical whether calls may be linked as critical
   */
  public WorkQueueCalls(long wq, CriticalCalls critical) {
    this.wq = wq;
    this.postRecv = Memory.function(wq + ibv_wq.post_recv$offset(), "ibv_post_wq_recv");
    this.crossing = new Crossing(critical);
  }

  /**
   * Posts a list of receive requests; the result is an errno, {@code badWr} the first request that
   * was not posted.
   */
  public int ibv_post_wq_recv(long wr, long badWr) {
    return (int)
        (crossing.isCritical()
            ? Call.critical(postRecv, wq, wr, badWr)
            : Call.plain(postRecv, wq, wr, badWr));
  }
}
