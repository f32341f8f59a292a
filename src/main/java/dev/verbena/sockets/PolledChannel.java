package dev.verbena.sockets;

/** A channel that a selector of this provider can wait for. */
sealed interface PolledChannel permits StreamChannel, ListeningChannel {
  /** Returns the rsocket. */
  Rsocket rsocket();

  /** Returns the events of {@code rpoll} that operations of a selection key depend on. */
  int pollEvents(int operations);

  /** Returns those of the operations of a selection key that are ready after events. */
  int readyOperations(int events, int operations);

  /** Returns whether the rsocket must be examined at intervals: see {@link Rsocket#TICK}. */
  boolean isExaminedAtIntervals();
}
