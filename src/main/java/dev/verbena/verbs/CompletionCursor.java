package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.BoundsChecks;
import dev.verbena.internal.calls.ExtendedCompletionQueueCalls;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.life.OpenSection;
import dev.verbena.raw.ibv_poll_cq_attr;
import dev.verbena.raw.ibv_wc_tm_info;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.CompletionOpcode;
import dev.verbena.values.CompletionStatus;

/**
 * A cursor over the completions of an extended completion queue: {@code ibv_start_poll}, {@code
 * ibv_next_poll}, {@code ibv_end_poll} and the {@code ibv_wc_read_*} functions.
 *
 * {@snippet :
 * try (CompletionCursor cursor = queue.startPolling()) {
 *   while (cursor.next()) {
 *     handle(cursor.id(), cursor.status(), cursor.timestamp());
 *   }
 * }
 * }
 *
 * <p>Each queue has one cursor, which is reused. Between {@link
 * ExtendedCompletionQueue#startPolling} and {@link #close} the provider may hold the lock of the
 * queue: no other thread can poll the queue, and the thread should not wait. Operations of the same
 * thread that need that lock throw {@link IllegalStateException}: polling or resizing the queue,
 * closing or resetting a queue pair that uses it. Posting is possible unless the send or receive
 * queue is full: then libmlx5 takes the lock to check again and waits forever.
 *
 * <p>Reading a field that was not selected at creation throws {@link VerbsException} with
 * EOPNOTSUPP. Closing the cursor calls {@code ibv_end_poll}. See {@code ibv_create_cq_ex(3)}.
 */
public final class CompletionCursor implements AutoCloseable {
  private enum Place {
    BEFORE,
    AT,
    BEHIND,
    /** After the last completion; polling has ended. */
    ENDED
  }

  private final ExtendedCompletionQueue queue;
  private final ExtendedCompletionQueueCalls calls;
  private final OpenSection section;
  private final Block attr = new Block(ibv_poll_cq_attr.sizeof());
  private final Block tag = new Block(ibv_wc_tm_info.sizeof());
  private final boolean restarts;
  private Place place;

  /**
   * A cursor before the first completion.
   *
   * @param restarts whether to end and restart polling instead of calling {@code ibv_next_poll}
   */
  CompletionCursor(
      ExtendedCompletionQueue queue, ExtendedCompletionQueueCalls calls, boolean restarts) {
    this.queue = queue;
    this.section = new OpenSection("cursor", queue.core, this::close);
    this.calls = calls;
    this.restarts = restarts;
    queue.context().criticalCalls().end();
  }

  CompletionCursor start() {
    section.open();
    place = Place.BEFORE;
    return this;
  }

  /** Returns the polling by one thread, in which the provider may hold the lock of the queue. */
  OpenSection section() {
    return section;
  }

  private ExtendedCompletionQueueCalls current() {
    requireAtCompletion(queue);
    return calls;
  }

  /**
   * Checks that this thread has the cursor open, and that it is at a completion of a queue: before
   * a function of a provider library that reads a field of the completion.
   *
   * @param of the queue
   * @throws IllegalStateException if it is not
   */
  public void requireAtCompletion(ExtendedCompletionQueue of) {
    section.requireOpenHere();
    if (BoundsChecks.ON && (place != Place.AT || !of.equals(queue))) {
      throw new IllegalStateException(
          "the cursor of " + queue + " is not at a completion of " + of + ": call next() first");
    }
  }

  /**
   * Moves to the next completion.
   *
   * @return whether there is one
   */
  public boolean next() {
    section.requireOpenHere();
    return switch (place) {
      case BEFORE -> start(Place.BEFORE);
      case AT ->
          restarts ? restart() : arrived("ibv_next_poll", calls.ibv_next_poll(), Place.BEHIND);
      case BEHIND, ENDED -> false;
    };
  }

  private boolean start(Place ifThereIsNone) {
    queue.core.requireOpen();
    int result = calls.ibv_start_poll(attr.address(0));
    attr.keep();
    return arrived("ibv_start_poll", result, ifThereIsNone);
  }

  private boolean restart() {
    calls.ibv_end_poll();
    place = Place.ENDED;
    return start(Place.ENDED);
  }

  private boolean arrived(String function, int result, Place ifThereIsNone) {
    place = result == 0 ? Place.AT : ifThereIsNone;
    if (result != 0 && result != Errno.ENOENT) {
      throw new VerbsException(function, result, "on " + queue);
    }
    return result == 0;
  }

  /** Ends polling: the completions that were read are removed from the queue. */
  @Override
  public void close() {
    if (!section.isOpen() || section.endIfAbandoned()) {
      return;
    }
    section.requireOpenHere();
    try {
      if (place == Place.AT || place == Place.BEHIND) {
        calls.ibv_end_poll();
      }
    } finally {
      section.release();
    }
  }

  /**
   * Returns the {@code wr_id} of the work request.
   *
   * @return the id
   */
  public long id() {
    return current().wr_id();
  }

