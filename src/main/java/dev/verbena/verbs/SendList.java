package dev.verbena.verbs;

import dev.verbena.internal.Memory;
import dev.verbena.raw.ibv_mw_bind_info;
import dev.verbena.raw.ibv_send_wr;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * Send requests, to be posted together: an array of {@code struct ibv_send_wr}.
 *
 * <p>Each request is formatted once, by the method named like its operation, and from then on only
 * patched: every setter is one or two stores.
 *
 * <p>
 *
 * {@snippet :
 * SendList sends = new SendList(2, 1);
 * sends.write(0).local(region, 0, 4096).remote(peerAddress, peerKey);
 * sends.send(1).id(7).local(region, 4096, 64).signaled();
 * int taken = queuePair.post(sends);
 *
 * sends.id(1, 8);
 * sends.local(1, region, 4160, 64);
 * taken = queuePair.post(sends, 1, 1);
 * }
 *
 * <p>Remote flush and atomic write have no place in C's struct: they are posted through {@link
 * Posting}.
 */
public final class SendList extends RequestList {
  static final int SIGNALED = rdma_h.IBV_SEND_SIGNALED();
  static final int FENCED = rdma_h.IBV_SEND_FENCE();
  static final int SOLICITED = rdma_h.IBV_SEND_SOLICITED();
  static final int CHECKSUM = rdma_h.IBV_SEND_IP_CSUM();
  private static final int INLINE = rdma_h.IBV_SEND_INLINE();

  private static final long SIZE = ibv_send_wr.sizeof();
  private static final long OPCODE = ibv_send_wr.opcode$offset();
  private static final long FLAGS = ibv_send_wr.send_flags$offset();
  private static final long IMMEDIATE = ibv_send_wr.imm_data$offset();
  private static final long INVALIDATED_KEY = ibv_send_wr.invalidate_rkey$offset();

  private static final long RDMA = ibv_send_wr.wr$offset() + ibv_send_wr.wr.rdma$offset();
  private static final long RDMA_ADDRESS = RDMA + ibv_send_wr.wr.rdma.remote_addr$offset();
  private static final long RDMA_KEY = RDMA + ibv_send_wr.wr.rdma.rkey$offset();

  private static final long ATOMIC = ibv_send_wr.wr$offset() + ibv_send_wr.wr.atomic$offset();
  private static final long ATOMIC_KEY = ATOMIC + ibv_send_wr.wr.atomic.rkey$offset();
  private static final long COMPARE_ADD = ATOMIC + ibv_send_wr.wr.atomic.compare_add$offset();
  private static final long SWAP = ATOMIC + ibv_send_wr.wr.atomic.swap$offset();

  private static final long UD = ibv_send_wr.wr$offset() + ibv_send_wr.wr.ud$offset();
  private static final long UD_HANDLE = UD + ibv_send_wr.wr.ud.ah$offset();
  private static final long UD_NUMBER = UD + ibv_send_wr.wr.ud.remote_qpn$offset();
  private static final long UD_KEY = UD + ibv_send_wr.wr.ud.remote_qkey$offset();

  private static final long XRC_NUMBER =
      ibv_send_wr.qp_type$offset()
          + ibv_send_wr.qp_type.xrc$offset()
          + ibv_send_wr.qp_type.xrc.remote_srqn$offset();

  private static final long BIND = ibv_send_wr.bind_mw$offset();
  private static final long BIND_WINDOW = BIND + ibv_send_wr.bind_mw.mw$offset();
  private static final long BIND_KEY = BIND + ibv_send_wr.bind_mw.rkey$offset();
  private static final long BIND_INFO = BIND + ibv_send_wr.bind_mw.bind_info$offset();

  private static final long TSO = ibv_send_wr.tso$offset();
  private static final long TSO_HEADER = TSO + ibv_send_wr.tso.hdr$offset();
  private static final long TSO_HEADER_SIZE = TSO + ibv_send_wr.tso.hdr_sz$offset();
  private static final long TSO_SEGMENT_SIZE = TSO + ibv_send_wr.tso.mss$offset();

  /** What a request may name besides the regions of its entries. */
  private static final int OTHERS = 2;

  private static final int TARGET = 0;
  private static final int BOUND_REGION = 1;

  private static final int INLINE_ALIGNMENT = 16;

