package dev.verbena.values;

import dev.verbena.NativeFlag;
import dev.verbena.raw.rdma_h;

/** A flag of a work queue: {@code enum ibv_wq_flags}. */
public enum WorkQueueFlag implements NativeFlag {
  /** The VLAN tag is removed and reported in the completion. */
  CVLAN_STRIPPING(rdma_h.IBV_WQ_FLAGS_CVLAN_STRIPPING()),
  /** The frame check sequence (FCS) is received. */
  SCATTER_FCS(rdma_h.IBV_WQ_FLAGS_SCATTER_FCS()),
  /** A packet waits for a receive request for some time before it is dropped. */
  DELAY_DROP(rdma_h.IBV_WQ_FLAGS_DELAY_DROP()),
  /** PCI writes are padded to whole cache lines. */
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
