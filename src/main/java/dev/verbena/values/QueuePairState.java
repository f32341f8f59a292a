package dev.verbena.values;

import dev.verbena.NativeConstant;
import dev.verbena.raw.rdma_h;

/** The state of a queue pair: {@code enum ibv_qp_state}. */
public enum QueuePairState implements NativeConstant {
  /** Reset: the state after creation. */
  RESET(rdma_h.IBV_QPS_RESET()),
  /** Initialized: receive requests can be posted, but packets are not received. */
  INIT(rdma_h.IBV_QPS_INIT()),
  /** Ready to receive. */
  RTR(rdma_h.IBV_QPS_RTR()),
  /** Ready to send. */
  RTS(rdma_h.IBV_QPS_RTS()),
  /** Send queue drained: send requests that were begun are completed, no others are begun. */
  SQD(rdma_h.IBV_QPS_SQD()),
  /** Send queue error, of unconnected types: sending failed, receiving continues. */
  SQE(rdma_h.IBV_QPS_SQE()),
  /** Error: all work requests complete with {@link CompletionStatus#WR_FLUSH_ERR}. */
  ERR(rdma_h.IBV_QPS_ERR()),
  /** Unknown to the device. */
  UNKNOWN(rdma_h.IBV_QPS_UNKNOWN());

  private final int code;

  QueuePairState(int code) {
    this.code = code;
  }

  @Override
  public int code() {
    return code;
  }
}
