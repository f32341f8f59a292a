package dev.verbena.values;

import dev.verbena.NativeConstant;
import dev.verbena.raw.rdma_h;

/** The state of a work queue: {@code enum ibv_wq_state}. */
public enum WorkQueueState implements NativeConstant {
  /** Reset: the state after creation. */
  RESET(rdma_h.IBV_WQS_RESET()),
  /** Ready: it receives packets. */
  RDY(rdma_h.IBV_WQS_RDY()),
  /** Error: posted requests are flushed. */
  ERR(rdma_h.IBV_WQS_ERR()),
  /** A state that this library does not know, or that the kernel does not report. */
  UNKNOWN(rdma_h.IBV_WQS_UNKNOWN());

  private final int code;

  WorkQueueState(int code) {
    this.code = code;
  }

  @Override
  public int code() {
    return code;
  }
}
