package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/**
 * What {@code ibv_modify_qp} may change: {@code enum ibv_qp_attr_mask}, under the names it has
 * there after {@code IBV_QP_}.
 */
public enum QueuePairAttribute implements Flags.Flag {
  /** The state to go to. */
  STATE(rdma_h.IBV_QP_STATE()),
  /** The state that the queue pair is assumed to be in. */
  CUR_STATE(rdma_h.IBV_QP_CUR_STATE()),
  /** Whether an event tells when the send queue is drained. */
  EN_SQD_ASYNC_NOTIFY(rdma_h.IBV_QP_EN_SQD_ASYNC_NOTIFY()),
  /** What the peer may do. */
  ACCESS_FLAGS(rdma_h.IBV_QP_ACCESS_FLAGS()),
  /** The partition. */
  PKEY_INDEX(rdma_h.IBV_QP_PKEY_INDEX()),
  /** The port. */
  PORT(rdma_h.IBV_QP_PORT()),
  /** The key that datagrams must carry. */
  QKEY(rdma_h.IBV_QP_QKEY()),
  /** The path to the peer. */
  AV(rdma_h.IBV_QP_AV()),
  /** The largest packet of the path. */
  PATH_MTU(rdma_h.IBV_QP_PATH_MTU()),
  /** How long to wait for an acknowledgement. */
  TIMEOUT(rdma_h.IBV_QP_TIMEOUT()),
  /** How often to send again what is not acknowledged. */
  RETRY_CNT(rdma_h.IBV_QP_RETRY_CNT()),
  /** How often to send again what the peer had no receive for. */
  RNR_RETRY(rdma_h.IBV_QP_RNR_RETRY()),
  /** The number of the first packet that is received. */
  RQ_PSN(rdma_h.IBV_QP_RQ_PSN()),
  /** How many reads and atomics may be under way. */
  MAX_QP_RD_ATOMIC(rdma_h.IBV_QP_MAX_QP_RD_ATOMIC()),
  /** The path to change to when the first one fails. */
  ALT_PATH(rdma_h.IBV_QP_ALT_PATH()),
  /** How long the peer waits when there is no receive for what it sent. */
  MIN_RNR_TIMER(rdma_h.IBV_QP_MIN_RNR_TIMER()),
  /** The number of the first packet that is sent. */
  SQ_PSN(rdma_h.IBV_QP_SQ_PSN()),
  /** How many reads and atomics of the peer are served at a time. */
  MAX_DEST_RD_ATOMIC(rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC()),
  /** Whether the alternate path is armed or taken. */
  PATH_MIG_STATE(rdma_h.IBV_QP_PATH_MIG_STATE()),
  /** How much the queues hold. */
  CAP(rdma_h.IBV_QP_CAP()),
  /** The peer's queue pair. */
  DEST_QPN(rdma_h.IBV_QP_DEST_QPN()),
  /** How fast to send. */
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
