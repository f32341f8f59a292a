package dev.verbena.values;

import dev.verbena.NativeFlag;
import dev.verbena.raw.rdma_h;

/** A hash function of receive side scaling (RSS): {@code enum ibv_rx_hash_function_flags}. */
public enum ReceiveHashFunction implements NativeFlag {
  /** The Toeplitz hash. */
  TOEPLITZ(rdma_h.IBV_RX_HASH_FUNC_TOEPLITZ());

  private final long bit;

  ReceiveHashFunction(long bit) {
    this.bit = bit;
  }

  @Override
  public long bit() {
    return bit;
  }
}
