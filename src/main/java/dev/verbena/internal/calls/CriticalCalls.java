package dev.verbena.internal.calls;

/**
 * Whether data path calls of one context may be critical.
 *
 * <p>A critical call delays each safepoint of the JVM until it returns. It must not wait for a
 * thread that runs Java code; it would do so if the provider keeps a spin lock between two calls:
 * from {@code ibv_wr_start} to {@code ibv_wr_complete} that of the send queue, from {@code
 * ibv_start_poll} to {@code ibv_end_poll} that of the completion queue. If the owner of the lock is
 * stopped at a safepoint in between, the JVM is deadlocked. Calls on other queues may wait, too:
 * mlx5 takes the completion queue's lock to post to a queue pair that looks full, efa takes the
 * send queue's lock to poll. The first object that can keep a lock therefore ends all critical
 * calls of its context.
 */
public final class CriticalCalls {
  /** Not volatile: the object was created before, with native calls in between. */
  private boolean allowed;

  /**
   * Creates the state of a context.
   *
   * @param allowed whether posting and polling stay in user space and never call back
   */
  public CriticalCalls(boolean allowed) {
    this.allowed = allowed;
  }

  /** Returns whether a call may be critical. */
  public boolean areAllowed() {
    return allowed;
  }

  /** Makes all further calls plain, because the provider is going to keep locks between calls. */
  public void end() {
    allowed = false;
  }
}
