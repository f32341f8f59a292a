package dev.verbena.attributes;

import dev.verbena.NativeConstant;
import dev.verbena.raw.rdma_h;

/** The transport type of a device: {@code enum ibv_transport_type}. */
public enum TransportType implements NativeConstant {
  /** InfiniBand and RoCE. */
  IB(rdma_h.IBV_TRANSPORT_IB()),
  /** iWARP. */
  IWARP(rdma_h.IBV_TRANSPORT_IWARP()),
  /** usNIC. */
  USNIC(rdma_h.IBV_TRANSPORT_USNIC()),
  /** usNIC over UDP. */
  USNIC_UDP(rdma_h.IBV_TRANSPORT_USNIC_UDP()),
  /** Another transport, such as that of EFA. */
  UNSPECIFIED(rdma_h.IBV_TRANSPORT_UNSPECIFIED()),
  /** A type that this library does not know. */
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
