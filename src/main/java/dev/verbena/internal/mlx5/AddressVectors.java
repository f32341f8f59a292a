package dev.verbena.internal.mlx5;

import dev.verbena.internal.Mlx5dv;

/**
 * Finds the address vector of an address handle, which is a part of libmlx5's struct. All handles
 * have it at the same offset, which the first one shows.
 */
final class AddressVectors {
  private final Mlx5dv functions;
  private volatile long offset = -1;

  AddressVectors(Mlx5dv functions) {
    this.functions = functions;
  }

  /** Returns the address of the {@code struct mlx5_wqe_av} of a {@code struct ibv_ah}. */
  long of(long handle) {
    long known = offset;
    if (known < 0) {
      known = QueueMemory.addressVector(functions, handle) - handle;
      offset = known;
    }
    return handle + known;
  }
}
