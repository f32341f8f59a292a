package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** What may be done to registered memory: {@code enum ibv_access_flags}. Local read always may. */
public enum AccessFlag implements Flags.Flag {
  /** The device may write for local operations: receives, reads, atomics. */
  LOCAL_WRITE(rdma_h.IBV_ACCESS_LOCAL_WRITE()),
  /** Peers may write; needs {@link #LOCAL_WRITE}. */
  REMOTE_WRITE(rdma_h.IBV_ACCESS_REMOTE_WRITE()),
  /** Peers may read. */
  REMOTE_READ(rdma_h.IBV_ACCESS_REMOTE_READ()),
  /** Peers may use atomic operations; needs {@link #LOCAL_WRITE}. */
  REMOTE_ATOMIC(rdma_h.IBV_ACCESS_REMOTE_ATOMIC()),
  /** Memory windows may be bound to the region. */
  MW_BIND(rdma_h.IBV_ACCESS_MW_BIND()),
  /** Remote addresses count from 0 instead of from the region's address. */
  ZERO_BASED(rdma_h.IBV_ACCESS_ZERO_BASED()),
  /** Pages are brought in when the device touches them, not pinned. */
  ON_DEMAND(rdma_h.IBV_ACCESS_ON_DEMAND()),
  /** The memory is in huge pages; a hint for on-demand paging. */
  HUGETLB(rdma_h.IBV_ACCESS_HUGETLB()),
  /** Peers may flush to make their writes visible to everybody. */
  FLUSH_GLOBAL(rdma_h.IBV_ACCESS_FLUSH_GLOBAL()),
  /** Peers may flush to make their writes persistent. */
  FLUSH_PERSISTENT(rdma_h.IBV_ACCESS_FLUSH_PERSISTENT()),
  /** The device may reorder its accesses; ignored where it cannot. */
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
