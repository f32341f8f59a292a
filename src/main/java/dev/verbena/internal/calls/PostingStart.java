package dev.verbena.internal.calls;

/** Starts the postings of a queue pair whose provider cannot be called while its queue is full. */
public interface PostingStart {
  /**
   * Calls {@code ibv_wr_start}, unless the send queue is full.
   *
   * @return whether a posting was started: at least its first request has room
   */
  boolean start();
}
