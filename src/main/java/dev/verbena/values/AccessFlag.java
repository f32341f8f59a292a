package dev.verbena.values;

import dev.verbena.NativeFlag;
import dev.verbena.raw.rdma_h;

/**
 * An access flag of registered memory: {@code enum ibv_access_flags}. Local reads are always
 * allowed.
 */
public enum AccessFlag implements NativeFlag {
  /** Allows local writes: by receive requests, RDMA reads and atomic operations. */
  LOCAL_WRITE(rdma_h.IBV_ACCESS_LOCAL_WRITE()),
  /** Allows remote writes; requires {@link #LOCAL_WRITE}. */
  REMOTE_WRITE(rdma_h.IBV_ACCESS_REMOTE_WRITE()),
  /** Allows remote reads. */
  REMOTE_READ(rdma_h.IBV_ACCESS_REMOTE_READ()),
  /** Allows remote atomic operations; requires {@link #LOCAL_WRITE}. */
  REMOTE_ATOMIC(rdma_h.IBV_ACCESS_REMOTE_ATOMIC()),
  /** Allows the binding of memory windows. */
  MW_BIND(rdma_h.IBV_ACCESS_MW_BIND()),
  /** Remote addresses are offsets from the start of the region. */
  ZERO_BASED(rdma_h.IBV_ACCESS_ZERO_BASED()),
  /** Uses on-demand paging (ODP): pages are not pinned but mapped when the device accesses them. */
  ON_DEMAND(rdma_h.IBV_ACCESS_ON_DEMAND()),
  /**
   * Promises that all of the memory is in huge pages and remains so, for a region with {@link
   * #ON_DEMAND}. The program must do nothing that splits its pages.
   */
  HUGETLB(rdma_h.IBV_ACCESS_HUGETLB()),
  /** Allows remote flushes to global visibility. */
  FLUSH_GLOBAL(rdma_h.IBV_ACCESS_FLUSH_GLOBAL()),
  /** Allows remote flushes to persistence. */
  FLUSH_PERSISTENT(rdma_h.IBV_ACCESS_FLUSH_PERSISTENT()),
  /** Allows the device to reorder its accesses; ignored if it cannot. */
  RELAXED_ORDERING(rdma_h.IBV_ACCESS_RELAXED_ORDERING());

  private final long bit;

  AccessFlag(int bit) {
    this.bit = bit;
  }

  @Override
  public long bit() {
    return bit;
  }
}