  private final WorkRequestOpcode[] opcodes;
  private final long inlineArea;
  private final int inlineCapacity;
  private final MemorySegment[] inlineData;
  private final SendRequest cursor = new SendRequest(this);

  /**
   * Makes requests that are still to be formatted, without room for inline data.
   *
   * @param requests how many requests
   * @param entriesEach how many scatter/gather entries each may have
   */
  public SendList(int requests, int entriesEach) {
    this(requests, entriesEach, 0);
  }

  /**
   * Makes requests that are still to be formatted.
   *
   * @param requests how many requests
   * @param entriesEach how many scatter/gather entries each may have
   * @param inlineCapacity room in each request for data that is sent inline, or for the headers of
   *     TSO
   */
  public SendList(int requests, int entriesEach, int inlineCapacity) {
    super(
        requests,
        checkedEntries(entriesEach, inlineCapacity),
        SIZE,
        (long) Math.max(requests, 0) * aligned(inlineCapacity),
        OTHERS);
    this.inlineCapacity = inlineCapacity;
    this.inlineArea = endOfEntries(requests, entriesEach, SIZE);
    this.opcodes = new WorkRequestOpcode[requests];
    this.inlineData = new MemorySegment[inlineCapacity == 0 ? 0 : requests];
    for (int i = 0; i < inlineData.length; i++) {
      inlineData[i] = memory.slice(inlineAt(i), inlineCapacity);
    }
  }

  private static int checkedEntries(int entriesEach, int inlineCapacity) {
    if (inlineCapacity < 0) {
      throw new IllegalArgumentException("room for " + inlineCapacity + " bytes of inline data");
    }
    if (inlineCapacity > 0 && entriesEach == 0) {
      throw new IllegalArgumentException("inline data needs one entry in each request");
    }
    return entriesEach;
  }

  private static int aligned(int capacity) {
    return Math.ceilDiv(capacity, INLINE_ALIGNMENT) * INLINE_ALIGNMENT;
  }

  private long inlineAt(int request) {
    return inlineArea + (long) request * aligned(inlineCapacity);
  }

  // Formatting

  /**
   * Makes a request a send.
   *
   * @param request the index of a request
   * @return the request, for what else there is to say about it
   */
  public SendRequest send(int request) {
    return format(request, WorkRequestOpcode.SEND);
  }

  /**
   * Makes a request a send with immediate data.
   *
   * @param request the index of a request
   * @param value what the peer's completion shows
   * @return the request, for what else there is to say about it
   */
  public SendRequest sendWithImmediate(int request, int value) {
    format(request, WorkRequestOpcode.SEND_WITH_IMM);
    immediate(request, value);
    return cursor;
  }

  /**
   * Makes a request a send that invalidates a key of the peer.
   *
   * @param request the index of a request
   * @param rkey the key of one of the peer's memory windows or regions
   * @return the request, for what else there is to say about it
   */
  public SendRequest sendWithInvalidate(int request, int rkey) {
    format(request, WorkRequestOpcode.SEND_WITH_INV);
    invalidated(request, rkey);
    return cursor;
  }

  /**
   * Makes a request a write to the peer's memory.
   *
   * @param request the index of a request
   * @return the request, for what else there is to say about it
   */
  public SendRequest write(int request) {
    return format(request, WorkRequestOpcode.RDMA_WRITE);
  }

  /**
   * Makes a request a write to the peer's memory that completes a receive of the peer.
   *
   * @param request the index of a request
   * @param value what the peer's completion shows
   * @return the request, for what else there is to say about it
   */
  public SendRequest writeWithImmediate(int request, int value) {
    format(request, WorkRequestOpcode.RDMA_WRITE_WITH_IMM);
    immediate(request, value);
    return cursor;
  }

  /**
   * Makes a request a read from the peer's memory.
   *
   * @param request the index of a request
   * @return the request, for what else there is to say about it
   */
  public SendRequest read(int request) {
    return format(request, WorkRequestOpcode.RDMA_READ);
  }

  /**
   * Makes a request an atomic compare and swap. Its entry receives the old value.
   *
   * @param request the index of a request
   * @param expected the value that is exchanged
   * @param desired what it is exchanged for
   * @return the request, for what else there is to say about it
   */
  public SendRequest compareAndSwap(int request, long expected, long desired) {
    format(request, WorkRequestOpcode.ATOMIC_CMP_AND_SWP);
    operands(request, expected, desired);
    return cursor;
  }

