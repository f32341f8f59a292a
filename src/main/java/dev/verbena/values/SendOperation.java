package dev.verbena.values;

import dev.verbena.NativeFlag;
import dev.verbena.raw.rdma_h;

/**
 * An operation that is posted through the {@code ibv_wr_*} interface: {@code enum
 * ibv_qp_create_send_ops_flags}.
 */
public enum SendOperation implements NativeFlag {
  /** {@code ibv_wr_rdma_write}. */
  RDMA_WRITE(rdma_h.IBV_QP_EX_WITH_RDMA_WRITE()),
  /** {@code ibv_wr_rdma_write_imm}. */
  RDMA_WRITE_WITH_IMM(rdma_h.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM()),
  /** {@code ibv_wr_send}. */
  SEND(rdma_h.IBV_QP_EX_WITH_SEND()),
  /** {@code ibv_wr_send_imm}. */
  SEND_WITH_IMM(rdma_h.IBV_QP_EX_WITH_SEND_WITH_IMM()),
  /** {@code ibv_wr_rdma_read}. */
  RDMA_READ(rdma_h.IBV_QP_EX_WITH_RDMA_READ()),
  /** {@code ibv_wr_atomic_cmp_swp}. */
  ATOMIC_CMP_AND_SWP(rdma_h.IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP()),
  /** {@code ibv_wr_atomic_fetch_add}. */
  ATOMIC_FETCH_AND_ADD(rdma_h.IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD()),
  /** {@code ibv_wr_local_inv}. */
  LOCAL_INV(rdma_h.IBV_QP_EX_WITH_LOCAL_INV()),
  /** {@code ibv_wr_bind_mw}. */
  BIND_MW(rdma_h.IBV_QP_EX_WITH_BIND_MW()),
  /** {@code ibv_wr_send_inv}. */
  SEND_WITH_INV(rdma_h.IBV_QP_EX_WITH_SEND_WITH_INV()),
  /** {@code ibv_wr_send_tso}. */
  TSO(rdma_h.IBV_QP_EX_WITH_TSO()),
  /** {@code ibv_wr_flush}. */
  FLUSH(rdma_h.IBV_QP_EX_WITH_FLUSH()),
  /** {@code ibv_wr_atomic_write}. */
  ATOMIC_WRITE(rdma_h.IBV_QP_EX_WITH_ATOMIC_WRITE());

  private final long bit;

  SendOperation(long bit) {
    this.bit = bit;
  }

  @Override
  public long bit() {
    return bit;
  }
}
