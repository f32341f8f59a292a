package dev.verbena.values;

import dev.verbena.NativeConstant;
import dev.verbena.raw.rdma_h;
import dev.verbena.verbs.MemoryWindow;

/** The type of a memory window: {@code enum ibv_mw_type}. */
public enum MemoryWindowType implements NativeConstant {
  /**
   * Type 1: bound by {@link MemoryWindow#bind}, which selects the remote key; valid for any queue
   * pair of the protection domain.
   */
  TYPE_1(rdma_h.IBV_MW_TYPE_1()),
  /**
   * Type 2: bound by a send request with the new remote key; valid for the queue pair that the
   * request is posted to.
   */
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
