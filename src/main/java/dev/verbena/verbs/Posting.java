package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Block;
import dev.verbena.internal.CheckReturnValue;
import dev.verbena.internal.DcTargetCalls;
import dev.verbena.internal.ExtendedQueuePairCalls;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Segments;
import dev.verbena.raw.ibv_mw_bind_info;
import dev.verbena.raw.ibv_sge;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Builds and posts send requests through the {@code ibv_wr_*} functions.
 *
 * <p>For each request first set its id and flags, then its operation, then its data and
 * destination. The requests are posted by {@link #complete}; {@link #close} discards requests that
 * were not completed, so use a try block:
 *
 * {@snippet :
 * try (Posting posting = queuePair.startPosting()) {
 *   posting.write(address, rkey).local(region, 0, 4096);
 *   posting.id(7).signaled().writeWithImmediate(address + 4096, rkey, 1).local(region, 4096, 64);
 *   int posted = posting.complete(); // 0 if the queue is full
 * }
 * }
 *
 * <p>Each queue pair has one posting, which is reused, by one thread at a time. Until it is
 * completed or closed the provider holds the lock of the send queue: the thread should not wait,
 * and must not poll completions, for which libefa and libionic take that lock. See {@code
 * ibv_wr_post(3)}.
 */
public final class Posting extends DataPathUser implements AutoCloseable {
  private static final long SGE = ibv_sge.sizeof();
  private static final long BIND_INFO = 0;
  private static final long ATOMIC_VALUE = BIND_INFO + ibv_mw_bind_info.sizeof();
  private static final long SGES = ATOMIC_VALUE + Long.BYTES;

  private final QueuePair queuePair;
  private final QueueLimits limits;
  private final ExtendedQueuePairCalls calls;
  private final OpenSection section;
  private final Block memory;

  private int requests;
  private int flags;
  private long id;

  /** The request that was built last; null before the first one. */
  private @Nullable WorkRequestOpcode opcode;

  private int sges;
  private boolean inlined;
  private boolean inline;
  private boolean addressed;

  /** Null but for a DC initiator. */
  private final @Nullable DcTargetCalls targets;

  Posting(
      QueuePair queuePair,
      QueueLimits limits,
      Set<SendOperation> operations,
      @Nullable DcTargetCalls targets) {
    long qpEx = queuePair.context().verbs().ibv_qp_to_qp_ex(queuePair.address());
    this.queuePair = queuePair;
    this.targets = targets;
    this.section = new OpenSection("posting", queuePair, this::close);
    this.limits = limits;
    this.calls = new ExtendedQueuePairCalls(qpEx, Flags.mask(operations));
    this.memory = new Block(SGES + limits.sges() * SGE);
    queuePair.context().criticalCalls().end();
  }

  Posting start() {
    section.open();
    requests = 0;
    flags = 0;
    id = 0;
    forgetRequest();
    boolean started = false;
    try {
      calls.ibv_wr_start();
      started = true;
    } finally {
      if (!started) {
        section.release();
      }
    }
    return this;
  }

  /** Returns the posting by one thread, in which the provider holds the lock of the send queue. */
  OpenSection section() {
    return section;
  }

  private void forgetRequest() {
    opcode = null;
    sges = 0;
    inlined = false;
    inline = false;
    addressed = false;
  }

  // Before a request

  /**
   * Sets the {@code wr_id} of the next request, which its completion returns. The default is 0.
   *
   * @param id any value
   * @return this
   */
  public Posting id(long id) {
    section.requireOpenHere();
    this.id = id;
    return this;
  }

  /**
   * Makes the next request signaled: it generates a work completion ({@code IBV_SEND_SIGNALED}).
   *
   * @return this
   */
  public Posting signaled() {
    return flag(rdma_h.IBV_SEND_SIGNALED());
  }

  /**
   * Delays the next request until the preceding reads and atomic operations are completed: {@code
   * IBV_SEND_FENCE}.
   *
   * @return this
   */
  public Posting fenced() {
    return flag(rdma_h.IBV_SEND_FENCE());
  }

  /**
   * Makes the remote completion of the next request a solicited event: {@code IBV_SEND_SOLICITED}.
   *
   * @return this
   */
  public Posting solicited() {
    return flag(rdma_h.IBV_SEND_SOLICITED());
  }

  /**
   * Lets the device compute the checksums of the next request: {@code IBV_SEND_IP_CSUM}.
   *
   * @return this
   */
  public Posting checksum() {
    return flag(rdma_h.IBV_SEND_IP_CSUM());
  }

  /**
   * Declares that the data of the next request is inline, which some providers require before the
   * request: {@code IBV_SEND_INLINE}.
   *
   * @return this
   */
  public Posting inlined() {
    return flag(rdma_h.IBV_SEND_INLINE());
  }

  private Posting flag(int flag) {
    section.requireOpenHere();
    flags |= flag;
    return this;
  }

  // Requests

  /** Ends the previous request, then sets the id and flags of the next one. */
  private ExtendedQueuePairCalls next(WorkRequestOpcode next) {
    section.requireOpenHere();
    if (BoundsChecks.ON && !next.isFor(limits.type())) {
      throw new IllegalArgumentException(
          next + " cannot be posted to a queue pair of type " + limits.type());
    }
    endRequest();
    calls.wr_id(id);
    calls.wr_flags(flags);
    return calls;
  }

  private Posting begun(WorkRequestOpcode begun) {
    opcode = begun;
    inlined = (flags & rdma_h.IBV_SEND_INLINE()) != 0;
    requests++;
    id = 0;
    flags = 0;
    return this;
  }

  /**
   * Passes the SGEs of the request that was built last, all in one call, also if there are none:
   * with libmlx5 and libionic a request is only complete after its data is set. An empty request
   * uses the list function, as libefa and libbnxt_re would pass a single SGE of length 0 to the
   * device.
   */
  private void endRequest() {
    if (opcode == null) {
      return;
    }
    if (BoundsChecks.ON) {
      requireWhole();
    }
    if (sges == 1) {
      long at = memory.address(SGES);
      calls.ibv_wr_set_sge(
          Memory.getInt(at + ibv_sge.lkey$offset()),
          Memory.getLong(at + ibv_sge.addr$offset()),
          Memory.getInt(at + ibv_sge.length$offset()));
    } else if (sges > 1 || (!inline && takesData(opcode))) {
      calls.ibv_wr_set_sge_list(sges, memory.address(SGES));
    }
    memory.keep();
    forgetRequest();
  }

  /**
   * Checks that the request that was built last has all fields that {@code ibv_wr_post(3)}
   * requires.
   */
  private void requireWhole() {
    if (!addressed && limits.type().isAddressed()) {
      throw new IllegalStateException(
          opcode
              + " has no address handle, which a "
              + limits.type()
              + " queue pair requires: call to()");
    }
    if (!addressed && targets != null) {
      throw new IllegalStateException(
          opcode + " has no DC target, which a DC_INITIATOR queue pair requires: call toTarget()");
    }
    if (!addressed && limits.type() == QueuePairType.XRC_SEND && takesTarget(opcode)) {
      throw new IllegalStateException(
          opcode + " has no shared receive queue number, which an XRC_SEND queue pair requires");
    }
    if (sges == 0
        && (opcode == WorkRequestOpcode.ATOMIC_CMP_AND_SWP
            || opcode == WorkRequestOpcode.ATOMIC_FETCH_AND_ADD)) {
      throw new IllegalStateException(opcode + " has no SGE for the previous value: call local()");
    }
  }

  /** Returns whether the data of the operation is set separately. */
  private static boolean takesData(WorkRequestOpcode opcode) {
    return switch (opcode) {
      case LOCAL_INV, BIND_MW, FLUSH, ATOMIC_WRITE -> false;
      default -> true;
    };
  }

  /** Returns whether the request is sent to the remote side. */
  private static boolean takesTarget(WorkRequestOpcode opcode) {
    return opcode != WorkRequestOpcode.LOCAL_INV && opcode != WorkRequestOpcode.BIND_MW;
  }

  /**
   * Adds a send: {@code ibv_wr_send}.
   *
   * @return this
   */
  public Posting send() {
    next(WorkRequestOpcode.SEND).ibv_wr_send();
    return begun(WorkRequestOpcode.SEND);
  }

  /**
   * Adds a send with immediate data: {@code ibv_wr_send_imm}.
   *
   * @param value the immediate data, in Java's byte order
   * @return this
   */
  public Posting sendWithImmediate(int value) {
    next(WorkRequestOpcode.SEND_WITH_IMM).ibv_wr_send_imm(Integer.reverseBytes(value));
    return begun(WorkRequestOpcode.SEND_WITH_IMM);
  }

  /**
   * Adds a send that invalidates a remote key: {@code ibv_wr_send_inv}.
   *
   * @param rkey the remote key of a memory window or region of the remote side
   * @return this
   */
  public Posting sendWithInvalidate(int rkey) {
    next(WorkRequestOpcode.SEND_WITH_INV).ibv_wr_send_inv(rkey);
    return begun(WorkRequestOpcode.SEND_WITH_INV);
  }

  /**
   * Adds a send with TCP segmentation offload (TSO): {@code ibv_wr_send_tso}.
   *
   * @param header the headers up to that of TCP, in native memory; copied
   * @param segmentSize the maximum segment size in bytes
   * @return this
   */
  public Posting tso(MemorySegment header, int segmentSize) {
    if (header.byteSize() >= 1 << Short.SIZE || segmentSize < 1 || segmentSize >= 1 << Short.SIZE) {
      throw new IllegalArgumentException(
          "segment size must be 1 to 65535 bytes, and headers at most 65535 bytes: "
              + segmentSize
              + ", "
              + header.byteSize());
    }
    Segments.readable(header, 0);
    next(WorkRequestOpcode.TSO)
        .ibv_wr_send_tso(header, (short) header.byteSize(), (short) segmentSize);
    return begun(WorkRequestOpcode.TSO);
  }

  /**
   * Adds an RDMA write: {@code ibv_wr_rdma_write}.
   *
   * @param address the remote address
   * @param rkey the remote key
   * @return this
   */
  public Posting write(long address, int rkey) {
    next(WorkRequestOpcode.RDMA_WRITE).ibv_wr_rdma_write(rkey, address);
    return begun(WorkRequestOpcode.RDMA_WRITE);
  }

  /**
   * Adds an RDMA write with immediate data, which consumes a remote receive request: {@code
   * ibv_wr_rdma_write_imm}.
   *
   * @param address the remote address
   * @param rkey the remote key
   * @param value the immediate data, in Java's byte order
   * @return this
   */
  public Posting writeWithImmediate(long address, int rkey, int value) {
    next(WorkRequestOpcode.RDMA_WRITE_WITH_IMM)
        .ibv_wr_rdma_write_imm(rkey, address, Integer.reverseBytes(value));
    return begun(WorkRequestOpcode.RDMA_WRITE_WITH_IMM);
  }

  /**
   * Adds an RDMA read: {@code ibv_wr_rdma_read}.
   *
   * @param address the remote address
   * @param rkey the remote key
   * @return this
   */
  public Posting read(long address, int rkey) {
    next(WorkRequestOpcode.RDMA_READ).ibv_wr_rdma_read(rkey, address);
    return begun(WorkRequestOpcode.RDMA_READ);
  }

  /**
   * Adds an atomic compare and swap: {@code ibv_wr_atomic_cmp_swp}.
   *
   * @param address the remote address, divisible by 8
   * @param rkey the remote key
   * @param expected the expected value
   * @param desired the new value
   * @return this
   */
  public Posting compareAndSwap(long address, int rkey, long expected, long desired) {
    next(WorkRequestOpcode.ATOMIC_CMP_AND_SWP)
        .ibv_wr_atomic_cmp_swp(rkey, aligned(address), expected, desired);
    return begun(WorkRequestOpcode.ATOMIC_CMP_AND_SWP);
  }

  /**
   * Adds an atomic fetch and add: {@code ibv_wr_atomic_fetch_add}.
   *
   * @param address the remote address, divisible by 8
   * @param rkey the remote key
   * @param add the value to add
   * @return this
   */
  public Posting fetchAndAdd(long address, int rkey, long add) {
    next(WorkRequestOpcode.ATOMIC_FETCH_AND_ADD)
        .ibv_wr_atomic_fetch_add(rkey, aligned(address), add);
    return begun(WorkRequestOpcode.ATOMIC_FETCH_AND_ADD);
  }

  /**
   * Adds an atomic write of 64 bits: {@code ibv_wr_atomic_write}.
   *
   * @param address the remote address, divisible by 8
   * @param rkey the remote key
   * @param value the value, in the byte order of this host
   * @return this
   */
  public Posting atomicWrite(long address, int rkey, long value) {
    ExtendedQueuePairCalls next = next(WorkRequestOpcode.ATOMIC_WRITE);
    Memory.putLong(memory.address(ATOMIC_VALUE), value);
    next.ibv_wr_atomic_write(rkey, aligned(address), memory.address(ATOMIC_VALUE));
    memory.keep();
    return begun(WorkRequestOpcode.ATOMIC_WRITE);
  }

  /**
   * Adds a flush of a range of remote memory: {@code ibv_wr_flush}.
   *
   * @param address the remote address of the range
   * @param rkey the remote key
   * @param length the length in bytes
   * @param placements the placement types
   * @return this
   */
  public Posting flush(long address, int rkey, long length, Set<FlushPlacement> placements) {
    if (length < 0 || placements.isEmpty()) {
      throw new IllegalArgumentException(
          "a flush requires a placement type and a length that is not negative: "
              + placements
              + ", "
              + length);
    }
    byte type = (byte) Flags.mask(placements);
    next(WorkRequestOpcode.FLUSH)
        .ibv_wr_flush(rkey, address, length, type, (byte) rdma_h.IBV_FLUSH_RANGE());
    return begun(WorkRequestOpcode.FLUSH);
  }

  /**
   * Adds a flush of a whole remote memory region: {@code ibv_wr_flush}.
   *
   * @param rkey the remote key
   * @param placements the placement types
   * @return this
   */
  public Posting flushRegion(int rkey, Set<FlushPlacement> placements) {
    if (placements.isEmpty()) {
      throw new IllegalArgumentException("a flush requires a placement type");
    }
    byte type = (byte) Flags.mask(placements);
    next(WorkRequestOpcode.FLUSH).ibv_wr_flush(rkey, 0, 0, type, (byte) rdma_h.IBV_FLUSH_MR());
    return begun(WorkRequestOpcode.FLUSH);
  }

  /**
   * Adds a local invalidation of a remote key: {@code ibv_wr_local_inv}.
   *
   * @param rkey the remote key of a memory window of type 2
   * @return this
   */
  public Posting localInvalidate(int rkey) {
    next(WorkRequestOpcode.LOCAL_INV).ibv_wr_local_inv(rkey);
    return begun(WorkRequestOpcode.LOCAL_INV);
  }

  /**
   * Adds the binding of a memory window of type 2: {@code ibv_wr_bind_mw}.
   *
   * @param window a memory window of type 2
   * @param rkey the new remote key: {@link MemoryWindow#nextKey} of the current one
   * @param binding the range and its access flags
   * @return this
   */
  public Posting bindMemoryWindow(MemoryWindow window, int rkey, WindowBinding binding) {
    window.requireType(MemoryWindowType.TYPE_2);
    requireSameDomain(window, window.domain());
    requireSameDomain(binding.region(), binding.region().domain());
    binding.writeTo(memory.slice(BIND_INFO, ibv_mw_bind_info.sizeof()));
    DataPathEntry entry = enter();
    try {
      use(window);
      use(binding.region());
      next(WorkRequestOpcode.BIND_MW)
          .ibv_wr_bind_mw(window.address(), rkey, memory.address(BIND_INFO));
    } finally {
      entry.leave();
    }
    memory.keep();
    return begun(WorkRequestOpcode.BIND_MW);
  }

  private void requireSameDomain(Resource named, ProtectionDomain domain) {
    if (BoundsChecks.ON && !domain.isOneWith(limits.domain())) {
      throw new IllegalArgumentException(
          named + " belongs to another protection domain than " + queuePair);
    }
  }

  private static long aligned(long address) {
    if ((address & (Long.BYTES - 1)) != 0) {
      throw new IllegalArgumentException(
          "an atomic operation requires a remote address divisible by 8: 0x"
              + Long.toHexString(address));
    }
    return address;
  }

  // After a request

  /**
   * Adds a scatter/gather element (SGE) to the request: {@code ibv_wr_set_sge}, or {@code
   * ibv_wr_set_sge_list} for several. With Soft-RoCE before rdma-core 64 several SGEs must have the
   * same length, as librxe uses that of the first for all.
   *
   * @param region a memory region of the protection domain of the queue pair
   * @param offset the offset of the data in the region, in bytes
   * @param length the length in bytes
   * @return this
   * @throws IndexOutOfBoundsException if the data is not inside the region
   */
  public Posting local(MemoryRegion region, long offset, long length) {
    requireData();
    if (inlined) {
      throw new IllegalStateException(opcode + " was declared inlined() and has no SGEs");
    }
    long address = BoundsChecks.ON ? region.addressOf(offset, length) : region.start() + offset;
    requireSameDomain(region, region.domain());
    if (BoundsChecks.ON && opcode.writesLocally()) {
      region.requireLocallyWritable(opcode.toString());
    }
    if (sges == limits.sges() || length >>> Integer.SIZE != 0) {
      throw new IllegalArgumentException(
          "SGE "
              + sges
              + " of "
              + length
              + " bytes; "
              + queuePair
              + " allows "
              + limits.sges()
              + " SGEs of less than 2^32 bytes");
    }
    long at = memory.address(SGES + sges * SGE);
    Memory.putLong(at + ibv_sge.addr$offset(), address);
    Memory.putInt(at + ibv_sge.length$offset(), (int) length);
    Memory.putInt(at + ibv_sge.lkey$offset(), region.lkey());
    memory.keep();
    sges++;
    return this;
  }

  /**
   * Sets the data of an {@link #inlined} request, which is copied now: {@code
   * ibv_wr_set_inline_data}.
   *
   * @param data native memory, registered or not
   * @return this
   */
  public Posting inline(MemorySegment data) {
    requireInlinable(data.byteSize());
    Segments.readable(data, 0);
    calls.ibv_wr_set_inline_data(data, data.byteSize());
    inline = true;
    return this;
  }

  /**
   * Sets the data of an {@link #inlined} request from several segments, as {@code
   * ibv_wr_set_inline_data_list} does. The data is gathered here and passed to {@code
   * ibv_wr_set_inline_data}, as librxe before rdma-core 64 loses the data of a list. Allocates
   * memory.
   *
   * @param first memory of any kind, registered or not
   * @param others further memory of any kind
   * @return this
   */
  public Posting inline(MemorySegment first, MemorySegment... others) {
    long length = first.byteSize() + Stream.of(others).mapToLong(MemorySegment::byteSize).sum();
    requireInlinable(length);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment all = arena.allocate(length);
      all.copyFrom(first);
      long at = first.byteSize();
      for (MemorySegment other : others) {
        all.asSlice(at).copyFrom(other);
        at += other.byteSize();
      }
      return inline(all);
    }
  }

  private void requireData() {
    section.requireOpenHere();
    if (opcode == null) {
      throw new IllegalStateException(
          "no request to set the data of: call an operation such as send() first");
    }
    if (inline || !takesData(opcode)) {
      throw new IllegalStateException(
          opcode + (inline ? " already has inline data" : " has no data"));
    }
  }

  private void requireInlinable(long length) {
    requireData();
    switch (opcode) {
      case SEND, SEND_WITH_IMM, RDMA_WRITE, RDMA_WRITE_WITH_IMM -> {}
      default -> throw new IllegalArgumentException(opcode + " does not support inline data");
    }
    if (!inlined) {
      throw new IllegalStateException("inline data requires inlined() before " + opcode);
    }
    if (length > limits.inlineData()) {
      throw new IllegalArgumentException(
          "inline data must be at most "
              + limits.inlineData()
              + " bytes on "
              + queuePair
              + ": "
              + length);
    }
  }

  /**
   * Sets the destination of a datagram: {@code ibv_wr_set_ud_addr}.
   *
   * @param handle the address handle of the destination
   * @param number the QPN of the destination
   * @param key the Q_Key of the destination
   * @return this
   */
  public Posting to(AddressHandle handle, int number, int key) {
    section.requireOpenHere();
    if (!limits.type().isAddressed() && limits.type() != QueuePairType.DRIVER) {
      throw new IllegalStateException(
          targets == null
              ? "only requests of UD and SRD queue pairs have a destination: "
                  + queuePair
                  + " is "
                  + limits.type()
              : "requests of a DC initiator have a DC target: call toTarget()");
    }
    requireNoTarget();
    requireSameDomain(handle, handle.domain());
    DataPathEntry entry = enter();
    try {
      use(handle);
      calls.ibv_wr_set_ud_addr(handle.address(), number, key);
    } finally {
      entry.leave();
    }
    addressed = true;
    return this;
  }

  /**
   * Sets the DC target of a request of a DC initiator: {@code mlx5dv_wr_set_dc_addr}.
   *
   * @param handle the address handle of the target's device
   * @param number the number of the target (DCTN): that of its {@link QueuePair#localAddress}
   * @param accessKey the DC access key of the target
   * @return this
   */
  public Posting toTarget(AddressHandle handle, int number, long accessKey) {
    section.requireOpenHere();
    if (targets == null) {
      throw new IllegalStateException(
          "only requests of DC initiators have a DC target: " + queuePair + " is " + limits.type());
    }
    requireNoTarget();
    requireSameDomain(handle, handle.domain());
    int checked = Ranges.bits(number, 24, "a DCT number");
    DataPathEntry entry = enter();
    try {
      use(handle);
      targets.mlx5dv_wr_set_dc_addr(handle.address(), checked, accessKey);
    } finally {
      entry.leave();
    }
    addressed = true;
    return this;
  }

  /**
   * Sets the shared receive queue of an XRC send request: {@code ibv_wr_set_xrc_srqn}.
   *
   * @param number the number of the remote shared receive queue
   * @return this
   */
  public Posting sharedReceiveQueue(int number) {
    section.requireOpenHere();
    if (limits.type() != QueuePairType.XRC_SEND) {
      throw new IllegalStateException(
          "only requests of XRC_SEND queue pairs have a shared receive queue number");
    }
    requireNoTarget();
    calls.ibv_wr_set_xrc_srqn(number);
    addressed = true;
    return this;
  }

  /**
   * libmlx5 counts the setters that were called for a request: after the second call of one it
   * would treat the request as complete before its data is set.
   */
  private void requireNoTarget() {
    if (opcode == null) {
      throw new IllegalStateException(
          "no request to set the destination of: call an operation such as send() first");
    }
    if (addressed || !takesTarget(opcode)) {
      throw new IllegalStateException(
          opcode + (addressed ? " already has a destination" : " has no destination"));
    }
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
    endRequest();
    int errno;
    try {
      errno = Math.abs(calls.ibv_wr_complete());
    } finally {
      section.release();
    }
    if (errno == 0) {
      return requests;
    }
    queuePair.requireReached(QueuePairState.RTS, "ibv_wr_complete", errno);
    if (errno == Errno.ENOMEM || errno == Errno.ENOSPC) { // ENOSPC is librxe's error.
      return 0;
    }
    throw new VerbsException(
        "ibv_wr_complete", errno, requests + " requests on " + queuePair + ", none was posted");
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
      calls.ibv_wr_abort();
    } finally {
      section.release();
    }
  }
}
