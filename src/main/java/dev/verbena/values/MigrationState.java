package dev.verbena.values;

import dev.verbena.NativeConstant;
import dev.verbena.raw.rdma_h;

/** The path migration state of a connection: {@code enum ibv_mig_state}. */
public enum MigrationState implements NativeConstant {
  /** The connection has migrated; setting it starts a migration to the alternate path. */
  MIGRATED(rdma_h.IBV_MIG_MIGRATED()),
  /** The alternate path is being loaded at both sides; setting it requests that. */
  REARM(rdma_h.IBV_MIG_REARM()),
  /** The alternate path is ready for migration. */
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
