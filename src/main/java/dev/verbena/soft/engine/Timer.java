package dev.verbena.soft.engine;

/** A timer: an action at a time, unless it is stopped before. Used under the network's lock. */
public abstract class Timer {
  private final TimerQueue queue;

  /** When, in nanoseconds of the network's clock. */
  long deadline;

  /** Its place in the queue, or -1. */
  int index = -1;

  public Timer(TimerQueue queue) {
    this.queue = queue;
  }

  public final boolean isRunning() {
    return index >= 0;
  }

  /** Starts it, or starts it anew. */
  public final void start(long newDeadline) {
    stop();
    deadline = newDeadline;
    queue.add(this);
  }

  public final void stop() {
    if (index >= 0) {
      queue.remove(this);
    }
  }

  /** Called when the time has come; the timer no longer runs then. */
  public abstract void expired();
}
