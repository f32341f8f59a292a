package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** How a memory window is bound: {@code enum ibv_mw_type}. */
public enum MemoryWindowType implements Codes.Code {
  /**
   * By {@link MemoryWindow#bind}, which chooses the key; any queue pair of the domain may be used.
   */
  TYPE_1(rdma_h.IBV_MW_TYPE_1()),
  /** By a work request that names the new key; for the queue pair that it is posted to. */
  TYPE_2(rdma_h.IBV_MW_TYPE_2());

  private final int code;

  MemoryWindowType(int code) {
    this.code = code;
  }

  @Override
  public int code() {
    return code;
  }
}
