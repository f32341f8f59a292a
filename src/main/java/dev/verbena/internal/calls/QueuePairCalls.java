package dev.verbena.internal.calls;

/** The data path of one queue pair: by calls of C functions, or in Java. */
public interface QueuePairCalls {
  /**
   * Posts a list of send requests; the result is an errno, {@code badWr} the first request that was
   * not posted.
   */
  int ibv_post_send(long wr, long badWr);

  /**
   * Posts a list of receive requests; the result is an errno, {@code badWr} the first request that
   * was not posted.
   */
  int ibv_post_recv(long wr, long badWr);

  /** Returns whether it is in Java: the provider must not post to the queue pair then. */
  default boolean isDirect() {
    return false;
  }

  /**
   * Returns a session, if {@link #isDirect}.
   *
   * @param requests the number of its requests
   * @param wc the address of a {@code struct ibv_wc} for completions that are not plain
   */
  default SessionCalls session(int requests, long wc) {
    throw new IllegalStateException("the provider posts to this queue pair");
  }

  /**
   * Posts the binding of a memory window of type 1.
   *
   * @return an errno
   */
  default int ibv_bind_mw(long mw, long mwBind) {
    throw new IllegalStateException("the provider posts to this queue pair");
  }

  /** Called after a transition of the queue pair to RESET. */
  default void wasReset() {}

  /**
   * Destroys the queue pair.
   *
   * @param destruction calls {@code ibv_destroy_qp}
   */
  default void destroy(Runnable destruction) {
    destruction.run();
  }
}
