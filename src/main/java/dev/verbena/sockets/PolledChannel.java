package dev.verbena.sockets;

import java.util.List;

/** A channel that a selector of this package can wait for. */
interface PolledChannel {
  /** Returns the keys of the channel, one for each selector; any thread may change the list. */
  List<EventKey> keys();

  /** Returns the descriptor that shows the events of the channel; -1 if it has none any more. */
  default int descriptor() {
    return -1;
  }

  /** Returns the events of the descriptor that operations of a selection key depend on. */
  default int events(int operations) {
    return 0;
  }

  /** Reads the events of the descriptor, which a selector found. */
  default void readEvents(EventKey key) {}

  /** Returns whether the descriptor has its events as long as the channel is ready. */
  default boolean isReportedWhileReady() {
    return false;
  }

  /**
   * Returns those of the operations of a selection key that are ready, and requests events for the
   * others.
   *
   * @param events the events that a selector found; 0 if there were none
   */
  int readyOperations(int operations, int events);

  /** A key of the channel was removed from its selector. */
  default void deregistered() {}
}
