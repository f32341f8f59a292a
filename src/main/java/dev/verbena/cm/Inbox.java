package dev.verbena.cm;

import dev.verbena.verbs.CompletionFlag;
import dev.verbena.verbs.CompletionStatus;
import dev.verbena.verbs.Completions;
import java.lang.foreign.MemorySegment;

/**
 * The receive queue of a connection, with a buffer for each receive request, which is posted again
 * when its message was taken. Used by one thread at a time.
 */
final class Inbox {
  /** The result of a wait. */
  enum Found {
    /** A message. */
    MESSAGE,
    /** The last message of a {@link Connection} that was closed. */
    END,
    /** A failed receive request; all others fail, too. */
    FAILURE,
    /** The deadline has passed. */
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
    if (!transfers.receive(slot, slots.region(), slots.offset(slot), slots.size())) {
      throw new IllegalStateException(
          "the receive queue is full: it holds fewer requests than slots");
    }
  }

  /** Waits for the next message, the end, a failure or the deadline. */
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

  /** Returns the status of the failed receive request. */
  String failure() {
    return completions.describe(0);
  }

  /** Returns whether the failed receive request was flushed, and so failed for another reason. */
  boolean wasFlushed() {
    return completions.status(0) == CompletionStatus.WR_FLUSH_ERR;
  }

  /** Returns the message that arrived, valid until it is {@linkplain #release released}. */
  MemorySegment message() {
    return slots.slice(slot(), completions.byteLength(0));
  }

  /** Posts the receive request again. */
  void release() {
    post(slot());
  }

  private int slot() {
    return (int) completions.id(0);
  }
}
