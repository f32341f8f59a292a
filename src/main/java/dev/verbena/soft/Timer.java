package dev.verbena.soft;

/** A timer: an action at a time, unless it is stopped before. Used under the network's lock. */
abstract class Timer {
  private final TimerQueue queue;

  /** When, in nanoseconds of the network's clock. */
  long deadline;

  /** Its place in the queue, or -1. */
  int index = -1;

  Timer(TimerQueue queue) {
    this.queue = queue;
  }

  final boolean isRunning() {
    return index >= 0;
  }

  /** Starts it, or starts it anew. */
  final void start(long newDeadline) {
    stop();
    deadline = newDeadline;
    queue.add(this);
  }

  final void stop() {
    if (index >= 0) {
      queue.remove(this);
    }
  }

  /** Called when the time has come; the timer no longer runs then. */
  abstract void expired();
}
