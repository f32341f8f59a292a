package dev.verbena.soft.engine;

/** A timer: an action at a time, unless it is stopped before. Used under the network's lock. */
public final class Timer {
  private final TimerQueue queue;
  private final Runnable action;

  /** When, in nanoseconds of the network's clock. */
  long deadline;

  /** Its place in the queue, or -1. */
  int index = -1;

  /**
   * Creates a timer.
   *
   * @param action runs when the time has come; the timer no longer runs then
   */
  public Timer(TimerQueue queue, Runnable action) {
    this.queue = queue;
    this.action = action;
  }

  public boolean isRunning() {
    return index >= 0;
  }

  /** Starts it, or starts it anew. */
  public void start(long newDeadline) {
    stop();
    deadline = newDeadline;
    queue.add(this);
  }

  public void stop() {
    if (index >= 0) {
      queue.remove(this);
    }
  }

  void expire() {
    action.run();
  }
}
