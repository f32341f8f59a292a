package dev.verbena.values;

import dev.verbena.NativeFlag;
import dev.verbena.raw.rdma_h;

/**
 * A field of the completions of an extended completion queue, besides id, status, opcode, flags and
 * vendor error: {@code enum ibv_create_cq_wc_flags}.
 */
public enum CompletionField implements NativeFlag {
  /** The number of received bytes. */
  BYTE_LEN(rdma_h.IBV_WC_EX_WITH_BYTE_LEN()),
  /** The immediate data. */
  IMM(rdma_h.IBV_WC_EX_WITH_IMM()),
  /** The QPN of the local queue pair. */
  QP_NUM(rdma_h.IBV_WC_EX_WITH_QP_NUM()),
  /** The QPN of the sender. */
  SRC_QP(rdma_h.IBV_WC_EX_WITH_SRC_QP()),
  /** The LID of the sender. */
  SLID(rdma_h.IBV_WC_EX_WITH_SLID()),
  /** The service level. */
  SL(rdma_h.IBV_WC_EX_WITH_SL()),
  /** The path bits of the destination LID. */
  DLID_PATH_BITS(rdma_h.IBV_WC_EX_WITH_DLID_PATH_BITS()),
  /** The completion timestamp, in ticks of the device clock. */
  COMPLETION_TIMESTAMP(rdma_h.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP()),
  /** The customer VLAN tag. */
  CVLAN(rdma_h.IBV_WC_EX_WITH_CVLAN()),
  /** The tag that a flow rule set on the packet. */
  FLOW_TAG(rdma_h.IBV_WC_EX_WITH_FLOW_TAG()),
  /** The result of tag matching. */
  TM_INFO(rdma_h.IBV_WC_EX_WITH_TM_INFO()),
  /** The completion time of the wall clock, in nanoseconds. */
  COMPLETION_TIMESTAMP_WALLCLOCK(rdma_h.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK());

  private final long bit;

  CompletionField(int bit) {
    this.bit = bit;
  }

  @Override
  public long bit() {
    return bit;
  }
}
