package dev.verbena.verbs;

import dev.verbena.NativeFlag;
import dev.verbena.internal.BoundsChecks;
import dev.verbena.internal.CheckReturnValue;
import dev.verbena.internal.DcTargetCalls;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.calls.ExtendedQueuePairCalls;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.Segments;
import dev.verbena.internal.life.DataPathEntry;
import dev.verbena.internal.life.DataPathUser;
import dev.verbena.raw.ibv_data_buf;
import dev.verbena.raw.ibv_mw_bind_info;
import dev.verbena.raw.ibv_sge;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.FlushPlacement;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.WorkRequestOpcode;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A send request of a {@link Posting} that is being built. Each posting has one such object, which
 * refers to the request that was added last.
 *
 * <p>C takes id and flags when a request begins. So the request is passed to C by the next
 * operation or by {@link Posting#complete}, or by {@link #inline}, after which only the destination
 * can be set.
 */
public final class PostingRequest {
  private static final long SGE = ibv_sge.sizeof();
  private static final long BIND_INFO = 0;
  private static final long ATOMIC_VALUE = BIND_INFO + ibv_mw_bind_info.sizeof();
  private static final long SGES = ATOMIC_VALUE + Long.BYTES;

  private final Posting posting;
  private final QueuePair queuePair;
  private final RequestList.Limits limits;
  private final Set<WorkRequestOpcode> opcodes = EnumSet.noneOf(WorkRequestOpcode.class);
  private final ExtendedQueuePairCalls calls;
  private final DataPathUser user = new DataPathUser(this);
  private final Block memory;

  /** Null but for a DC initiator. */
  private final @Nullable DcTargetCalls targets;

  private int count;

  /** Whether no request is passed to C, as the queue is full. */
  private boolean discarded;

  /** Null if there is no request that C does not have as a whole. */
  private @Nullable WorkRequestOpcode opcode;

  private long id;
  private int flags;
  private int rkey;
  private long remote;

  /** Further operands: immediate data, operands of atomic operations, length of a flush. */
  private long first;

  private long second;

  /** A copy of the headers, kept for the next request of the same size. */
  private MemorySegment header = MemorySegment.NULL;

  private @Nullable MemoryWindow window;
  private @Nullable MemoryRegion bound;
  private int sges;
  private boolean inline;
  private boolean addressed;
  private @Nullable AddressHandle handle;
  private int number;
  private long key;

  PostingRequest(
      Posting posting,
      QueuePair queuePair,
      RequestList.Limits limits,
      ExtendedQueuePairCalls calls,
      @Nullable DcTargetCalls targets) {
    this.posting = posting;
    this.queuePair = queuePair;
    this.limits = limits;
    this.calls = calls;
    this.targets = targets;
    this.memory = new Block(SGES + limits.sges() * SGE);
    limits.operations().forEach(one -> opcodes.add(WorkRequestOpcode.valueOf(one.name())));
  }

  /** Returns the number of requests since {@link #reset}. */
  int count() {
    return count;
  }

  /** Begins a posting, whose requests may all be discarded. */
  void reset(boolean discarded) {
    this.discarded = discarded;
    count = 0;
    forget();
  }

  private void forget() {
    opcode = null;
    id = 0;
    flags = 0;
    sges = 0;
    inline = false;
    addressed = false;
    handle = null;
    window = null;
    bound = null;
  }

  // The operations

  PostingRequest begin(WorkRequestOpcode next, int rkey, long remote) {
    return begin(next, rkey, remote, 0, 0);
  }

  PostingRequest begin(WorkRequestOpcode next, int rkey, long remote, long first, long second) {
    requirePossible(next);
    end();
    this.rkey = rkey;
    this.remote = remote;
    this.first = first;
    this.second = second;
    opcode = next;
    count++;
    return this;
  }

  private void requirePossible(WorkRequestOpcode next) {
    posting.section().requireOpenHere();
    if (!BoundsChecks.ON) {
      return;
    }
    if (!next.isFor(limits.type())) {
      throw new IllegalArgumentException(
          next + " cannot be posted to a queue pair of type " + limits.type());
    }
    if (!opcodes.contains(next)) {
      throw new IllegalArgumentException(
          next
              + " on a queue pair that was created with sendOperations("
              + limits.operations()
              + ")");
    }
  }

  PostingRequest tso(MemorySegment headers, int segmentSize) {
    requirePossible(WorkRequestOpcode.TSO);
    end(); // It may use the headers of the previous request.
    if (header.byteSize() != headers.byteSize()) {
      header = Arena.ofAuto().allocate(headers.byteSize());
    }
    header.copyFrom(headers);
    return begin(WorkRequestOpcode.TSO, 0, 0, segmentSize, 0);
  }

  PostingRequest flush(
      int rkey, long remote, long length, Set<FlushPlacement> placements, int level) {
    long types = NativeFlag.mask(placements);
    return begin(WorkRequestOpcode.FLUSH, rkey, remote, length, types << Byte.SIZE | level);
  }

  PostingRequest bind(MemoryWindow window, int rkey, WindowBinding binding) {
    window.requireType(MemoryWindowType.TYPE_2);
    requireSameDomain(window, window.domain());
    requireSameDomain(binding.region(), binding.region().domain());
    requirePossible(WorkRequestOpcode.BIND_MW);
    window.core.requireNotClosing();
    binding.region().core.requireNotClosing();
    end();
    binding.writeTo(memory.slice(BIND_INFO, ibv_mw_bind_info.sizeof()));
    begin(WorkRequestOpcode.BIND_MW, rkey, 0);
    this.window = window;
    this.bound = binding.region();
    return this;
  }

  // Passing the request to C

  /**
   * Passes what C does not have yet of the request. All SGEs are passed in one call, also if there
   * are none: with libmlx5 and libionic a request is only complete after its data is set. An empty
   * request uses the list function, as libefa and libbnxt_re would pass a single SGE of length 0 to
   * the device.
   */
  void end() {
    if (opcode == null) {
      return;
    }
    if (BoundsChecks.ON) {
      requireWhole();
    }
    if (handle == null && window == null) {
      pass();
    } else {
      DataPathEntry entry = user.enter();
      try {
        if (handle != null) {
          user.use(handle.core);
        }
        if (window != null) {
          user.use(window.core);
          user.use(bound.core);
        }
        pass();
      } finally {
        entry.leave();
      }
    }
    forget();
  }

  private void pass() {
    if (discarded) {
      return;
    }
    if (!inline) {
      issue();
    }
    if (addressed) {
      passTarget();
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
  }

  private void issue() {
    calls.wr_id(id);
    calls.wr_flags(flags);
    switch (opcode) {
      case SEND -> calls.ibv_wr_send();
      case SEND_WITH_IMM -> calls.ibv_wr_send_imm((int) first);
      case SEND_WITH_INV -> calls.ibv_wr_send_inv(rkey);
      case RDMA_WRITE -> calls.ibv_wr_rdma_write(rkey, remote);
      case RDMA_WRITE_WITH_IMM -> calls.ibv_wr_rdma_write_imm(rkey, remote, (int) first);
      case RDMA_READ -> calls.ibv_wr_rdma_read(rkey, remote);
      case ATOMIC_CMP_AND_SWP -> calls.ibv_wr_atomic_cmp_swp(rkey, remote, first, second);
      case ATOMIC_FETCH_AND_ADD -> calls.ibv_wr_atomic_fetch_add(rkey, remote, first);
      case ATOMIC_WRITE -> {
        Memory.putLong(memory.address(ATOMIC_VALUE), first);
        calls.ibv_wr_atomic_write(rkey, remote, memory.address(ATOMIC_VALUE));
      }
      case FLUSH ->
          calls.ibv_wr_flush(rkey, remote, first, (byte) (second >> Byte.SIZE), (byte) second);
      case LOCAL_INV -> calls.ibv_wr_local_inv(rkey);
      case BIND_MW -> calls.ibv_wr_bind_mw(window.address(), rkey, memory.address(BIND_INFO));
      case TSO -> calls.ibv_wr_send_tso(header, (short) header.byteSize(), (short) first);
      default -> throw new AssertionError(opcode);
    }
  }

  private void passTarget() {
    if (targets != null) {
      targets.mlx5dv_wr_set_dc_addr(handle.address(), number, key);
    } else if (handle != null) {
      calls.ibv_wr_set_ud_addr(handle.address(), number, (int) key);
    } else {
      calls.ibv_wr_set_xrc_srqn(number);
    }
  }

  /**
   * Checks that the request that was built last has all fields that {@code ibv_wr_post(3)}
   * requires.
   */
  private void requireWhole() {
    if (!addressed && limits.namesDestination()) {
      throw new IllegalStateException(opcode + limits.hasNoDestination());
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

  private void require(String use) {
    posting.section().requireOpenHere();
    if (opcode == null) {
      throw new IllegalStateException(
          "no request to " + use + ": call an operation such as send() first");
    }
  }

  private void requireSameDomain(Resource named, ProtectionDomain domain) {
    if (BoundsChecks.ON && domain.root() != limits.domain()) {
      throw new IllegalArgumentException(
          named + " belongs to another protection domain than " + queuePair);
    }
  }

  // Its fields

  /**
   * Sets the {@code wr_id} which the completion returns. The default is 0.
   *
   * @param id any value
   * @return this
   */
  public PostingRequest id(long id) {
    requireUnissued();
    this.id = id;
    return this;
  }

  /**
   * Makes the request signaled: it generates a work completion ({@code IBV_SEND_SIGNALED}).
   *
   * @return this
   */
  public PostingRequest signaled() {
    return flag(rdma_h.IBV_SEND_SIGNALED());
  }

  /**
   * Delays the request until the preceding reads and atomic operations are completed: {@code
   * IBV_SEND_FENCE}.
   *
   * @return this
   */
  public PostingRequest fenced() {
    return flag(rdma_h.IBV_SEND_FENCE());
  }

  /**
   * Makes the remote completion a solicited event: {@code IBV_SEND_SOLICITED}.
   *
   * @return this
   */
  public PostingRequest solicited() {
    return flag(rdma_h.IBV_SEND_SOLICITED());
  }

  /**
   * Lets the device compute the checksums: {@code IBV_SEND_IP_CSUM}.
   *
   * @return this
   */
  public PostingRequest checksum() {
    return flag(rdma_h.IBV_SEND_IP_CSUM());
  }

  private PostingRequest flag(int flag) {
    requireUnissued();
    flags |= flag;
    return this;
  }

  private void requireUnissued() {
    require("set the id or a flag of");
    if (inline) {
      throw new IllegalStateException(
          opcode + " already has its inline data: set its id and flags before");
    }
  }

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
  public PostingRequest local(MemoryRegion region, long offset, long length) {
    requireData();
    long address = BoundsChecks.ON ? region.addressOf(offset, length) : region.start() + offset;
    requireSameDomain(region, region.domain());
    if (BoundsChecks.ON && opcode.writesLocally()) {
      region.requireLocallyWritable(opcode.toString());
    }
    if (sges == limits.sges() || length >>> Integer.SIZE != 0) {
      throw new IllegalArgumentException(
          "SGE %s of %s bytes; %s allows %s SGEs of less than 2^32 bytes"
              .formatted(sges, length, queuePair, limits.sges()));
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
   * Sends inline data, which is copied now: {@code ibv_wr_set_inline_data} and {@code
   * IBV_SEND_INLINE}. Set the id and the flags before.
   *
   * @param data native memory, registered or not
   * @return this
   */
  public PostingRequest inline(MemorySegment data) {
    requireInlinable(data.byteSize());
    Segments.readable(data, 0);
    issueInline();
    if (!discarded) {
      calls.ibv_wr_set_inline_data(data, data.byteSize());
    }
    return this;
  }

  /**
   * Sends inline data from several segments, which is copied now: {@code
   * ibv_wr_set_inline_data_list}. If the provider may be librxe before rdma-core 64, which loses
   * the data of a list, the segments are joined first. Allocates memory. Set the id and the flags
   * before.
   *
   * @param first memory of any kind, registered or not
   * @param others further memory of any kind
   * @return this
   */
  public PostingRequest inline(MemorySegment first, MemorySegment... others) {
    long length = first.byteSize() + Stream.of(others).mapToLong(MemorySegment::byteSize).sum();
    requireInlinable(length);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment all = arena.allocate(length);
      MemorySegment parts = ibv_data_buf.allocateArray(1 + others.length, arena);
      long at = 0;
      for (int i = 0; i <= others.length; i++) {
        MemorySegment data = i == 0 ? first : others[i - 1];
        MemorySegment copy = all.asSlice(at, data.byteSize()).copyFrom(data);
        ibv_data_buf.addr(ibv_data_buf.asSlice(parts, i), copy);
        ibv_data_buf.length(ibv_data_buf.asSlice(parts, i), data.byteSize());
        at += data.byteSize();
      }
      if (queuePair.context().mayHaveLibrxeBefore(64)) {
        return inline(all);
      }
      issueInline();
      if (!discarded) {
        calls.ibv_wr_set_inline_data_list(1 + others.length, parts.address());
      }
      return this;
    }
  }

  /** The data is copied into the send queue now, so C must know the request before. */
  private void issueInline() {
    flags |= rdma_h.IBV_SEND_INLINE();
    if (!discarded) {
      issue();
    }
    inline = true;
  }

  private void requireData() {
    require("set the data of");
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
    if (sges > 0) {
      throw new IllegalStateException(opcode + " already has SGEs");
    }
    if (length > limits.inlineData()) {
      throw new IllegalArgumentException(
          "inline data must be at most %s bytes on %s: %s"
              .formatted(limits.inlineData(), queuePair, length));
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
  public PostingRequest to(AddressHandle handle, int number, int key) {
    posting.section().requireOpenHere();
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
    return target(handle, number, key);
  }

  /**
   * Sets the DC target of a request of a DC initiator: {@code mlx5dv_wr_set_dc_addr}.
   *
   * @param handle the address handle of the target's device
   * @param number the number of the target (DCTN): that of its {@link QueuePair#localAddress}
   * @param accessKey the DC access key of the target
   * @return this
   */
  public PostingRequest toTarget(AddressHandle handle, int number, long accessKey) {
    posting.section().requireOpenHere();
    if (targets == null) {
      throw new IllegalStateException(
          "only requests of DC initiators have a DC target: " + queuePair + " is " + limits.type());
    }
    requireNoTarget();
    requireSameDomain(handle, handle.domain());
    return target(handle, Ranges.bits(number, 24, "a DCT number"), accessKey);
  }

  /**
   * Sets the shared receive queue of an XRC send request: {@code ibv_wr_set_xrc_srqn}.
   *
   * @param number the number of the remote shared receive queue
   * @return this
   */
  public PostingRequest sharedReceiveQueue(int number) {
    posting.section().requireOpenHere();
    if (limits.type() != QueuePairType.XRC_SEND) {
      throw new IllegalStateException(
          "only requests of XRC_SEND queue pairs have a shared receive queue number");
    }
    requireNoTarget();
    return target(null, number, 0);
  }

  /**
   * libmlx5 counts the setters that were called for a request: after the second call of one it
   * would treat the request as complete before its data is set.
   */
  private void requireNoTarget() {
    require("set the destination of");
    if (addressed || !takesTarget(opcode)) {
      throw new IllegalStateException(
          opcode + (addressed ? " already has a destination" : " has no destination"));
    }
  }

  private PostingRequest target(@Nullable AddressHandle handle, int number, long key) {
    if (handle != null) {
      handle.core.requireNotClosing();
    }
    this.handle = handle;
    this.number = number;
    this.key = key;
    addressed = true;
    return this;
  }

  /**
   * Posts all requests of the posting, with this as the last: {@link Posting#complete}.
   *
   * @return the number of requests that were posted: all, or none if the queue cannot hold all
   */
  @CheckReturnValue
  public int complete() {
    return posting.complete();
  }

  @Override
  public String toString() {
    return "request " + count + " of " + posting;
  }
}
