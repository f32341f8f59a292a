package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Block;
import dev.verbena.internal.ExtendedCompletionQueueCalls;
import dev.verbena.internal.Memory;
import dev.verbena.raw.ibv_poll_cq_attr;
import dev.verbena.raw.ibv_wc_tm_info;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The completions of an extended queue, one at a time: {@code ibv_start_poll}, {@code
 * ibv_next_poll}, {@code ibv_end_poll} and the {@code ibv_wc_read_*} functions.
 *
 * <p>There is one cursor for each queue, which is used again and again. Between {@link
 * ExtendedCompletionQueue#startPolling} and {@link #close} C may hold the queue's lock: no other
 * thread can poll it, and nothing that blocks should be done. In the thread itself whatever takes
 * that lock is refused: polling or resizing the queue, closing or resetting a queue pair that
 * completes there. Posting is possible as long as the posted queue has room: when it is full, mlx5
 * takes the lock to look again, and waits for ever.
 *
 * <p>
 *
 * {@snippet :
 * try (CompletionCursor cursor = queue.startPolling()) {
 *   while (cursor.next()) {
 *     handle(cursor.id(), cursor.status(), cursor.timestamp());
 *   }
 * }
 * }
 *
 * <p>A value that the queue was not made to tell throws {@link VerbsException} with EOPNOTSUPP.
 */
public final class CompletionCursor implements AutoCloseable {
  private enum Place {
    BEFORE,
    AT,
    BEHIND,
    /** Behind, with polling ended already. */
    ENDED
  }

  private final ExtendedCompletionQueue queue;
  private final ExtendedCompletionQueueCalls calls;
  private final AtomicReference<Thread> owner = new AtomicReference<>();
  private final Block attr = new Block(ibv_poll_cq_attr.sizeof());
  private final Block tag = new Block(ibv_wc_tm_info.sizeof());
  private final boolean restarts;
  private Place place;

  /**
   * A cursor before the first completion.
   *
   * @param restarts whether to end polling and start it again instead of {@code ibv_next_poll}
   */
  CompletionCursor(
      ExtendedCompletionQueue queue, ExtendedCompletionQueueCalls calls, boolean restarts) {
    this.queue = queue;
    this.calls = calls;
    this.restarts = restarts;
    queue.context().criticalCalls().end();
  }

  CompletionCursor start() {
    Thread here = Thread.currentThread();
    if (!owner.compareAndSet(null, here)
        && !(closeIfAbandoned() && owner.compareAndSet(null, here))) {
      throw new IllegalStateException("the cursor of " + queue + " is open already");
    }
    try {
      queue.requireNotClosing(); // Whoever closes it looks for an owner after that began.
    } catch (IllegalStateException e) {
      owner.setRelease(null);
      throw e;
    }
    place = Place.BEFORE;
    return this;
  }

  /** Whether this thread has the cursor open, and C may hold the queue's lock for it. */
  boolean isOpenHere() {
    return Thread.currentThread().equals(owner.getPlain());
  }

  /**
   * Ends the polling of a thread that has ended without it: {@code ibv_end_poll}. Until then C may
   * hold the lock of the queue, for which every other thread would wait.
   *
   * @return whether this thread has done so
   */
  boolean closeIfAbandoned() {
    Thread thread = owner.getAcquire();
    if (thread == null
        || thread.isAlive()
        || !owner.compareAndSet(thread, Thread.currentThread())) {
      return false;
    }
    close();
    return true;
  }

  /** Waits for another thread to end polling; refuses to go on if that does not happen. */
  void requireClosed() {
    Thread thread = OpenSection.await(owner, this::closeIfAbandoned);
    if (thread != null) {
      throw new IllegalStateException(
          queue + " cannot be closed: its cursor is open in thread " + thread.getName());
    }
  }

  private void requireOwner() {
    if (BoundsChecks.ON && !isOpenHere()) {
      throw new IllegalStateException("this thread has not opened the cursor of " + queue);
    }
  }

  private ExtendedCompletionQueueCalls current() {
    requireOwner();
    if (BoundsChecks.ON && place != Place.AT) {
      throw new IllegalStateException("the cursor of " + queue + " is at no completion");
    }
    return calls;
  }

  /**
   * Goes to the next completion.
   *
   * @return whether there is one
   */
  public boolean next() {
    requireOwner();
    return switch (place) {
      case BEFORE -> start(Place.BEFORE);
      case AT ->
          restarts ? restart() : arrived("ibv_next_poll", calls.ibv_next_poll(), Place.BEHIND);
      case BEHIND, ENDED -> false;
    };
  }

  private boolean start(Place ifThereIsNone) {
    queue.requireOpen();
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

  /** Ends polling: what was read is taken from the queue. */
  @Override
  public void close() {
    if (owner.getPlain() == null || closeIfAbandoned()) {
      return;
    }
    requireOwner();
    try {
      if (place == Place.AT || place == Place.BEHIND) {
        calls.ibv_end_poll();
      }
    } finally {
      owner.setRelease(null);
    }
  }

  /**
   * The number that the request was given.
   *
   * @return the request's id
   */
  public long id() {
    return current().wr_id();
  }

  /**
   * How the request ended.
   *
   * @return the status
   */
  public CompletionStatus status() {
    return CompletionStatus.of(current().status());
  }

  /**
   * Whether the request was done.
   *
   * @return true for status SUCCESS
   */
  public boolean isSuccess() {
    return current().status() == 0;
  }

  /**
   * What the request did: {@code ibv_wc_read_opcode}.
   *
   * @return the operation
   */
  public CompletionOpcode opcode() {
    return CompletionOpcode.of(current().ibv_wc_read_opcode());
  }

  /**
   * The device's own error code: {@code ibv_wc_read_vendor_err}.
   *
   * @return a number that the vendor's documents explain
   */
  public int vendorError() {
    return current().ibv_wc_read_vendor_err();
  }

  /**
   * How many bytes were received, read or fetched: {@code ibv_wc_read_byte_len}.
   *
   * @return the length
   */
  public long byteLength() {
    return Integer.toUnsignedLong(current().ibv_wc_read_byte_len());
  }

  /**
   * The peer's immediate data: {@code ibv_wc_read_imm_data}.
   *
   * @return the value that the peer gave
   */
  public int immediate() {
    return Integer.reverseBytes(current().ibv_wc_read_imm_data());
  }

  /**
   * The local key that the peer made invalid: {@code ibv_wc_read_invalidated_rkey}.
   *
   * @return the rkey
   */
  public int invalidatedKey() {
    return current().ibv_wc_read_invalidated_rkey();
  }

  /**
   * The local queue pair: {@code ibv_wc_read_qp_num}.
   *
   * @return its number
   */
  public int queuePairNumber() {
    return current().ibv_wc_read_qp_num();
  }

  /**
   * The queue pair that sent a datagram: {@code ibv_wc_read_src_qp}.
   *
   * @return its number
   */
  public int sourceQueuePair() {
    return current().ibv_wc_read_src_qp();
  }

  /**
   * Whether the completion tells something: {@code ibv_wc_read_wc_flags}.
   *
   * @param flag what is asked for
   * @return whether the flag is set
   */
  public boolean has(CompletionFlag flag) {
    return (current().ibv_wc_read_wc_flags() & flag.bit()) != 0;
  }

  /**
   * The local identifier of the sender of a datagram: {@code ibv_wc_read_slid}.
   *
   * @return the LID
   */
  public int sourceLid() {
    return current().ibv_wc_read_slid();
  }

  /**
   * The service level of a datagram: {@code ibv_wc_read_sl}.
   *
   * @return 0 to 15
   */
  public int serviceLevel() {
    return Byte.toUnsignedInt(current().ibv_wc_read_sl());
  }

  /**
   * The path bits of the LID that a datagram was sent to: {@code ibv_wc_read_dlid_path_bits}.
   *
   * @return the bits
   */
  public int destinationPathBits() {
    return Byte.toUnsignedInt(current().ibv_wc_read_dlid_path_bits());
  }

  /**
   * When the request completed: {@code ibv_wc_read_completion_ts}.
   *
   * @return ticks of the device's clock
   */
  public long timestamp() {
    return current().ibv_wc_read_completion_ts();
  }

  /**
   * When the request completed: {@code ibv_wc_read_completion_wallclock_ns}.
   *
   * @return nanoseconds of the wall clock
   */
  public long wallClockTimestamp() {
    return current().ibv_wc_read_completion_wallclock_ns();
  }

  /**
   * The customer VLAN tag of a packet: {@code ibv_wc_read_cvlan}.
   *
   * @return the tag
   */
  public int vlan() {
    return Short.toUnsignedInt(current().ibv_wc_read_cvlan());
  }

  /**
   * The tag that a flow rule put on a packet: {@code ibv_wc_read_flow_tag}.
   *
   * @return the tag
   */
  public int flowTag() {
    return current().ibv_wc_read_flow_tag();
  }

  /**
   * The tag of a matched message: {@code ibv_wc_read_tm_info}.
   *
   * @return the tag
   */
  public long tag() {
    current().ibv_wc_read_tm_info(tag.address(0));
    long value = Memory.getLong(tag.address(ibv_wc_tm_info.tag$offset()));
    tag.keep();
    return value;
  }

  /**
   * The application's data in the header of a matched message: {@code ibv_wc_read_tm_info}.
   *
   * @return the data
   */
  public int tagData() {
    current().ibv_wc_read_tm_info(tag.address(0));
    int value = Memory.getInt(tag.address(ibv_wc_tm_info.priv$offset()));
    tag.keep();
    return value;
  }
}