  /**
   * Makes a request an atomic addition. Its entry receives the old value.
   *
   * @param request the index of a request
   * @param add what is added
   * @return the request, for what else there is to say about it
   */
  public SendRequest fetchAndAdd(int request, long add) {
    format(request, WorkRequestOpcode.ATOMIC_FETCH_AND_ADD);
    operand(request, add);
    return cursor;
  }

  /**
   * Makes a request the invalidation of a local key.
   *
   * @param request the index of a request
   * @param rkey the key of a memory window of type 2
   * @return the request, for what else there is to say about it
   */
  public SendRequest localInvalidate(int request, int rkey) {
    format(request, WorkRequestOpcode.LOCAL_INV);
    invalidated(request, rkey);
    return cursor;
  }

  /**
   * Makes a request a send in TCP segments. Its entries are the stream without headers.
   *
   * @param request the index of a request
   * @param header the headers up to TCP's, copied into the list's room for inline data
   * @param segmentSize how much of the stream each packet carries
   * @return the request, for what else there is to say about it
   */
  public SendRequest tso(int request, MemorySegment header, int segmentSize) {
    MemorySegment copy = inlineData(request).asSlice(0, fitting(header.byteSize()));
    if (segmentSize < 1 || segmentSize >= 1 << Short.SIZE) {
      throw new IllegalArgumentException("segments of " + segmentSize + " bytes");
    }
    long at = clear(request);
    copy.copyFrom(header);
    putLong(at + TSO_HEADER, copy.address());
    Memory.putShort(at + TSO_HEADER_SIZE, (short) header.byteSize());
    Memory.putShort(at + TSO_SEGMENT_SIZE, (short) segmentSize);
    memory.keep();
    return formatted(request, WorkRequestOpcode.TSO);
  }

  /**
   * Makes a request the binding of a memory window of type 2. Once it completed, the window must be
   * {@linkplain MemoryWindow#bound told} its key.
   *
   * @param request the index of a request
   * @param window a window of type 2
   * @param rkey its new key: {@link MemoryWindow#nextKey} of the old one
   * @param binding what to show, and to whom
   * @return the request, for what else there is to say about it
   */
  public SendRequest bindMemoryWindow(
      int request, MemoryWindow window, int rkey, WindowBinding binding) {
    if (window.type() != MemoryWindowType.TYPE_2) {
      throw new IllegalArgumentException(window + " is not of type 2: it is bound by bind()");
    }
    long at = clear(request);
    name(request, TARGET, OTHERS, window);
    name(request, BOUND_REGION, OTHERS, binding.region());
    binding.writeTo(Memory.at(at + BIND_INFO, ibv_mw_bind_info.sizeof()));
    putLong(at + BIND_WINDOW, window.address());
    putInt(at + BIND_KEY, rkey);
    return formatted(request, WorkRequestOpcode.BIND_MW);
  }

  private SendRequest format(int request, WorkRequestOpcode opcode) {
    clear(request);
    return formatted(request, opcode);
  }

  /**
   * Clears everything that another operation may have left. From now on the request is not
   * formatted: it cannot be posted if a later step throws.
   *
   * @return its address
   */
  private long clear(int request) {
    long at = at(Objects.checkIndex(request, size()));
    opcodes[request] = null;
    putLong(at + ID, 0);
    setEntries(request, 0);
    for (long offset = OPCODE; offset < SIZE; offset += Integer.BYTES) {
      putInt(at + offset, 0);
    }
    for (int other = 0; other < OTHERS; other++) {
      name(request, other, OTHERS, null);
    }
    return at;
  }

  /** Sets the operation, which is the last step of formatting. */
  private SendRequest formatted(int request, WorkRequestOpcode opcode) {
    putInt(at(request) + OPCODE, opcode.code());
    opcodes[request] = opcode;
    return cursor.at(request);
  }

  /** Makes a request unformatted again, since a step of its formatting failed. */
  void discard(int request) {
    opcodes[request] = null;
    setEntries(request, 0);
  }

  // Patching

