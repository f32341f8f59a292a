package dev.verbena.messages;

import dev.verbena.cm.Transfers;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.MessageCounter;
import dev.verbena.internal.Tally;
import dev.verbena.values.CompletionFlag;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.WorkRequestException;
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

  /** Whether a message was found and not yet released. */
  private boolean held;

  /** What is counted of messages, which any thread may read. */
  final Tally tally = new Tally();

  Inbox(Transfers transfers, MessageSlots slots, int receives) {
    this.transfers = transfers;
    this.slots = slots;
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

  /**
   * Waits for the next message, the end, a failure or the deadline. Finds a message again until it
   * is released.
   */
  Found await(Deadline deadline) throws InterruptedException {
    if (held) {
      return Found.MESSAGE;
    }
    if (transfers.awaitReceives(completions, deadline.remaining()) == 0) {
      return Found.NOTHING;
    }
    if (!completions.isSuccess(0)) {
      return Found.FAILURE;
    }
    if (completions.has(0, CompletionFlag.WITH_IMM)
        && completions.immediate(0) == Outbox.END_MARK) {
      return Found.END;
    }
    tally.add(MessageCounter.CONNECTION_MESSAGES, 1);
    held = true;
    return Found.MESSAGE;
  }

  /** Returns the failed receive request. */
  WorkRequestException failure() {
    return new WorkRequestException("receiving", completions, 0);
  }

  /** Returns the message that arrived, valid until it is {@linkplain #release released}. */
  MemorySegment message() {
    return slots.slice(slot(), completions.byteLength(0));
  }

  /** Posts the receive request again. */
  void release() {
    held = false;
    post(slot());
  }

  /** Returns the number of messages that arrived. Any thread may call this. */
  long received() {
    return tally.get(MessageCounter.CONNECTION_MESSAGES);
  }

  private int slot() {
    return (int) completions.id(0);
  }
}
