package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.NativeFlag;
import dev.verbena.VerbsException;
import dev.verbena.internal.CheckReturnValue;
import dev.verbena.internal.DcTargetCalls;
import dev.verbena.internal.ListedSendCalls;
import dev.verbena.internal.Mlx5dv;
import dev.verbena.internal.calls.ExtendedQueuePairCalls;
import dev.verbena.internal.calls.PostingStart;
import dev.verbena.internal.life.OpenSection;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.FlushPlacement;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.WorkRequestOpcode;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Builds and posts send requests through the {@code ibv_wr_*} functions.
 *
 * <p>As on a {@link SendList}, each request begins with its operation, whose {@link PostingRequest}
 * then sets its id, flags, data and destination. The requests are posted by {@link #complete};
 * {@link #close} discards requests that were not completed, so use a try block:
 *
 * {@snippet :
 * try (Posting posting = queuePair.startPosting()) {
 *   posting.write(address, rkey).local(region, 0, 4096);
 *   posting.writeWithImmediate(address + 4096, rkey, 1).id(7).local(region, 4096, 64).signaled();
 *   int posted = posting.complete(); // 0 if the queue is full
 * }
 * }
 *
 * <p>Each queue pair has one posting, which is reused, by one thread at a time. Until it is
 * completed or closed the provider holds the lock of the send queue: the thread should not wait,
 * and must not poll completions, for which libefa and libionic take that lock. See {@code
 * ibv_wr_post(3)}.
 */
public final class Posting implements AutoCloseable {
  private final QueuePair queuePair;
  private final ExtendedQueuePairCalls calls;
  private final OpenSection section;
  private final PostingRequest request;

  /** Posts lists instead of {@code ibv_post_send}, whose structs lack what the requests have. */
  private final @Nullable ListedSendCalls listed;

  /** Null: {@code ibv_wr_start} starts a posting. */
  private final @Nullable PostingStart start;

  /** Whether C has a posting: not if the queue was full. */
  private boolean isStarted;

  Posting(QueuePair queuePair, RequestList.Limits limits) {
    Context context = queuePair.context();
    long address = queuePair.address();
    long qpEx = context.verbs().ibv_qp_to_qp_ex(address);
    DcTargetCalls targets =
        limits.type() == QueuePairType.DC_INITIATOR
            ? new DcTargetCalls(context.provider().library(Mlx5dv.class), qpEx)
            : null;
    this.queuePair = queuePair;
    this.start = context.provider().postingStart(address, qpEx);
    this.listed =
        limits.type().isPostedByBuilders()
            ? new ListedSendCalls(qpEx, targets, start, context.linking().isCritical())
            : null;
    this.section = new OpenSection("posting", queuePair.core, this::close);
    this.calls = new ExtendedQueuePairCalls(qpEx, NativeFlag.mask(limits.operations()));
    this.request = new PostingRequest(this, queuePair, limits, calls, targets);
    context.criticalCalls().end();
  }

  @Nullable ListedSendCalls listed() {
    return listed;
  }

  Posting start() {
    section.open();
    boolean opened = false;
    try {
      if (start == null) {
        calls.ibv_wr_start();
      }
      isStarted = start == null || start.start();
      opened = true;
    } finally {
      if (!opened) { // For example without memory for the call.
        section.release();
      }
    }
    request.reset(!isStarted);
    return this;
  }

  /** Returns the posting by one thread, in which the provider holds the lock of the send queue. */
  OpenSection section() {
    return section;
  }

  // Requests

  /**
   * Adds a send: {@code ibv_wr_send}.
   *
   * @return the request, to set its other fields
   */
  public PostingRequest send() {
    return request.begin(WorkRequestOpcode.SEND, 0, 0);
  }

  /**
   * Adds a send with immediate data: {@code ibv_wr_send_imm}.
   *
   * @param value the immediate data, in Java's byte order
   * @return the request, to set its other fields
   */
  public PostingRequest sendWithImmediate(int value) {
    return request.begin(WorkRequestOpcode.SEND_WITH_IMM, 0, 0, Integer.reverseBytes(value), 0);
  }

  /**
   * Adds a send that invalidates a remote key: {@code ibv_wr_send_inv}.
   *
   * @param rkey the remote key of a memory window or region of the remote side
   * @return the request, to set its other fields
   */
  public PostingRequest sendWithInvalidate(int rkey) {
    return request.begin(WorkRequestOpcode.SEND_WITH_INV, rkey, 0);
  }

  /**
   * Adds a send with TCP segmentation offload (TSO): {@code ibv_wr_send_tso}.
   *
   * @param header the headers up to that of TCP, in native memory; copied
   * @param segmentSize the maximum segment size in bytes
   * @return the request, to set its other fields
   */
  public PostingRequest tso(MemorySegment header, int segmentSize) {
    if (header.byteSize() >= 1 << Short.SIZE || segmentSize < 1 || segmentSize >= 1 << Short.SIZE) {
      throw new IllegalArgumentException(
          "segment size must be 1 to 65535 bytes, and headers at most 65535 bytes: "
              + segmentSize
              + ", "
              + header.byteSize());
    }
    return request.tso(header, segmentSize);
  }

  /**
   * Adds an RDMA write: {@code ibv_wr_rdma_write}.
   *
   * @param address the remote address
   * @param rkey the remote key
   * @return the request, to set its other fields
   */
  public PostingRequest write(long address, int rkey) {
    return request.begin(WorkRequestOpcode.RDMA_WRITE, rkey, address);
  }

  /**
   * Adds an RDMA write with immediate data, which consumes a remote receive request: {@code
   * ibv_wr_rdma_write_imm}.
   *
   * @param address the remote address
   * @param rkey the remote key
   * @param value the immediate data, in Java's byte order
   * @return the request, to set its other fields
   */
  public PostingRequest writeWithImmediate(long address, int rkey, int value) {
    return request.begin(
        WorkRequestOpcode.RDMA_WRITE_WITH_IMM, rkey, address, Integer.reverseBytes(value), 0);
  }

  /**
   * Adds an RDMA read: {@code ibv_wr_rdma_read}.
   *
   * @param address the remote address
   * @param rkey the remote key
   * @return the request, to set its other fields
   */
  public PostingRequest read(long address, int rkey) {
    return request.begin(WorkRequestOpcode.RDMA_READ, rkey, address);
  }

  /**
   * Adds an atomic compare and swap: {@code ibv_wr_atomic_cmp_swp}.
   *
   * @param address the remote address, divisible by 8
   * @param rkey the remote key
   * @param expected the expected value
   * @param desired the new value
   * @return the request, to set its other fields
   */
  public PostingRequest compareAndSwap(long address, int rkey, long expected, long desired) {
    return request.begin(
        WorkRequestOpcode.ATOMIC_CMP_AND_SWP, rkey, aligned(address), expected, desired);
  }

  /**
   * Adds an atomic fetch and add: {@code ibv_wr_atomic_fetch_add}.
   *
   * @param address the remote address, divisible by 8
   * @param rkey the remote key
   * @param add the value to add
   * @return the request, to set its other fields
   */
  public PostingRequest fetchAndAdd(long address, int rkey, long add) {
    return request.begin(WorkRequestOpcode.ATOMIC_FETCH_AND_ADD, rkey, aligned(address), add, 0);
  }

  /**
   * Adds an atomic write of 64 bits: {@code ibv_wr_atomic_write}.
   *
   * @param address the remote address, divisible by 8
   * @param rkey the remote key
   * @param value the value, in the byte order of this host
   * @return the request, to set its other fields
   */
  public PostingRequest atomicWrite(long address, int rkey, long value) {
    return request.begin(WorkRequestOpcode.ATOMIC_WRITE, rkey, aligned(address), value, 0);
  }

  /**
   * Adds a flush of a range of remote memory: {@code ibv_wr_flush}.
   *
   * @param address the remote address of the range
   * @param rkey the remote key
   * @param length the length in bytes
   * @param placements the placement types
   * @return the request, to set its other fields
   */
  public PostingRequest flush(long address, int rkey, long length, Set<FlushPlacement> placements) {
    if (length < 0 || placements.isEmpty()) {
      throw new IllegalArgumentException(
          "a flush requires a placement type and a length that is not negative: "
              + placements
              + ", "
              + length);
    }
    return request.flush(rkey, address, length, placements, rdma_h.IBV_FLUSH_RANGE());
  }

  /**
   * Adds a flush of a whole remote memory region: {@code ibv_wr_flush}.
   *
   * @param rkey the remote key
   * @param placements the placement types
   * @return the request, to set its other fields
   */
  public PostingRequest flushRegion(int rkey, Set<FlushPlacement> placements) {
    if (placements.isEmpty()) {
      throw new IllegalArgumentException("a flush requires a placement type");
    }
    return request.flush(rkey, 0, 0, placements, rdma_h.IBV_FLUSH_MR());
  }

  /**
   * Adds a local invalidation of a remote key: {@code ibv_wr_local_inv}.
   *
   * @param rkey the remote key of a memory window of type 2
   * @return the request, to set its other fields
   */
  public PostingRequest localInvalidate(int rkey) {
    return request.begin(WorkRequestOpcode.LOCAL_INV, rkey, 0);
  }

  /**
   * Adds the binding of a memory window of type 2: {@code ibv_wr_bind_mw}.
   *
   * @param window a memory window of type 2
   * @param rkey the new remote key: {@link MemoryWindow#nextKey} of the current one
   * @param binding the range and its access flags
   * @return the request, to set its other fields
   */
  public PostingRequest bindMemoryWindow(MemoryWindow window, int rkey, WindowBinding binding) {
    return request.bind(window, rkey, binding);
  }

  /** Checks the remote address of an atomic operation, and returns it. */
  static long aligned(long address) {
    if ((address & (Long.BYTES - 1)) != 0) {
      throw new IllegalArgumentException(
          "an atomic operation requires a remote address divisible by 8: 0x"
              + Long.toHexString(address));
    }
    return address;
  }

  // The end

  /**
   * Posts all requests: {@code ibv_wr_complete}.
   *
   * @return the number of requests that were posted: all, or none if the queue cannot hold all
   * @throws IllegalStateException if the state of the queue pair does not allow sends
   * @throws VerbsException if {@code ibv_wr_complete} fails; no request was posted
   */
  @CheckReturnValue
  public int complete() {
    section.requireOpenHere();
    request.end();
    int requests = request.count();
    int errno;
    try {
      errno = isStarted ? Math.abs(calls.ibv_wr_complete()) : Errno.ENOMEM;
    } finally {
      section.release();
    }
    return errno == 0 ? requests : notPosted(errno, requests);
  }

  /** Returns 0 if the queue is full, or throws an exception, after none of some were posted. */
  int notPosted(int errno, int requests) {
    queuePair.transitions.requireReached(QueuePairState.RTS, "ibv_wr_complete", errno);
    if (errno == Errno.ENOMEM || errno == Errno.ENOSPC) { // ENOSPC is librxe's error.
      return 0;
    }
    throw new VerbsException(
        "ibv_wr_complete",
        errno,
        requests
            + " requests on "
            + queuePair
            + ", none was posted"
            + (queuePair.type() == QueuePairType.SRD
                ? ": RDMA operations have one SGE, and inline data only with the flag INLINE_WRITE"
                : ""));
  }

  /**
   * Discards requests that were not completed: {@code ibv_wr_abort}. Does nothing after {@link
   * #complete}, nor in another thread than the one that started the posting, unless that thread has
   * terminated.
   */
  @Override
  public void close() {
    if (!section.isOpenHere()) {
      section.endIfAbandoned();
      return;
    }
    try {
      if (isStarted) {
        calls.ibv_wr_abort();
      }
    } finally {
      section.release();
    }
  }

  @Override
  public String toString() {
    return "posting of " + queuePair + (isStarted ? ", started" : "");
  }
}
