package dev.verbena.internal;

/**
 * Whether the data path of one context may be called critically.
 *
 * <p>A critical call holds up every safepoint of the JVM until it is back. So it must not wait for
 * a thread that is in Java, and it would, where C keeps a spin lock from one call to the next: from
 * {@code ibv_wr_start} to {@code ibv_wr_complete} that of the send queue, from {@code
 * ibv_start_poll} to {@code ibv_end_poll} that of the completion queue. If its owner is stopped at
 * a safepoint in between, the JVM stands still for ever. And not only calls on the same queue wait:
 * mlx5 takes the completion queue's lock to post to a queue pair that looks full, efa takes the
 * send queue's lock to poll. The first object that can keep a lock therefore ends all critical
 * calls of its context.
 */
public final class CriticalCalls {
  /** Not volatile: whoever opens such an object made it before, with calls of C in between. */
  private boolean allowed;

  /**
   * Begins as the device allows.
   *
   * @param allowed whether posting and polling stay in user space and never call back
   */
  public CriticalCalls(boolean allowed) {
    this.allowed = allowed;
  }

  /** Whether a call may be critical now. */
  public boolean areAllowed() {
    return allowed;
  }

  /** Makes all further calls plain ones, since C is going to keep locks between calls. */
  public void end() {
    allowed = false;
  }
}