  /**
   * Returns the code of the completion status, also of one that this library does not know.
   *
   * @return a value of {@code enum ibv_wc_status}
   */
  public int statusCode() {
    return current().status();
  }

  /**
   * Returns the code of the operation, also of one that this library does not know: {@code
   * ibv_wc_read_opcode}.
   *
   * @return a value of {@code enum ibv_wc_opcode}
   */
  public int opcodeCode() {
    return current().ibv_wc_read_opcode();
  }

  /** {@return the completion status} */
  public CompletionStatus status() {
    return CompletionStatus.of(current().status());
  }

  /**
   * Returns whether the work request completed successfully.
   *
   * @return true if the status is SUCCESS
   */
  public boolean isSuccess() {
    return current().status() == 0;
  }

  /**
   * Returns the operation of the work request: {@code ibv_wc_read_opcode}.
   *
   * @return the opcode
   */
  public CompletionOpcode opcode() {
    return CompletionOpcode.of(current().ibv_wc_read_opcode());
  }

  /** {@return the vendor-specific error code: {@code ibv_wc_read_vendor_err}} */
  public int vendorError() {
    return current().ibv_wc_read_vendor_err();
  }

  /**
   * Returns the number of bytes that were transferred by a receive, a read or an atomic operation:
   * {@code ibv_wc_read_byte_len}.
   *
   * @return the length in bytes
   */
  public long byteLength() {
    return Integer.toUnsignedLong(current().ibv_wc_read_byte_len());
  }

  /**
   * Returns the immediate data: {@code ibv_wc_read_imm_data}.
   *
   * @return the immediate data in Java's byte order
   */
  public int immediate() {
    return Integer.reverseBytes(current().ibv_wc_read_imm_data());
  }

  /**
   * Returns the key that the remote side invalidated: {@code ibv_wc_read_invalidated_rkey}.
   *
   * @return the remote key of the local memory
   */
  public int invalidatedKey() {
    return current().ibv_wc_read_invalidated_rkey();
  }

  /**
   * Returns the number of the local queue pair: {@code ibv_wc_read_qp_num}.
   *
   * @return the QPN
   */
  public int queuePairNumber() {
    return current().ibv_wc_read_qp_num();
  }

  /**
   * Returns the number of the queue pair that sent the datagram: {@code ibv_wc_read_src_qp}.
   *
   * @return the QPN
   */
  public int sourceQueuePair() {
    return current().ibv_wc_read_src_qp();
  }

  /**
   * Returns whether a flag of the completion is set: {@code ibv_wc_read_wc_flags}.
   *
   * @param flag the flag
   * @return true if it is set
   */
  public boolean has(CompletionFlag flag) {
    return (current().ibv_wc_read_wc_flags() & flag.bit()) != 0;
  }

  /** {@return the LID of the sender of a datagram: {@code ibv_wc_read_slid}} */
  public int sourceLid() {
    return current().ibv_wc_read_slid();
  }

  /**
   * Returns the service level of a datagram: {@code ibv_wc_read_sl}.
   *
   * @return 0 to 15
   */
  public int serviceLevel() {
    return Byte.toUnsignedInt(current().ibv_wc_read_sl());
  }

  /**
   * {@return the path bits of the destination LID of a datagram: {@code
   * ibv_wc_read_dlid_path_bits}}
   */
  public int destinationPathBits() {
    return Byte.toUnsignedInt(current().ibv_wc_read_dlid_path_bits());
  }

  /**
   * Returns the completion timestamp: {@code ibv_wc_read_completion_ts}.
   *
   * @return the time in ticks of the device clock
   */
  public long timestamp() {
    return current().ibv_wc_read_completion_ts();
  }

  /**
   * Returns the completion time of the wall clock: {@code ibv_wc_read_completion_wallclock_ns}.
   *
   * @return the time in nanoseconds
   */
  public long wallClockTimestamp() {
    return current().ibv_wc_read_completion_wallclock_ns();
  }

  /** {@return the customer VLAN tag of a packet: {@code ibv_wc_read_cvlan}} */
  public int vlan() {
    return Short.toUnsignedInt(current().ibv_wc_read_cvlan());
  }

  /** {@return the tag that a flow rule set on a packet: {@code ibv_wc_read_flow_tag}} */
  public int flowTag() {
    return current().ibv_wc_read_flow_tag();
  }

  /** {@return the tag of a matched message: {@code ibv_wc_read_tm_info}} */
  public long tag() {
    current().ibv_wc_read_tm_info(tag.address(0));
    long value = Memory.getLong(tag.address(ibv_wc_tm_info.tag$offset()));
    tag.keep();
    return value;
  }

  /** {@return the application context of a matched message: {@code ibv_wc_read_tm_info}} */
  public int tagData() {
    current().ibv_wc_read_tm_info(tag.address(0));
    int value = Memory.getInt(tag.address(ibv_wc_tm_info.priv$offset()));
    tag.keep();
    return value;
  }

  @Override
  public String toString() {
    return "cursor of " + queue + ", " + place;
  }
}
