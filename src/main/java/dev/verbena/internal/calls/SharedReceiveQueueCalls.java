package dev.verbena.internal.calls;

/** The data path of one shared receive queue: by a call of a C function, or in Java. */
public interface SharedReceiveQueueCalls {
  /**
   * Posts a list of receive requests; the result is an errno, {@code badWr} the first request that
   * was not posted.
   */
  int ibv_post_srq_recv(long wr, long badWr);

  /** Returns whether it is in Java: the provider must not post to the queue then. */
  default boolean isDirect() {
    return false;
  }
}
