package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** What a shared receive queue is for: {@code enum ibv_srq_type}. */
public enum SharedReceiveQueueType implements Codes.Code {
  /** The queue pairs that are made with it. */
  BASIC(rdma_h.IBV_SRQT_BASIC()),
  /** All queue pairs of an XRC domain. */
  XRC(rdma_h.IBV_SRQT_XRC()),
  /** Messages that are matched by tags. */
  TM(rdma_h.IBV_SRQT_TM());

  private final int code;

  SharedReceiveQueueType(int code) {
    this.code = code;
  }

  @Override
  public int code() {
    return code;
  }
}
