package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** What a work queue does with packets: {@code enum ibv_wq_flags}. */
public enum WorkQueueFlag implements Flags.Flag {
  /** Takes the VLAN tag off, and tells it in the completion. */
  CVLAN_STRIPPING(rdma_h.IBV_WQ_FLAGS_CVLAN_STRIPPING()),
  /** Leaves the frame check sequence at the end. */
  SCATTER_FCS(rdma_h.IBV_WQ_FLAGS_SCATTER_FCS()),
  /** Waits a moment for a receive to be posted before a packet is dropped. */
  DELAY_DROP(rdma_h.IBV_WQ_FLAGS_DELAY_DROP()),
  /** Fills writes up to whole cache lines. */
  PCI_WRITE_END_PADDING(rdma_h.IBV_WQ_FLAGS_PCI_WRITE_END_PADDING());

  private final long bit;

  WorkQueueFlag(int bit) {
    this.bit = bit;
  }

  @Override
  public long bit() {
    return bit;
  }
}
