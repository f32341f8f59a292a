package dev.verbena.internal.mlx5;

/** Where receive requests wait for messages: what a completion queue needs of it. */
interface ReceiveEntries {
  /**
   * Removes the entry of a completion.
   *
   * @param counter the entry's index in the completion queue entry
   * @return the {@code wr_id} of its request
   */
  long complete(int counter);
}
