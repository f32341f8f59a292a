package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Block;
import dev.verbena.internal.ExtendedQueuePairCalls;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Segments;
import dev.verbena.raw.ibv_mw_bind_info;
import dev.verbena.raw.ibv_sge;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;

/**
 * Requests that are being posted through the {@code ibv_wr_*} functions.
 *
 * <p>Say first what the next request is numbered and flagged, then what it does, then on which data
 * and for whom; and so on for more requests. Nothing is done until {@link #complete}. {@link
 * #close} drops what was not completed, so a posting in a try block cannot be left open:
 *
 * <p>
 *
 * {@snippet :
 * try (Posting posting = queuePair.startPosting()) {
 *   posting.write(rkey, address).local(region, 0, 4096);
 *   posting.id(7).signaled().writeWithImmediate(rkey, address + 4096, 1).local(region, 4096, 64);
 *   posting.complete();
 * }
 * }
 *
 * <p>There is one posting for each queue pair, which is used again and again, by one thread at a
 * time. Until it is completed or closed C holds the lock of the send queue: nothing that blocks
 * should be done, and no completions polled, for which efa and ionic take that lock as well.
 */
public final class Posting extends DataPathUser implements AutoCloseable {
  private static final long ENTRY = ibv_sge.sizeof();
  private static final long BIND_INFO = 0;
  private static final long ATOMIC_VALUE = BIND_INFO + ibv_mw_bind_info.sizeof();
  private static final long ENTRIES = ATOMIC_VALUE + Long.BYTES;

  private final QueuePair queuePair;
  private final QueueLimits limits;
  private final ExtendedQueuePairCalls calls;
  private final AtomicReference<Thread> owner = new AtomicReference<>();
  private final Block memory;

  private int requests;
  private int flags;
  private long id;

  /** The request that was built last; null before the first. */
  private WorkRequestOpcode opcode;

  private int entries;
  private boolean inlined;
  private boolean inline;
  private boolean addressed;

  Posting(QueuePair queuePair, QueueLimits limits, Set<SendOperation> operations) {
    long qpEx = queuePair.context().verbs().ibv_qp_to_qp_ex(queuePair.address());
    this.queuePair = queuePair;
    this.limits = limits;
    this.calls = new ExtendedQueuePairCalls(qpEx, Flags.mask(operations));
    this.memory = new Block(ENTRIES + limits.entries() * ENTRY);
    queuePair.context().criticalCalls().end();
  }

  Posting start() {
    Thread here = Thread.currentThread();
    if (!owner.compareAndSet(null, here)
        && !(abortIfAbandoned() && owner.compareAndSet(null, here))) {
      throw new IllegalStateException("the posting of " + queuePair + " is open already");
    }
    try {
      queuePair.requireNotClosing(); // Whoever closes it looks for an owner after that began.
    } catch (IllegalStateException e) {
      owner.setRelease(null);
      throw e;
    }
    requests = 0;
    flags = 0;
    id = 0;
    forgetRequest();
    calls.ibv_wr_start();
    return this;
  }

  boolean isOpenHere() {
    return Thread.currentThread().equals(owner.getPlain());
  }

  /**
   * Drops what a thread that has ended left open: {@code ibv_wr_abort}. Until then C holds the lock
   * of the send queue, for which every other thread would wait.
   *
   * @return whether this thread has done so
   */
  boolean abortIfAbandoned() {
    Thread thread = owner.getAcquire();
    if (thread == null
        || thread.isAlive()
        || !owner.compareAndSet(thread, Thread.currentThread())) {
      return false;
    }
    close();
    return true;
  }

  /** Waits for another thread to end its posting; refuses to go on if that does not happen. */
  void requireClosed() {
    Thread thread = OpenSection.await(owner, this::abortIfAbandoned);
    if (thread != null) {
      throw new IllegalStateException(
          queuePair + " cannot be closed: its posting is open in thread " + thread.getName());
    }
  }

  private void requireOwner() {
    if (BoundsChecks.ON && !isOpenHere()) {
      throw new IllegalStateException("this thread has no posting open on " + queuePair);
    }
  }

  private void forgetRequest() {
    opcode = null;
    entries = 0;
    inlined = false;
    inline = false;
    addressed = false;
  }

  // Before a request

  /**
   * Sets the number that comes back in the next request's completion; 0 if this is not called.
   *
   * @param id any number
   * @return this
   */
  public Posting id(long id) {
    requireOwner();
    this.id = id;
    return this;
  }