  /**
   * Sets where the peer's memory is that a write, read or atomic works on.
   *
   * @param request the index of a request
   * @param address the address, as the peer gave it
   * @param rkey the key, as the peer gave it
   */
  public void remote(int request, long address, int rkey) {
    long at = at(checked(request));
    switch (opcodes[request]) {
      case RDMA_WRITE, RDMA_WRITE_WITH_IMM, RDMA_READ -> putInt(at + RDMA_KEY, rkey);
      case ATOMIC_CMP_AND_SWP, ATOMIC_FETCH_AND_ADD -> {
        if ((address & (Long.BYTES - 1)) != 0) {
          throw new IllegalArgumentException("an atomic needs a remote address divisible by 8");
        }
        putInt(at + ATOMIC_KEY, rkey);
      }
      case null, default -> throw unfit(request, "a remote address");
    }
    putLong(at + RDMA_ADDRESS, address); // Atomics have it at the same place.
  }

  /**
   * Sets the immediate data of a send or write that has some.
   *
   * @param request the index of a request
   * @param value what the peer's completion shows
   */
  public void immediate(int request, int value) {
    switch (opcodes[checked(request)]) {
      case SEND_WITH_IMM, RDMA_WRITE_WITH_IMM ->
          putInt(at(request) + IMMEDIATE, Integer.reverseBytes(value));
      case null, default -> throw unfit(request, "immediate data");
    }
  }

  /**
   * Sets the key that a request invalidates.
   *
   * @param request the index of a request
   * @param rkey a key of the peer for a send, of this side for a local invalidation
   */
  public void invalidated(int request, int rkey) {
    switch (opcodes[checked(request)]) {
      case SEND_WITH_INV, LOCAL_INV -> putInt(at(request) + INVALIDATED_KEY, rkey);
      case null, default -> throw unfit(request, "a key to invalidate");
    }
  }

  /**
   * Sets the operands of a compare and swap.
   *
   * @param request the index of a request
   * @param expected the value that is exchanged
   * @param desired what it is exchanged for
   */
  public void operands(int request, long expected, long desired) {
    if (opcodes[checked(request)] != WorkRequestOpcode.ATOMIC_CMP_AND_SWP) {
      throw unfit(request, "two operands");
    }
    putLong(at(request) + COMPARE_ADD, expected);
    putLong(at(request) + SWAP, desired);
  }

  /**
   * Sets the operand of a fetch and add.
   *
   * @param request the index of a request
   * @param add what is added
   */
  public void operand(int request, long add) {
    if (opcodes[checked(request)] != WorkRequestOpcode.ATOMIC_FETCH_AND_ADD) {
      throw unfit(request, "one operand");
    }
    putLong(at(request) + COMPARE_ADD, add);
  }

  /**
   * Marks a send request as signaled: it generates a work completion ({@code IBV_SEND_SIGNALED}).
   *
   * @param request the index of a request
   */
  public void signaled(int request) {
    flag(checked(request), SIGNALED, true);
  }

  /**
   * Marks a send request as unsignaled: it generates a work completion only if it fails.
   *
   * @param request the index of a request
   */
  public void unsignaled(int request) {
    flag(checked(request), SIGNALED, false);
  }

  /**
   * Sets the extended reliable connection's target at the peer.
   *
   * @param request the index of a request
   * @param number the number of the peer's shared receive queue
   */
  public void sharedReceiveQueue(int request, int number) {
    putInt(at(checked(request)) + XRC_NUMBER, number);
  }

  /**
   * Sets where a datagram goes.
   *
   * @param request the index of a send
   * @param handle the path to the peer
   * @param number the number of the peer's queue pair
   * @param key the Q_Key of the peer's queue pair
   */
  public void to(int request, AddressHandle handle, int number, int key) {
    switch (opcodes[checked(request)]) {
      case SEND, SEND_WITH_IMM, TSO -> {}
      case null, default -> throw unfit(request, "an address handle");
    }
    long at = at(request);
    long address = handle.address();
    name(request, TARGET, OTHERS, handle);
    putLong(at + UD_HANDLE, address);
    putInt(at + UD_NUMBER, number);
    putInt(at + UD_KEY, key);
  }

