package dev.verbena.values;

import dev.verbena.NativeFlag;
import dev.verbena.raw.rdma_h;

/** A creation flag of a queue pair: {@code enum ibv_qp_create_flags}. */
public enum QueuePairFlag implements NativeFlag {
  /** The queue pair does not receive the multicast packets that it sends. */
  BLOCK_SELF_MCAST_LB(rdma_h.IBV_QP_CREATE_BLOCK_SELF_MCAST_LB()),
  /** The frame check sequence (FCS) of raw packets is received. */
  SCATTER_FCS(rdma_h.IBV_QP_CREATE_SCATTER_FCS()),
  /** The VLAN tag of received raw packets is removed. */
  CVLAN_STRIPPING(rdma_h.IBV_QP_CREATE_CVLAN_STRIPPING()),
  /** PCI writes are padded to whole cache lines. */
  PCI_WRITE_END_PADDING(rdma_h.IBV_QP_CREATE_PCI_WRITE_END_PADDING());

  private final long bit;

  QueuePairFlag(long bit) {
    this.bit = bit;
  }

  @Override
  public long bit() {
    return bit;
  }
}
