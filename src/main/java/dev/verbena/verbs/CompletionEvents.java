package dev.verbena.verbs;

import dev.verbena.internal.Verbs;

/**
 * The completion events of one queue that were read from its channel and not yet acknowledged.
 *
 * <p>{@code ibv_destroy_cq} waits until each event of the queue is acknowledged, and {@code
 * ibv_ack_cq_events} takes a lock. So events are counted here and acknowledged in batches, and
 * before the queue is destroyed.
 */
final class CompletionEvents {
  private static final int BATCH = 64;

  private final Verbs verbs;
  private final long address;
  private final CompletionQueue queue;
  private int unacknowledged;

  CompletionEvents(Verbs verbs, long address, CompletionQueue queue) {
    this.verbs = verbs;
    this.address = address;
    this.queue = queue;
  }

  CompletionQueue queue() {
    return queue;
  }

  boolean isOf(long address) {
    return this.address == address;
  }

  /** Counts an event that was read. */
  synchronized void count() {
    queue.wasNotified();
    unacknowledged++;
    if (unacknowledged == BATCH || !queue.isOpen()) {
      acknowledge();
    }
  }

  /** Acknowledges all events that were counted. */
  synchronized void acknowledge() {
    if (unacknowledged > 0) {
      verbs.ibv_ack_cq_events(address, unacknowledged);
      unacknowledged = 0;
    }
  }
}