  /**
   * The memory in which a request's inline data lies, to be written in place.
   *
   * @param request the index of a request
   * @return a segment as long as the list's room for inline data
   */
  public MemorySegment inlineData(int request) {
    if (inlineCapacity == 0) {
      throw new IllegalArgumentException("the list was made without room for inline data");
    }
    return inlineData[Objects.checkIndex(request, inlineData.length)];
  }

  /**
   * Sets how much of {@link #inlineData} an inline request sends.
   *
   * @param request the index of a request that was made {@linkplain SendRequest#inline inline}
   * @param length the number of bytes
   */
  public void inlineLength(int request, long length) {
    if ((flags(checked(request)) & INLINE) == 0) {
      throw unfit(request, "inline data: format it so");
    }
    putInlineLength(request, fitting(length));
  }

  /** Makes a send or write take its data from the list's own memory. */
  void inline(int request, long length) {
    switch (opcodes[request]) {
      case SEND, SEND_WITH_IMM, RDMA_WRITE, RDMA_WRITE_WITH_IMM -> {}
      case null, default -> throw unfit(request, "inline data");
    }
    if (entries(request) > 0) {
      throw new IllegalStateException(describe(request) + " has entries already");
    }
    putInline(request, inlineAt(request), fitting(length));
    setEntryCount(request, 1);
    flag(request, INLINE, true);
  }

  private int fitting(long length) {
    if (length < 0 || length > inlineCapacity) {
      throw new IllegalArgumentException(
          length + " bytes of inline data; the list has room for " + inlineCapacity);
    }
    return (int) length;
  }

  final void flag(int request, int flag, boolean set) {
    int flags = flags(request);
    putInt(at(request) + FLAGS, set ? flags | flag : flags & ~flag);
  }

  private int flags(int request) {
    return getInt(at(request) + FLAGS);
  }

  // Judging

  /**
   * What a request does.
   *
   * @param request the index of a request
   * @return its operation; null before it is formatted
   */
  public WorkRequestOpcode opcode(int request) {
    return opcodes[Objects.checkIndex(request, opcodes.length)];
  }

  private RuntimeException unfit(int request, String what) {
    return opcodes[request] == null
        ? new IllegalStateException(describe(request) + " is not formatted yet")
        : new IllegalArgumentException(describe(request) + " takes no " + what);
  }

  @Override
  void requireEntries(int request) {
    switch (opcodes[request]) {
      case LOCAL_INV, BIND_MW -> throw unfit(request, "entries");
      case null -> throw unfit(request, "entries");
      default -> {
        if ((flags(request) & INLINE) != 0) {
          throw new IllegalArgumentException(describe(request) + " is inline: it has no entries");
        }
      }
    }
  }

  @Override
  boolean isWritten(int request) {
    return opcodes[request].writesLocally();
  }

  @Override
  QueuePairState firstState() {
    return QueuePairState.RTS;
  }

  @Override
  void validateKind(QueueLimits limits, int request) {
    WorkRequestOpcode opcode = opcodes[request];
    if (opcode == null) {
      throw unfit(request, "post");
    }
    if (!opcode.isFor(limits.type())) {
      throw new IllegalArgumentException(
          describe(request) + " cannot be posted to a queue pair of type " + limits.type());
    }
    if ((flags(request) & INLINE) != 0 && inlineLength(request) > limits.inlineData()) {
      throw new IllegalArgumentException(
          describe(request)
              + " has "
              + inlineLength(request)
              + " bytes of inline data; "
              + limits.queue()
              + " takes "
              + limits.inlineData());
    }
    if (limits.type() == QueuePairType.UD && named(request, TARGET, OTHERS) == null) {
      throw new IllegalArgumentException(
          describe(request) + " has no address handle, which a UD queue pair needs");
    }
    for (int other = 0; other < OTHERS; other++) {
      Resource named = named(request, other, OTHERS);
      switch (named) {
        case null -> {
          continue;
        }
        case AddressHandle handle -> validate(limits, request, handle, handle.domain());
        case MemoryWindow window -> validate(limits, request, window, window.domain());
        case MemoryRegion region -> validate(limits, request, region, region.domain());
        default -> throw new AssertionError(named);
      }
      use(named); // C follows the pointer in the request.
    }
  }

  @Override
  String describe(int request) {
    return "send request "
        + request
        + (opcodes[request] == null ? "" : " (" + opcodes[request] + ")");
  }
}
