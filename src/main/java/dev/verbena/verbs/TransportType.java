package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** How a device talks to others: {@code enum ibv_transport_type}. */
public enum TransportType implements Codes.Code {
  /** InfiniBand, and RoCE, which carries InfiniBand's packets over Ethernet. */
  IB(rdma_h.IBV_TRANSPORT_IB()),
  /** iWARP. */
  IWARP(rdma_h.IBV_TRANSPORT_IWARP()),
  /** usNIC. */
  USNIC(rdma_h.IBV_TRANSPORT_USNIC()),
  /** usNIC over UDP. */
  USNIC_UDP(rdma_h.IBV_TRANSPORT_USNIC_UDP()),
  /** None of the kinds above, such as EFA. */
  UNSPECIFIED(rdma_h.IBV_TRANSPORT_UNSPECIFIED()),
  /** A kind that is newer than this library. */
  UNKNOWN(rdma_h.IBV_TRANSPORT_UNKNOWN());

  private final int code;

  TransportType(int code) {
    this.code = code;
  }

  @Override
  public int code() {
    return code;
  }
}
