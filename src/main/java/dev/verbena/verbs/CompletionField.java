package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/**
 * What an extended completion queue is to tell of each completion, besides its identifier, status,
 * opcode, flags and vendor error: {@code enum ibv_create_cq_wc_flags}.
 */
public enum CompletionField implements Flags.Flag {
  /** How many bytes arrived. */
  BYTE_LEN(rdma_h.IBV_WC_EX_WITH_BYTE_LEN()),
  /** The immediate value. */
  IMM(rdma_h.IBV_WC_EX_WITH_IMM()),
  /** The number of the local queue pair. */
  QP_NUM(rdma_h.IBV_WC_EX_WITH_QP_NUM()),
  /** The number of the sender's queue pair. */
  SRC_QP(rdma_h.IBV_WC_EX_WITH_SRC_QP()),
  /** The sender's LID. */
  SLID(rdma_h.IBV_WC_EX_WITH_SLID()),
  /** The service level. */
  SL(rdma_h.IBV_WC_EX_WITH_SL()),
  /** The path bits of the destination LID. */
  DLID_PATH_BITS(rdma_h.IBV_WC_EX_WITH_DLID_PATH_BITS()),
  /** When it completed, in ticks of the device's clock. */
  COMPLETION_TIMESTAMP(rdma_h.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP()),
  /** The customer VLAN tag. */
  CVLAN(rdma_h.IBV_WC_EX_WITH_CVLAN()),
  /** The tag that a flow rule put on the packet. */
  FLOW_TAG(rdma_h.IBV_WC_EX_WITH_FLOW_TAG()),
  /** What tag matching found. */
  TM_INFO(rdma_h.IBV_WC_EX_WITH_TM_INFO()),
  /** When it completed, in nanoseconds of the wall clock. */
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
