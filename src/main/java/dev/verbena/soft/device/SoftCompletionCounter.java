package dev.verbena.soft.device;

import dev.verbena.raw.ibv_comp_cntr;
import dev.verbena.raw.rdma_h;

/** A completion counter ({@code struct ibv_comp_cntr}). */
public final class SoftCompletionCounter extends SoftObject {
  public static final int OPERATIONS =
      rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_SEND()
          | rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_RECV()
          | rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_READ()
          | rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ()
          | rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE()
          | rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE();

  private final boolean countsBytes;
  public long value;
  public long errors;

  public SoftCompletionCounter(SoftContext context, boolean countsBytes) {
    super(context, context.struct(ibv_comp_cntr.layout()), context);
    this.countsBytes = countsBytes;
  }

  public void count(boolean failed, long bytes) {
    if (failed) {
      errors++;
    } else {
      value += countsBytes ? bytes : 1;
    }
  }
}
