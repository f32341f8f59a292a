package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** What is special about a queue pair: {@code enum ibv_qp_create_flags}. */
public enum QueuePairFlag implements Flags.Flag {
  /** What it sends to a multicast group does not come back to it. */
  BLOCK_SELF_MCAST_LB(rdma_h.IBV_QP_CREATE_BLOCK_SELF_MCAST_LB()),
  /** It receives the frame check sequence of raw packets. */
  SCATTER_FCS(rdma_h.IBV_QP_CREATE_SCATTER_FCS()),
  /** VLAN tags are taken off the raw packets that it receives. */
  CVLAN_STRIPPING(rdma_h.IBV_QP_CREATE_CVLAN_STRIPPING()),
  /** Its writes to memory are padded to whole cache lines. */
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
