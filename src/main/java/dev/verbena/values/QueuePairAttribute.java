package dev.verbena.values;

import dev.verbena.NativeFlag;
import dev.verbena.raw.rdma_h;

/**
 * An attribute of {@code ibv_modify_qp}: {@code enum ibv_qp_attr_mask}, without the prefix {@code
 * IBV_QP_}.
 */
public enum QueuePairAttribute implements NativeFlag {
  /** The state to transition to. */
  STATE(rdma_h.IBV_QP_STATE()),
  /** The current state that is assumed. */
  CUR_STATE(rdma_h.IBV_QP_CUR_STATE()),
  /** Whether an event is generated when the send queue is drained. */
  EN_SQD_ASYNC_NOTIFY(rdma_h.IBV_QP_EN_SQD_ASYNC_NOTIFY()),
  /** The allowed remote operations. */
  ACCESS_FLAGS(rdma_h.IBV_QP_ACCESS_FLAGS()),
  /** The P_Key index. */
  PKEY_INDEX(rdma_h.IBV_QP_PKEY_INDEX()),
  /** The local port. */
  PORT(rdma_h.IBV_QP_PORT()),
  /** The Q_Key. */
  QKEY(rdma_h.IBV_QP_QKEY()),
  /** The address vector. */
  AV(rdma_h.IBV_QP_AV()),
  /** The path MTU. */
  PATH_MTU(rdma_h.IBV_QP_PATH_MTU()),
  /** The local ACK timeout. */
  TIMEOUT(rdma_h.IBV_QP_TIMEOUT()),
  /** The retry count. */
  RETRY_CNT(rdma_h.IBV_QP_RETRY_CNT()),
  /** The RNR retry count. */
  RNR_RETRY(rdma_h.IBV_QP_RNR_RETRY()),
  /** The PSN of the first packet that is received. */
  RQ_PSN(rdma_h.IBV_QP_RQ_PSN()),
  /** The maximum number of outstanding RDMA reads and atomic operations as initiator. */
  MAX_QP_RD_ATOMIC(rdma_h.IBV_QP_MAX_QP_RD_ATOMIC()),
  /** The alternate path. */
  ALT_PATH(rdma_h.IBV_QP_ALT_PATH()),
  /** The minimum RNR NAK timer. */
  MIN_RNR_TIMER(rdma_h.IBV_QP_MIN_RNR_TIMER()),
  /** The PSN of the first packet that is sent. */
  SQ_PSN(rdma_h.IBV_QP_SQ_PSN()),
  /** The maximum number of outstanding RDMA reads and atomic operations as target. */
  MAX_DEST_RD_ATOMIC(rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC()),
  /** The path migration state. */
  PATH_MIG_STATE(rdma_h.IBV_QP_PATH_MIG_STATE()),
  /** The capacity of the queues. */
  CAP(rdma_h.IBV_QP_CAP()),
  /** The QPN of the destination. */
  DEST_QPN(rdma_h.IBV_QP_DEST_QPN()),
  /** The rate limit. */
  RATE_LIMIT(rdma_h.IBV_QP_RATE_LIMIT());

  private final long bit;

  QueuePairAttribute(long bit) {
    this.bit = bit;
  }

  @Override
  public long bit() {
    return bit;
  }
}
