package dev.verbena.cm;

import dev.verbena.verbs.CompletionFlag;
import dev.verbena.verbs.Completions;
import java.lang.foreign.MemorySegment;

/**
 * The receive queue of a connection: a receive for each of its slots, posted again as soon as its
 * message is taken. Used by one thread at a time.
 */
final class Inbox {
  /** What was found in the queue. */
  enum Found {
    /** A message, to be taken. */
    MESSAGE,
    /** The mark by which a {@link Connection} ends. */
    END,
    /** A receive that failed; all others fail, too. */
    FAILURE,
    /** Nothing in time. */
    NOTHING
  }

  private final Transfers transfers;
  private final MessageSlots slots;
  private final Completions completions = new Completions(1);

  Inbox(Transfers transfers, int receives, int messageSize) {
    this.transfers = transfers;
    this.slots = new MessageSlots(transfers, receives, messageSize);
    for (int slot = 0; slot < receives; slot++) {
      post(slot);
    }
  }

  private void post(int slot) {
    transfers.receive(slot, slots.region(), slots.offset(slot), slots.size());
  }

  /** Waits for the next message, or what ends the waiting. */
  Found await(Deadline deadline) throws InterruptedException {
    if (transfers.awaitReceives(completions, deadline.remaining()) == 0) {
      return Found.NOTHING;
    }
    if (!completions.isSuccess(0)) {
      return Found.FAILURE;
    }
    return completions.has(0, CompletionFlag.WITH_IMM)
            && completions.immediate(0) == Outbox.END_MARK
        ? Found.END
        : Found.MESSAGE;
  }

  /** Why the receive that was found last failed. */
  String failure() {
    return completions.describe(0);
  }

  /** The message that was found, until it is {@linkplain #release released}. */
  MemorySegment message() {
    return slots.slice(slot(), completions.byteLength(0));
  }

  /** Makes room for the next message. */
  void release() {
    post(slot());
  }

  private int slot() {
    return (int) completions.id(0);
  }
}
