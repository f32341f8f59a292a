package dev.verbena.values;

import dev.verbena.NativeFlag;
import dev.verbena.raw.rdma_h;

/** The placement type of a remote flush: {@code enum ibv_placement_type}. */
public enum FlushPlacement implements NativeFlag {
  /** Global visibility: the data is visible to all readers. */
  GLOBAL(rdma_h.IBV_FLUSH_GLOBAL()),
  /** Persistence: the data survives a power failure. */
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