  /**
   * Makes the next request leave a completion.
   *
   * @return this
   */
  public Posting signaled() {
    return flag(rdma_h.IBV_SEND_SIGNALED());
  }

  /**
   * Holds the next request back until the reads and atomics before it are done.
   *
   * @return this
   */
  public Posting fenced() {
    return flag(rdma_h.IBV_SEND_FENCE());
  }

  /**
   * Makes the peer's completion of the next request a solicited one.
   *
   * @return this
   */
  public Posting solicited() {
    return flag(rdma_h.IBV_SEND_SOLICITED());
  }

  /**
   * Lets the device compute the checksums of the next request's packets.
   *
   * @return this
   */
  public Posting checksum() {
    return flag(rdma_h.IBV_SEND_IP_CSUM());
  }

  /**
   * Says that the next request's data will be inline, which some providers must know before the
   * request.
   *
   * @return this
   */
  public Posting inlined() {
    return flag(rdma_h.IBV_SEND_INLINE());
  }

  private Posting flag(int flag) {
    requireOwner();
    flags |= flag;
    return this;
  }

  // Requests

  /** Ends the request before, then tells C the number and the flags of the next one. */
  private ExtendedQueuePairCalls next(WorkRequestOpcode next) {
    requireOwner();
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
   * Tells C the entries of the request that was built last, which it takes all at once. It is told
   * that there are none as well: to mlx5 and ionic only what says where the data is makes a request
   * whole. As a list, since as one entry of length 0 efa and bnxt_re would give them to the device.
   */
  private void endRequest() {
    if (opcode == null) {
      return;
    }
    if (BoundsChecks.ON) {
      requireWhole();
    }
    if (entries == 1) {
      long at = memory.address(ENTRIES);
      calls.ibv_wr_set_sge(
          Memory.getInt(at + ibv_sge.lkey$offset()),
          Memory.getLong(at + ibv_sge.addr$offset()),
          Memory.getInt(at + ibv_sge.length$offset()));
    } else if (entries > 1 || (!inline && takesData(opcode))) {
      calls.ibv_wr_set_sge_list(entries, memory.address(ENTRIES));
    }
    memory.keep();
    forgetRequest();
  }

  /** Refuses to go on without what the manual page demands of the request that was built last. */
  private void requireWhole() {
    if (!addressed && limits.type() == QueuePairType.UD) {
      throw new IllegalStateException(
          opcode + " has no address handle, which a UD queue pair needs");
    }
    if (!addressed && limits.type() == QueuePairType.XRC_SEND && takesTarget(opcode)) {
      throw new IllegalStateException(
          opcode + " names no shared receive queue, which an XRC_SEND queue pair needs");
    }
    if (entries == 0
        && (opcode == WorkRequestOpcode.ATOMIC_CMP_AND_SWP
            || opcode == WorkRequestOpcode.ATOMIC_FETCH_AND_ADD)) {
      throw new IllegalStateException(opcode + " has no entry for the value that it finds");
    }
  }

  /** Whether data is said apart from the request itself. */
  private static boolean takesData(WorkRequestOpcode opcode) {
    return switch (opcode) {
      case LOCAL_INV, BIND_MW, FLUSH, ATOMIC_WRITE -> false;
      default -> true;
    };
  }

  /** Whether the request goes to the peer. */
  private static boolean takesTarget(WorkRequestOpcode opcode) {
    return opcode != WorkRequestOpcode.LOCAL_INV && opcode != WorkRequestOpcode.BIND_MW;
  }

  /**
   * A send: {@code ibv_wr_send}.
   *
   * @return this
   */
  public Posting send() {
    next(WorkRequestOpcode.SEND).ibv_wr_send();
    return begun(WorkRequestOpcode.SEND);
  }

  /**
   * A send with immediate data: {@code ibv_wr_send_imm}.
   *
   * @param value what the peer's completion shows
   * @return this
   */
  public Posting sendWithImmediate(int value) {
    next(WorkRequestOpcode.SEND_WITH_IMM).ibv_wr_send_imm(Integer.reverseBytes(value));
    return begun(WorkRequestOpcode.SEND_WITH_IMM);
  }

  /**
   * A send that makes a key of the peer invalid: {@code ibv_wr_send_inv}.
   *
   * @param rkey the key of one of the peer's memory windows or regions
   * @return this
   */
  public Posting sendWithInvalidate(int rkey) {
    next(WorkRequestOpcode.SEND_WITH_INV).ibv_wr_send_inv(rkey);
    return begun(WorkRequestOpcode.SEND_WITH_INV);
  }

  /**
   * A send in TCP segments: {@code ibv_wr_send_tso}.
   *
   * @param header the headers up to TCP's, in native memory; copied
   * @param segmentSize how much of the stream each packet carries
   * @return this
   */
  public Posting tso(MemorySegment header, int segmentSize) {
    if (header.byteSize() >= 1 << Short.SIZE || segmentSize < 1 || segmentSize >= 1 << Short.SIZE) {
      throw new IllegalArgumentException(
          "segments of " + segmentSize + " bytes with headers of " + header.byteSize());
    }
    Segments.readable(header, 0);
    next(WorkRequestOpcode.TSO)
        .ibv_wr_send_tso(header, (short) header.byteSize(), (short) segmentSize);
    return begun(WorkRequestOpcode.TSO);
  }

  /**
   * A write to the peer's memory: {@code ibv_wr_rdma_write}.
   *
   * @param rkey the key, as the peer gave it
   * @param address the address, as the peer gave it
   * @return this
   */
  public Posting write(int rkey, long address) {
    next(WorkRequestOpcode.RDMA_WRITE).ibv_wr_rdma_write(rkey, address);
    return begun(WorkRequestOpcode.RDMA_WRITE);
  }

  /**
   * A write to the peer's memory that completes a receive of the peer: {@code
   * ibv_wr_rdma_write_imm}.
   *
   * @param rkey the key, as the peer gave it
   * @param address the address, as the peer gave it
   * @param value what the peer's completion shows
   * @return this
   */
  public Posting writeWithImmediate(int rkey, long address, int value) {
    next(WorkRequestOpcode.RDMA_WRITE_WITH_IMM)
        .ibv_wr_rdma_write_imm(rkey, address, Integer.reverseBytes(value));
    return begun(WorkRequestOpcode.RDMA_WRITE_WITH_IMM);
  }

  /**
   * A read from the peer's memory: {@code ibv_wr_rdma_read}.
   *
   * @param rkey the key, as the peer gave it
   * @param address the address, as the peer gave it
   * @return this
   */
  public Posting read(int rkey, long address) {
    next(WorkRequestOpcode.RDMA_READ).ibv_wr_rdma_read(rkey, address);
    return begun(WorkRequestOpcode.RDMA_READ);
  }

  /**
   * An atomic compare and swap: {@code ibv_wr_atomic_cmp_swp}.
   *
   * @param rkey the key, as the peer gave it
   * @param address the address, as the peer gave it; divisible by 8
   * @param expected the value that is exchanged
   * @param desired what it is exchanged for
   * @return this
   */
  public Posting compareAndSwap(int rkey, long address, long expected, long desired) {
    next(WorkRequestOpcode.ATOMIC_CMP_AND_SWP)
        .ibv_wr_atomic_cmp_swp(rkey, aligned(address), expected, desired);
    return begun(WorkRequestOpcode.ATOMIC_CMP_AND_SWP);
  }

  /**
   * An atomic addition: {@code ibv_wr_atomic_fetch_add}.
   *
   * @param rkey the key, as the peer gave it
   * @param address the address, as the peer gave it; divisible by 8
   * @param add what is added
   * @return this
   */
  public Posting fetchAndAdd(int rkey, long address, long add) {
    next(WorkRequestOpcode.ATOMIC_FETCH_AND_ADD)
        .ibv_wr_atomic_fetch_add(rkey, aligned(address), add);
    return begun(WorkRequestOpcode.ATOMIC_FETCH_AND_ADD);
  }

  /**
   * A write of 64 bits at once: {@code ibv_wr_atomic_write}.
   *
   * @param rkey the key, as the peer gave it
   * @param address the address, as the peer gave it; divisible by 8
   * @param value what is written, in the byte order of this machine
   * @return this
   */
  public Posting atomicWrite(int rkey, long address, long value) {
    ExtendedQueuePairCalls next = next(WorkRequestOpcode.ATOMIC_WRITE);
    Memory.putLong(memory.address(ATOMIC_VALUE), value);
    next.ibv_wr_atomic_write(rkey, aligned(address), memory.address(ATOMIC_VALUE));
    memory.keep();
    return begun(WorkRequestOpcode.ATOMIC_WRITE);
  }

  /**
   * A flush of a part of the peer's memory: {@code ibv_wr_flush}.
   *
   * @param rkey the key, as the peer gave it
   * @param address where the part begins, as the peer counts
   * @param length its length
   * @param placements what to wait for
   * @return this
   */
  public Posting flush(int rkey, long address, long length, Set<FlushPlacement> placements) {
    if (length < 0 || placements.isEmpty()) {
      throw new IllegalArgumentException("a flush of " + length + " bytes for " + placements);
    }
    byte type = (byte) Flags.mask(placements);
    next(WorkRequestOpcode.FLUSH)
        .ibv_wr_flush(rkey, address, length, type, (byte) rdma_h.IBV_FLUSH_RANGE());
    return begun(WorkRequestOpcode.FLUSH);
  }

  /**
   * A flush of a whole memory region of the peer: {@code ibv_wr_flush}.
   *
   * @param rkey the key, as the peer gave it
   * @param placements what to wait for
   * @return this
   */
  public Posting flushRegion(int rkey, Set<FlushPlacement> placements) {
    if (placements.isEmpty()) {
      throw new IllegalArgumentException("a flush for nothing");
    }
    byte type = (byte) Flags.mask(placements);
    next(WorkRequestOpcode.FLUSH).ibv_wr_flush(rkey, 0, 0, type, (byte) rdma_h.IBV_FLUSH_MR());
    return begun(WorkRequestOpcode.FLUSH);
  }

  /**
   * The invalidation of a local key: {@code ibv_wr_local_inv}.
   *
   * @param rkey the key of a memory window of type 2
   * @return this
   */
  public Posting localInvalidate(int rkey) {
    next(WorkRequestOpcode.LOCAL_INV).ibv_wr_local_inv(rkey);
    return begun(WorkRequestOpcode.LOCAL_INV);
  }

  /**
   * The binding of a memory window of type 2: {@code ibv_wr_bind_mw}.
   *
   * @param window a window of type 2
   * @param rkey its new key: {@link MemoryWindow#nextKey} of the old one
   * @param binding what to show, and to whom
   * @return this
   */
  public Posting bindMemoryWindow(MemoryWindow window, int rkey, WindowBinding binding) {
    window.requireType(MemoryWindowType.TYPE_2);
    requireSameDomain(window, window.domain());
    requireSameDomain(binding.region(), binding.region().domain());
    binding.writeTo(memory.slice(BIND_INFO, ibv_mw_bind_info.sizeof()));
    enter();
    try {
      use(window);
      use(binding.region());
      next(WorkRequestOpcode.BIND_MW)
          .ibv_wr_bind_mw(window.address(), rkey, memory.address(BIND_INFO));
    } finally {
      leave();
    }
    memory.keep();
    return begun(WorkRequestOpcode.BIND_MW);
  }

  private void requireSameDomain(Resource named, ProtectionDomain domain) {
    if (BoundsChecks.ON && !domain.isOneWith(limits.domain())) {
      throw new IllegalArgumentException(
          named + " is of another protection domain than " + queuePair);
    }
  }

  private static long aligned(long address) {
    if ((address & (Long.BYTES - 1)) != 0) {
      throw new IllegalArgumentException("an atomic needs a remote address divisible by 8");
    }
    return address;
  }

  // After a request

  /**
   * Adds a scatter/gather entry to the request: {@code ibv_wr_set_sge}, or {@code
   * ibv_wr_set_sge_list} if there are several. Those must be of one length on Soft-RoCE with an
   * rdma-core before 64, whose librxe counts all by the first.
   *
   * @param region registered memory of the queue pair's domain
   * @param offset where in the region the data begins
   * @param length its length
   * @return this
   * @throws IndexOutOfBoundsException if the data leaves the region
   */
  public Posting local(MemoryRegion region, long offset, long length) {
    requireData();
    if (inlined) {
      throw new IllegalStateException(opcode + " was to have inline data");
    }
    long address = BoundsChecks.ON ? region.addressOf(offset, length) : region.start() + offset;
    requireSameDomain(region, region.domain());
    if (BoundsChecks.ON && opcode.writesLocally()) {
      region.requireLocallyWritable(opcode.toString());
    }
    if (entries == limits.entries() || length >>> Integer.SIZE != 0) {
      throw new IllegalArgumentException(
          "entry "
              + entries
              + " of "
              + length
              + " bytes; "
              + queuePair
              + " takes "
              + limits.entries()
              + " entries of less than 2^32 bytes");
    }
    long at = memory.address(ENTRIES + entries * ENTRY);
    Memory.putLong(at + ibv_sge.addr$offset(), address);
    Memory.putInt(at + ibv_sge.length$offset(), (int) length);
    Memory.putInt(at + ibv_sge.lkey$offset(), region.lkey());
    memory.keep();
    entries++;
    return this;
  }

  /**
   * Gives a request that is to be {@link #inlined} its data, which is copied now: {@code
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
   * Gives a request that is to be {@link #inlined} data from several places: what {@code
   * ibv_wr_set_inline_data_list} does. It is gathered here and handed over by {@code
   * ibv_wr_set_inline_data}, since librxe loses what a list holds before rdma-core 64. Allocates.
   *
   * @param first memory of any kind, registered or not
   * @param others more of it
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
    requireOwner();
    if (opcode == null) {
      throw new IllegalStateException("say first what the request does");
    }
    if (inline || !takesData(opcode)) {
      throw new IllegalStateException(opcode + (inline ? " has inline data" : " takes no data"));
    }
  }

  private void requireInlinable(long length) {
    requireData();
    switch (opcode) {
      case SEND, SEND_WITH_IMM, RDMA_WRITE, RDMA_WRITE_WITH_IMM -> {}
      default -> throw new IllegalArgumentException(opcode + " takes no inline data");
    }
    if (!inlined) {
      throw new IllegalStateException("say inlined() before " + opcode + " takes inline data");
    }
    if (length > limits.inlineData()) {
      throw new IllegalArgumentException(
          length + " bytes of inline data; " + queuePair + " takes " + limits.inlineData());
    }
  }

  /**
   * Sets where the datagram goes: {@code ibv_wr_set_ud_addr}.
   *
   * @param handle the path to the peer
   * @param number the number of the peer's queue pair
   * @param key the Q_Key of the peer's queue pair
   * @return this
   */
  public Posting to(AddressHandle handle, int number, int key) {
    requireOwner();
    if (limits.type() != QueuePairType.UD && limits.type() != QueuePairType.DRIVER) {
      throw new IllegalStateException("a queue pair of type " + limits.type() + " has its peer");
    }
    requireNoTarget();
    requireSameDomain(handle, handle.domain());
    enter();
    try {
      use(handle);
      calls.ibv_wr_set_ud_addr(handle.address(), number, key);
    } finally {
      leave();
    }
    addressed = true;
    return this;
  }

  /**
   * Sets the extended reliable connection's target: {@code ibv_wr_set_xrc_srqn}.
   *
   * @param number the number of the peer's shared receive queue
   * @return this
   */
  public Posting sharedReceiveQueue(int number) {
    requireOwner();
    if (limits.type() != QueuePairType.XRC_SEND) {
      throw new IllegalStateException("only requests of XRC_SEND queue pairs have this target");
    }
    requireNoTarget();
    calls.ibv_wr_set_xrc_srqn(number);
    addressed = true;
    return this;
  }

  /** mlx5 counts what is said of a request: said twice, it were whole before its data is known. */
  private void requireNoTarget() {
    if (opcode == null) {
      throw new IllegalStateException("say first what the request does");
    }
    if (addressed || !takesTarget(opcode)) {
      throw new IllegalStateException(opcode + (addressed ? " has its" : " has no") + " target");
    }
  }

  // The end

  /**
   * Posts all requests: {@code ibv_wr_complete}.
   *
   * @return how many were posted: all, or none if the queue cannot hold them all
   * @throws IllegalStateException if the queue pair's state takes no sends yet
   * @throws VerbsException if C refuses them; none was posted
   */
  public int complete() {
    requireOwner();
    endRequest();
    int errno;
    try {
      errno = Math.abs(calls.ibv_wr_complete());
    } finally {
      owner.setRelease(null);
    }
    if (errno == 0) {
      return requests;
    }
    queuePair.requireReached(QueuePairState.RTS, "ibv_wr_complete", errno);
    if (errno == Errno.ENOMEM || errno == Errno.ENOSPC) { // The latter is librxe's word for it.
      return 0;
    }
    throw new VerbsException(
        "ibv_wr_complete", errno, requests + " requests on " + queuePair + ", none was posted");
  }

  /**
   * Drops what was not completed: {@code ibv_wr_abort}. Does nothing after {@link #complete}, nor
   * in another thread than the one that opened the posting, unless that thread has ended.
   */
  @Override
  public void close() {
    if (!isOpenHere()) {
      abortIfAbandoned();
      return;
    }
    try {
      calls.ibv_wr_abort();
    } finally {
      owner.setRelease(null);
    }
  }
}
