package dev.verbena.cm;

import dev.verbena.verbs.CompletionStatus;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.SendList;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;

/**
 * The send queue of a connection: the requests that are posted and not completed yet, at most as
 * many as it has slots. They complete in the order in which they were posted. Used by one thread at
 * a time.
 */
final class Outbox {
  /** The immediate data of the message that ends a connection: "Vend". */
  static final int END_MARK = 0x56656e64;

  /** Posts a request; false if the queue is full. */
  interface Request {
    boolean post();
  }

  private final Transfers transfers;
  private final int depth;
  private final MessageSlots slots;
  private final MessageSlots result;
  private final Completions completions;
  private int outstanding;
  private int next;

  /** Why the first request failed, or null. Other threads look at it when receives fail. */
  private volatile @Nullable String failure;

  private volatile boolean flushed;

  Outbox(Transfers transfers, int depth, int messageSize) {
    this.transfers = transfers;
    this.depth = depth;
    this.slots = new MessageSlots(transfers, depth, messageSize);
    this.result = new MessageSlots(transfers, 1, Long.BYTES);
    this.completions = new Completions(depth);
  }

  /** Waits until a request can be posted; false if the time is over before. */
  boolean awaitRoom(Deadline deadline) throws InterruptedException {
    return await(depth - 1, deadline);
  }

  /** Waits until every request is done; false if the time is over before. */
  boolean awaitAll(Deadline deadline) throws InterruptedException {
    return await(0, deadline);
  }

  private boolean await(int most, Deadline deadline) throws InterruptedException {
    while (outstanding > most) {
      int count = transfers.awaitSends(completions, deadline.remaining());
      if (count == 0) {
        return false;
      }
      for (int i = 0; i < count; i++) {
        note(i);
      }
      outstanding -= count;
    }
    return true;
  }

  private void note(int index) {
    if (failure == null && !completions.isSuccess(index)) {
      flushed = completions.status(index) == CompletionStatus.WR_FLUSH_ERR;
      failure = completions.describe(index);
    }
  }

  /** Posts a request, once there is room. */
  void post(Request request) {
    if (!request.post()) {
      throw new IllegalStateException("requests that were posted by transfers() fill the queue");
    }
    outstanding++;
    next = (next + 1) % depth;
  }

  /** Copies a message into the next slot, and posts it. */
  void send(MemorySegment message) {
    long length = message.byteSize();
    slots.slice(next, length).copyFrom(message);
    post(() -> transfers.send(0, slots.region(), slots.offset(next), length));
  }

  /** Tells the peer's connection that this one ends in order. */
  void sendEndMark() {
    SendList mark = new SendList(1, 1);
    mark.sendWithImmediate(0, END_MARK).signaled();
    post(() -> transfers.post(mark) == 1);
  }

  /** Where an atomic leaves the value that was there before. */
  MemoryRegion result() {
    return result.region();
  }

  /** What the last atomic left. */
  long resultValue() {
    return result.region().memory().get(ValueLayout.JAVA_LONG, 0);
  }

  /** Why the first request failed, or null if none did. */
  @Nullable String failure() {
    return failure;
  }

  /** Whether the first request that failed was merely flushed: something else was the reason. */
  boolean wasFlushed() {
    return flushed;
  }
}
