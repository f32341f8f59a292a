package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** What a queue pair is ready for: {@code enum ibv_qp_state}. */
public enum QueuePairState implements Codes.Code {
  /** New: nothing is set. */
  RESET(rdma_h.IBV_QPS_RESET()),
  /** Receives may be posted, but nothing is received yet. */
  INIT(rdma_h.IBV_QPS_INIT()),
  /** Ready to receive: the peer is known. */
  RTR(rdma_h.IBV_QPS_RTR()),
  /** Ready to send: in full use. */
  RTS(rdma_h.IBV_QPS_RTS()),
  /** Send queue drained: sends that were begun are ended, no new ones are. */
  SQD(rdma_h.IBV_QPS_SQD()),
  /** Send queue error: an unconnected queue pair that failed to send, and still receives. */
  SQE(rdma_h.IBV_QPS_SQE()),
  /** Error: all requests complete as flushed, until the queue pair is reset. */
  ERR(rdma_h.IBV_QPS_ERR()),
  /** The device does not know. */
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
