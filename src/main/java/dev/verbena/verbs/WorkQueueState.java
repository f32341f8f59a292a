package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** What a work queue does: {@code enum ibv_wq_state}. */
public enum WorkQueueState implements Codes.Code {
  /** Nothing: it is new, or was reset. */
  RESET(rdma_h.IBV_WQS_RESET()),
  /** It receives. */
  RDY(rdma_h.IBV_WQS_RDY()),
  /** It failed, and flushes what is posted. */
  ERR(rdma_h.IBV_WQS_ERR()),
  /** A state that is newer than this library, or that the kernel does not tell. */
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
