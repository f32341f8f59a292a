package dev.verbena.soft.engine;

import dev.verbena.internal.time.Time;

/**
 * Whether programs poll the completion queues of a network without pause, by the turns that their
 * polls run. Changed under the network's lock, but for {@link #leave}; read by any thread.
 */
final class Pollers {
  /** The number of consecutive turns after which a program is taken to poll without pause. */
  private static final int TURNS = 64;

  /** A longer time between two turns is a pause. */
  private static final long PAUSE_NANOS = 200_000;

  /** After so long without a turn no program polls. */
  private final long absenceNanos;

  /** How many turns were run without pause, and when the last one was. */
  private volatile int turns;

  private volatile long lastTurn;

  private volatile boolean arePolling;

  Pollers(long absenceNanos) {
    this.absenceNanos = absenceNanos;
    lastTurn = Time.now() - absenceNanos;
  }

  /** A poll has run a turn. */
  void turned(long now) {
    boolean paused = now - lastTurn > PAUSE_NANOS;
    lastTurn = now;
    turns = paused ? 0 : turns + 1;
    if (turns >= TURNS) {
      arePolling = true;
    }
  }

  /** A program stops polling, and waits for an event. */
  void leave() {
    arePolling = false;
    turns = 0;
  }

  /** Whether programs poll, which were found to do so without pause, and have since. */
  boolean arePolling(long time) {
    if (arePolling && time - lastTurn > absenceNanos) {
      arePolling = false;
    }
    return arePolling;
  }
}
