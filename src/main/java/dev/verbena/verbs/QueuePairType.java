package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** The transport service of a queue pair: {@code enum ibv_qp_type}. */
public enum QueuePairType implements Codes.Code {
  /** Reliable connection: one peer, in order, acknowledged. */
  RC(rdma_h.IBV_QPT_RC()),
  /** Unreliable connection: one peer, packets may be lost. */
  UC(rdma_h.IBV_QPT_UC()),
  /** Unreliable datagram: any peer, single packets, multicast. */
  UD(rdma_h.IBV_QPT_UD()),
  /** Raw Ethernet packets. */
  RAW_PACKET(rdma_h.IBV_QPT_RAW_PACKET()),
  /** The sending end of an extended reliable connection. */
  XRC_SEND(rdma_h.IBV_QPT_XRC_SEND()),
  /** The receiving end of an extended reliable connection. */
  XRC_RECEIVE(rdma_h.IBV_QPT_XRC_RECV()),
  /** A service of the device's own. */
  DRIVER(rdma_h.IBV_QPT_DRIVER());

  private final int code;

  QueuePairType(int code) {
    this.code = code;
  }

  @Override
  public int code() {
    return code;
  }
}
