package dev.verbena.packet;

/**
 * The completions for which a completion queue of a packet port generates its first completion
 * event: {@code ibv_req_notify_cq}.
 */
public enum CompletionNotification {
  /** No completion, until a notification is requested. */
  NONE,
  /** The first solicited or failed completion. */
  SOLICITED,
  /** The first completion. */
  ANY
}
