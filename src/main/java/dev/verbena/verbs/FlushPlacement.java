package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** What a remote flush waits for: {@code enum ibv_placement_type}. */
public enum FlushPlacement implements Flags.Flag {
  /** Until everybody can see the data. */
  GLOBAL(rdma_h.IBV_FLUSH_GLOBAL()),
  /** Until the data outlives a loss of power. */
  PERSISTENT(rdma_h.IBV_FLUSH_PERSISTENT());

  private final long bit;

  FlushPlacement(int bit) {
    this.bit = bit;
  }

  @Override
  public long bit() {
    return bit;
  }
}
