package dev.verbena.internal.calls;

/** The data path of one completion queue: by calls of C functions, or in Java. */
public interface CompletionQueueCalls {
  /** Polls up to a number of completions; a negative result is a failure. */
  int ibv_poll_cq(int numEntries, long wc);

  /** Requests a completion event for the next completion; the result is an errno. */
  int ibv_req_notify_cq(int solicitedOnly);

  /** Called after a completion event of the queue was read: {@code ibv_get_cq_event}. */
  default void wasNotified() {}
}
