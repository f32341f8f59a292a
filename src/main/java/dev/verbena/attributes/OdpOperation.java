package dev.verbena.attributes;

import dev.verbena.NativeFlag;
import dev.verbena.raw.rdma_h;

/** An operation that supports on-demand paging: {@code enum ibv_odp_transport_cap_bits}. */
public enum OdpOperation implements NativeFlag {
  /** Sends. */
  SEND(rdma_h.IBV_ODP_SUPPORT_SEND()),
  /** Receives. */
  RECV(rdma_h.IBV_ODP_SUPPORT_RECV()),
  /** RDMA writes. */
  WRITE(rdma_h.IBV_ODP_SUPPORT_WRITE()),
  /** RDMA reads. */
  READ(rdma_h.IBV_ODP_SUPPORT_READ()),
  /** Atomic operations. */
  ATOMIC(rdma_h.IBV_ODP_SUPPORT_ATOMIC()),
  /** Receives of a shared receive queue. */
  SRQ_RECV(rdma_h.IBV_ODP_SUPPORT_SRQ_RECV()),
  /** RDMA flushes. */
  FLUSH(rdma_h.IBV_ODP_SUPPORT_FLUSH()),
  /** Atomic writes. */
  ATOMIC_WRITE(rdma_h.IBV_ODP_SUPPORT_ATOMIC_WRITE());

  private final long bit;

  OdpOperation(long bit) {
    this.bit = bit;
  }

  @Override
  public long bit() {
    return bit;
  }
}
