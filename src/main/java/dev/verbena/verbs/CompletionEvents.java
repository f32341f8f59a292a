package dev.verbena.verbs;

import dev.verbena.internal.Verbs;

/**
 * The events of one completion queue that were read from its channel and not yet acknowledged.
 *
 * <p>Destroying a queue waits in C until each of its events is acknowledged, and acknowledging
 * takes a lock in C. So events are counted here and acknowledged in batches, and at once when the
 * queue is about to be destroyed.
 */
final class CompletionEvents {
  private static final int BATCH = 64;

  private final Verbs verbs;
  private final long address;
  private volatile CompletionQueue queue;
  private int unacknowledged;

  CompletionEvents(Verbs verbs, long address) {
    this.verbs = verbs;
    this.address = address;
  }

  void of(CompletionQueue queue) {
    this.queue = queue;
  }

  CompletionQueue queue() {
    return queue;
  }

  boolean isOf(long address) {
    return this.address == address;
  }

  /** An event was read. */
  synchronized void count() {
    unacknowledged++;
    if (unacknowledged == BATCH || !queue.isOpen()) {
      acknowledge();
    }
  }

  /** Nothing that was read so far keeps C from destroying the queue. */
  synchronized void acknowledge() {
    if (unacknowledged > 0) {
      verbs.ibv_ack_cq_events(address, unacknowledged);
      unacknowledged = 0;
    }
  }
}
