package dev.verbena.soft.engine;

/** What schedules the work of a network: soon, or at a time. */
public interface Scheduler {
  /** Runs a task soon. Any thread may call this; it neither waits nor allocates. */
  void request(Task task);

  /** Returns the time of the current turn, in nanoseconds. Called under the network's lock. */
  long now();

  /** Returns the timers that run. Used under the network's lock. */
  TimerQueue timers();
}
