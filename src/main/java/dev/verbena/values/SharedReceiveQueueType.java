package dev.verbena.values;

import dev.verbena.NativeConstant;
import dev.verbena.raw.rdma_h;

/** The type of a shared receive queue: {@code enum ibv_srq_type}. */
public enum SharedReceiveQueueType implements NativeConstant {
  /** For the queue pairs that are created with it. */
  BASIC(rdma_h.IBV_SRQT_BASIC()),
  /** For all queue pairs of an XRC domain. */
  XRC(rdma_h.IBV_SRQT_XRC()),
  /** For messages that are matched by tags. */
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
