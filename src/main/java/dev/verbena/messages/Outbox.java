package dev.verbena.messages;

import dev.verbena.cm.Transfers;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.MessageCounter;
import dev.verbena.internal.Tally;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.WorkRequestException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The send queue of a connection, with a buffer for each outstanding request. Requests complete in
 * the order in which they were posted. Used by one thread at a time.
 */
final class Outbox {
  /** The immediate data of the message that ends a connection: "Vend". */
  static final int END_MARK = 0x56656e64;

  /** The id of requests that the library posts by itself; those of the program have 0. */
  private static final long OF_LIBRARY = 1;

  /** Posts an atomic operation; returns false if the queue is full. */
  interface Atomic {
    boolean post(MemoryRegion result, long offset);
  }

  private final Transfers transfers;
  private final int depth;
  private final MessageSlots slots;
  private final Completions completions;

  /** The number of outstanding requests. */
  private int outstanding;

  /** The number of those of the program among them, which any thread may read. */
  private volatile int ofProgram;

  /** The number of completed requests, which any thread may read. */
  private volatile long completed;

  /** What is counted of requests of the program, which any thread may read. */
  final Tally tally = new Tally();

  private int next;

  /** The first failed request, or null. Other threads read it when receive requests fail. */
  private volatile @Nullable WorkRequestException failure;

  Outbox(Transfers transfers, MessageSlots slots, int depth) {
    this.transfers = transfers;
    this.depth = depth;
    this.slots = slots;
    this.completions = new Completions(depth);
  }

  /** Waits until a request can be posted; returns false if the deadline passes before. */
  boolean awaitRoom(Deadline deadline) throws InterruptedException {
    return await(depth - 1, deadline);
  }

  /** Waits until all requests have completed; returns false if the deadline passes before. */
  boolean awaitAll(Deadline deadline) throws InterruptedException {
    return await(0, deadline);
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // One thread at a time writes it.
  private boolean await(int most, Deadline deadline) throws InterruptedException {
    while (outstanding > most) {
      int count = transfers.awaitSends(completions, deadline.remaining());
      if (count == 0) {
        return false;
      }
      int ofLibrary = 0;
      for (int i = 0; i < count; i++) {
        ofLibrary += completions.id(i) == OF_LIBRARY ? 1 : 0;
        note(i);
      }
      outstanding -= count;
      ofProgram -= count - ofLibrary; // After the failure of one is visible.
      completed += count;
    }
    return true;
  }

  private void note(int index) {
    boolean isFailed = !completions.isSuccess(index);
    if (completions.id(index) != OF_LIBRARY) {
      tally.add(MessageCounter.CONNECTION_REQUESTS, 1);
      tally.add(MessageCounter.CONNECTION_REQUESTS_FAILED, isFailed ? 1 : 0);
    }
    if (isFailed && failure == null) {
      failure = new WorkRequestException("an earlier request", completions, index);
    }
  }

  /**
   * Posts a request of the program by a function that returns false if the queue is full, which it
   * must not be.
   */
  @SuppressWarnings("NonAtomicVolatileUpdate") // One thread at a time writes it.
  void post(BooleanSupplier request) {
    ofProgram++; // Before it is posted: the peer may disconnect as soon as it has the message.
    boolean isPosted = false;
    try {
      postAny(request);
      isPosted = true;
    } finally {
      ofProgram -= isPosted ? 0 : 1;
    }
  }

  private void postAny(BooleanSupplier request) {
    if (!request.getAsBoolean()) {
      throw new IllegalStateException(
          "the send queue is full of requests that were posted by transfers(): poll their"
              + " completions");
    }
    outstanding++;
    next = (next + 1) % depth;
  }

  /** Copies a message to the next buffer, and posts it. */
  void send(MemorySegment message) {
    long length = message.byteSize();
    slots.put(next, message);
    post(() -> transfers.send(0, slots.region(), slots.offset(next), length));
  }

  /** Notifies the peer that this connection was closed. */
  void sendEndMark() {
    SendList mark = new SendList(1, 1);
    mark.sendWithImmediate(0, END_MARK).id(OF_LIBRARY).signaled();
    postAny(() -> transfers.post(mark) == 1);
  }

  /** Writes zero bytes, which needs no memory of the peer. */
  void writeNothing() {
    SendList nothing = new SendList(1, 1);
    nothing.write(0).remote(0, 0).id(OF_LIBRARY).signaled();
    postAny(() -> transfers.post(nothing) == 1);
  }

  /** Returns the maximum number of outstanding requests. */
  int depth() {
    return depth;
  }

  /** Returns the number of completed requests. Any thread may call this. */
  long completed() {
    return completed;
  }

  /** Returns whether requests of the program are outstanding. Any thread may call this. */
  boolean hasOutstanding() {
    return ofProgram > 0;
  }

  /** Posts an atomic operation, whose result is written behind the buffers. */
  void atomic(Atomic operation) {
    post(() -> operation.post(slots.region(), slots.numberOffset()));
  }

  /** Returns the result of the last atomic operation. */
  long resultValue() {
    return slots.region().memory().get(ValueLayout.JAVA_LONG, slots.numberOffset());
  }

  /** Returns the first failed request, or null. */
  @Nullable WorkRequestException failure() {
    return failure;
  }
}
