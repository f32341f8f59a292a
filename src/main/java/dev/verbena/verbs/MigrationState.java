package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** What a connection does with its alternate path: {@code enum ibv_mig_state}. */
public enum MigrationState implements Codes.Code {
  /** There is one path in use; setting it makes the alternate path that one, now. */
  MIGRATED(rdma_h.IBV_MIG_MIGRATED()),
  /** The alternate path is being agreed with the peer; setting it asks for that. */
  REARM(rdma_h.IBV_MIG_REARM()),
  /** The alternate path is ready to be taken. */
  ARMED(rdma_h.IBV_MIG_ARMED());

  private final int code;

  MigrationState(int code) {
    this.code = code;
  }

  @Override
  public int code() {
    return code;
  }
}
