package dev.verbena.verbs;

import static dev.verbena.internal.calls.SendWorkRequest.ATOMIC_KEY;
import static dev.verbena.internal.calls.SendWorkRequest.BIND_INFO;
import static dev.verbena.internal.calls.SendWorkRequest.BIND_KEY;
import static dev.verbena.internal.calls.SendWorkRequest.BIND_WINDOW;
import static dev.verbena.internal.calls.SendWorkRequest.COMPARE_ADD;
import static dev.verbena.internal.calls.SendWorkRequest.FLAGS;
import static dev.verbena.internal.calls.SendWorkRequest.IMMEDIATE;
import static dev.verbena.internal.calls.SendWorkRequest.INVALIDATED_KEY;
import static dev.verbena.internal.calls.SendWorkRequest.OPCODE;
import static dev.verbena.internal.calls.SendWorkRequest.RDMA_ADDRESS;
import static dev.verbena.internal.calls.SendWorkRequest.RDMA_KEY;
import static dev.verbena.internal.calls.SendWorkRequest.SIZE;
import static dev.verbena.internal.calls.SendWorkRequest.SWAP;
import static dev.verbena.internal.calls.SendWorkRequest.TSO_HEADER;
import static dev.verbena.internal.calls.SendWorkRequest.TSO_HEADER_SIZE;
import static dev.verbena.internal.calls.SendWorkRequest.TSO_SEGMENT_SIZE;
import static dev.verbena.internal.calls.SendWorkRequest.UD_HANDLE;
import static dev.verbena.internal.calls.SendWorkRequest.UD_KEY;
import static dev.verbena.internal.calls.SendWorkRequest.UD_NUMBER;
import static dev.verbena.internal.calls.SendWorkRequest.XRC_NUMBER;

import dev.verbena.internal.ListedSendCalls;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_mw_bind_info;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import dev.verbena.values.WorkRequestOpcode;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A list of send requests that are posted together: an array of {@code struct ibv_send_wr} in
 * native memory.
 *
 * <p>Each request is formatted once, by the method of its operation, and then only patched: each
 * setter consists of one or two stores.
 *
 * {@snippet :
 * SendList sends = new SendList(2, 1);
 * sends.write(0).local(region, 0, 4096).remote(remoteAddress, remoteKey);
 * sends.send(1).id(7).local(region, 4096, 64).signaled();
 * int posted = queuePair.post(sends);
 *
 * sends.id(1, 8);
 * sends.local(1, region, 4160, 64);
 * posted = queuePair.post(sends, 1, 1);
 * }
 *
 * <p>A list is used by one thread at a time. There is nothing to close: its memory is freed by the
 * garbage collector. Flush and atomic write are not part of {@code struct ibv_send_wr}: use {@link
 * Posting}. See {@code ibv_post_send(3)}.
 */
public final class SendList extends RequestList {
  static final int SIGNALED = rdma_h.IBV_SEND_SIGNALED();
  static final int FENCED = rdma_h.IBV_SEND_FENCE();
  static final int SOLICITED = rdma_h.IBV_SEND_SOLICITED();
  static final int CHECKSUM = rdma_h.IBV_SEND_IP_CSUM();
  private static final int INLINE = rdma_h.IBV_SEND_INLINE();

  /** The number of objects that a request may name besides the regions of its SGEs. */
  private static final int OTHERS = 2;

  private static final int TARGET = 0;
  private static final int BOUND_REGION = 1;

  private static final int INLINE_ALIGNMENT = 16;

  private final WorkRequestOpcode[] opcodes;
  private final long inlineArea;
  private final int inlineCapacity;
  private final MemorySegment[] inlineData;

  /** Whether the destination of a request is a DC target. */
  private final boolean[] dcTargets;

  private final SendRequest cursor = new SendRequest(this);

  /**
   * Creates a list of unformatted requests without inline data.
   *
   * @param requests the number of send requests
   * @param maxSges the maximum number of scatter/gather elements (SGEs) of each request
   */
  public SendList(int requests, int maxSges) {
    this(requests, maxSges, 0);
  }

  /**
   * Creates a list of unformatted requests.
   *
   * @param requests the number of send requests
   * @param maxSges the maximum number of scatter/gather elements (SGEs) of each request
   * @param inlineCapacity the maximum size of the inline data of each request, or of the headers of
   *     TSO, in bytes
   */
  public SendList(int requests, int maxSges, int inlineCapacity) {
    super(
        requests,
        checkedSges(maxSges, inlineCapacity),
        SIZE,
        Math.max(requests, 0) * aligned(inlineCapacity),
        OTHERS);
    this.inlineCapacity = inlineCapacity;
    this.inlineArea = endOfSges(requests, maxSges, SIZE);
    this.opcodes = new WorkRequestOpcode[requests];
    this.dcTargets = new boolean[requests];
    this.inlineData = new MemorySegment[inlineCapacity == 0 ? 0 : requests];
    for (int i = 0; i < inlineData.length; i++) {
      inlineData[i] = memory.slice(inlineAt(i), inlineCapacity);
    }
  }

  private static int checkedSges(int maxSges, int inlineCapacity) {
    if (inlineCapacity < 0) {
      throw new IllegalArgumentException(
          "size of inline data must not be negative: " + inlineCapacity);
    }
    if (inlineCapacity > 0 && maxSges == 0) {
      throw new IllegalArgumentException("inline data requires one SGE in each request");
    }
    return maxSges;
  }

  private static long aligned(int capacity) {
    return (long) Math.ceilDiv(capacity, INLINE_ALIGNMENT) * INLINE_ALIGNMENT;
  }

  private long inlineAt(int request) {
    return inlineArea + request * aligned(inlineCapacity);
  }

  // Formatting

  /**
   * Formats a request as a send: {@code IBV_WR_SEND}.
   *
   * @param request the index of the request
   * @return the request, to set its other fields
   */
  public SendRequest send(int request) {
    return format(request, WorkRequestOpcode.SEND);
  }

  /**
   * Formats a request as a send with immediate data: {@code IBV_WR_SEND_WITH_IMM}.
   *
   * @param request the index of the request
   * @param value the immediate data, in Java's byte order
   * @return the request, to set its other fields
   */
  public SendRequest sendWithImmediate(int request, int value) {
    format(request, WorkRequestOpcode.SEND_WITH_IMM);
    immediate(request, value);
    return cursor;
  }

  /**
   * Formats a request as a send that invalidates a remote key: {@code IBV_WR_SEND_WITH_INV}.
   *
   * @param request the index of the request
   * @param rkey the remote key of a memory window or region of the remote side
   * @return the request, to set its other fields
   */
  public SendRequest sendWithInvalidate(int request, int rkey) {
    format(request, WorkRequestOpcode.SEND_WITH_INV);
    invalidated(request, rkey);
    return cursor;
  }

  /**
   * Formats a request as an RDMA write: {@code IBV_WR_RDMA_WRITE}.
   *
   * @param request the index of the request
   * @return the request, to set its other fields
   */
  public SendRequest write(int request) {
    return format(request, WorkRequestOpcode.RDMA_WRITE);
  }

  /**
   * Formats a request as an RDMA write with immediate data, which consumes a remote receive
   * request: {@code IBV_WR_RDMA_WRITE_WITH_IMM}.
   *
   * @param request the index of the request
   * @param value the immediate data, in Java's byte order
   * @return the request, to set its other fields
   */
  public SendRequest writeWithImmediate(int request, int value) {
    format(request, WorkRequestOpcode.RDMA_WRITE_WITH_IMM);
    immediate(request, value);
    return cursor;
  }

  /**
   * Formats a request as an RDMA read: {@code IBV_WR_RDMA_READ}.
   *
   * @param request the index of the request
   * @return the request, to set its other fields
   */
  public SendRequest read(int request) {
    return format(request, WorkRequestOpcode.RDMA_READ);
  }

  /**
   * Formats a request as an atomic compare and swap: {@code IBV_WR_ATOMIC_CMP_AND_SWP}. Its SGE
   * receives the previous value.
   *
   * @param request the index of the request
   * @param expected the expected value
   * @param desired the new value
   * @return the request, to set its other fields
   */
  public SendRequest compareAndSwap(int request, long expected, long desired) {
    format(request, WorkRequestOpcode.ATOMIC_CMP_AND_SWP);
    operands(request, expected, desired);
    return cursor;
  }

  /**
   * Formats a request as an atomic fetch and add: {@code IBV_WR_ATOMIC_FETCH_AND_ADD}. Its SGE
   * receives the previous value.
   *
   * @param request the index of the request
   * @param add the value to add
   * @return the request, to set its other fields
   */
  public SendRequest fetchAndAdd(int request, long add) {
    format(request, WorkRequestOpcode.ATOMIC_FETCH_AND_ADD);
    operand(request, add);
    return cursor;
  }

  /**
   * Formats a request as a local invalidation of a remote key: {@code IBV_WR_LOCAL_INV}.
   *
   * @param request the index of the request
   * @param rkey the remote key of a memory window of type 2
   * @return the request, to set its other fields
   */
  public SendRequest localInvalidate(int request, int rkey) {
    format(request, WorkRequestOpcode.LOCAL_INV);
    invalidated(request, rkey);
    return cursor;
  }

  /**
   * Formats a request as TCP segmentation offload (TSO): {@code IBV_WR_TSO}. Its SGEs contain the
   * data without headers.
   *
   * @param request the index of the request
   * @param header the headers up to and including the TCP header, copied to the inline data of the
   *     list
   * @param segmentSize the maximum segment size (MSS) in bytes
   * @return the request, to set its other fields
   */
  public SendRequest tso(int request, MemorySegment header, int segmentSize) {
    MemorySegment copy = inlineData(request).asSlice(0, fitting(header.byteSize()));
    if (segmentSize < 1 || segmentSize >= 1 << Short.SIZE) {
      throw new IllegalArgumentException("segment size must be positive: " + segmentSize);
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
   * Formats a request as the binding of a memory window of type 2: {@code IBV_WR_BIND_MW}. Call
   * {@link MemoryWindow#bound} after its completion.
   *
   * @param request the index of the request
   * @param window a memory window of type 2
   * @param rkey the new remote key: {@link MemoryWindow#nextKey} of the current one
   * @param binding the range and its access flags
   * @return the request, to set its other fields
   */
  public SendRequest bindMemoryWindow(
      int request, MemoryWindow window, int rkey, WindowBinding binding) {
    if (window.type() != MemoryWindowType.TYPE_2) {
      throw new IllegalArgumentException(window + " is not of type 2: use MemoryWindow.bind");
    }
    long at = clear(request);
    name(request, TARGET, OTHERS, window);
    name(request, BOUND_REGION, OTHERS, binding.region());
    binding.writeTo(Memory.at(at + BIND_INFO, ibv_mw_bind_info.sizeof()));
    putLong(at + BIND_WINDOW, window.address());
    putInt(at + BIND_KEY, rkey);
    return formatted(request, WorkRequestOpcode.BIND_MW);
  }

  SendRequest format(int request, WorkRequestOpcode opcode) {
    clear(request);
    return formatted(request, opcode);
  }

  /**
   * Clears the fields of a previous operation. The request is unformatted until the last step of
   * formatting, so that it cannot be posted if a step throws an exception.
   *
   * @return its address
   */
  private long clear(int request) {
    long at = at(Objects.checkIndex(request, size()));
    opcodes[request] = null;
    dcTargets[request] = false;
    putLong(at + ID, 0);
    setSges(request, 0);
    for (long offset = OPCODE; offset < SIZE; offset += Integer.BYTES) {
      putInt(at + offset, 0);
    }
    for (int other = 0; other < OTHERS; other++) {
      name(request, other, OTHERS, null);
    }
    return at;
  }

  /** Sets the opcode, which is the last step of formatting. */
  private SendRequest formatted(int request, WorkRequestOpcode opcode) {
    putInt(at(request) + OPCODE, opcode.code());
    opcodes[request] = opcode;
    return cursor.at(request);
  }

  /** Makes a request unformatted after a failed step. */
  void discard(int request) {
    opcodes[request] = null;
    setSges(request, 0);
  }

  // Patching

  /**
   * Sets the remote memory of a write, read or atomic operation.
   *
   * @param request the index of the request
   * @param address the remote address
   * @param rkey the remote key
   */
  public void remote(int request, long address, int rkey) {
    long at = at(checked(request));
    switch (opcodeOf(request)) {
      case RDMA_WRITE, RDMA_WRITE_WITH_IMM, RDMA_READ -> putInt(at + RDMA_KEY, rkey);
      case ATOMIC_CMP_AND_SWP, ATOMIC_FETCH_AND_ADD -> {
        Posting.aligned(address);
        putInt(at + ATOMIC_KEY, rkey);
      }
      default -> throw unfit(request, "a remote address");
    }
    putLong(at + RDMA_ADDRESS, address); // Atomic operations have it at the same offset.
  }

  /**
   * Sets the immediate data.
   *
   * @param request the index of a send or write with immediate data
   * @param value the immediate data, in Java's byte order
   */
  public void immediate(int request, int value) {
    switch (opcodeOf(request)) {
      case SEND_WITH_IMM, RDMA_WRITE_WITH_IMM ->
          putInt(at(request) + IMMEDIATE, Integer.reverseBytes(value));
      default -> throw unfit(request, "immediate data");
    }
  }

  /**
   * Sets the remote key that a request invalidates.
   *
   * @param request the index of the request
   * @param rkey the remote key of a window or region of the remote side for a send, the remote key
   *     of a window of this side for a local invalidation
   */
  public void invalidated(int request, int rkey) {
    switch (opcodeOf(request)) {
      case SEND_WITH_INV, LOCAL_INV -> putInt(at(request) + INVALIDATED_KEY, rkey);
      default -> throw unfit(request, "a key to invalidate");
    }
  }

  /**
   * Sets the operands of a compare and swap.
   *
   * @param request the index of the request
   * @param expected the expected value
   * @param desired the new value
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
   * @param request the index of the request
   * @param add the value to add
   */
  public void operand(int request, long add) {
    if (opcodes[checked(request)] != WorkRequestOpcode.ATOMIC_FETCH_AND_ADD) {
      throw unfit(request, "one operand");
    }
    putLong(at(request) + COMPARE_ADD, add);
  }

  /**
   * Makes a request signaled: it generates a work completion ({@code IBV_SEND_SIGNALED}).
   *
   * @param request the index of the request
   */
  public void signaled(int request) {
    flag(checked(request), SIGNALED, true);
  }

  /**
   * Makes a request unsignaled: it generates a work completion only if it fails.
   *
   * @param request the index of the request
   */
  public void unsignaled(int request) {
    flag(checked(request), SIGNALED, false);
  }

  /**
   * Sets the shared receive queue of an XRC send request: {@code remote_srqn}.
   *
   * @param request the index of the request
   * @param number the number of the remote shared receive queue
   */
  public void sharedReceiveQueue(int request, int number) {
    putInt(at(checked(request)) + XRC_NUMBER, number);
  }

  /**
   * Sets the destination of a datagram, or of any request on an SRD queue pair.
   *
   * @param request the index of a send, or of a write or read on SRD
   * @param handle the address handle of the destination
   * @param number the QPN of the destination
   * @param key the Q_Key of the destination
   */
  public void to(int request, AddressHandle handle, int number, int key) {
    long destination =
        at(checked(request))
            + switch (opcodeOf(request)) {
              case SEND, SEND_WITH_IMM, TSO -> 0;
              case RDMA_WRITE, RDMA_WRITE_WITH_IMM, RDMA_READ -> ListedSendCalls.AFTER_UD;
              default -> throw unfit(request, "an address handle");
            };
    long address = handle.address();
    destination(request, handle, false);
    putLong(destination + UD_HANDLE, address);
    putInt(destination + UD_NUMBER, number);
    putInt(destination + UD_KEY, key);
  }

  /**
   * Sets the DC target of a request of a DC initiator.
   *
   * @param request the index of a send, write, read or atomic operation
   * @param handle the address handle of the target's device
   * @param number the number of the target (DCTN): that of its {@link QueuePair#localAddress}
   * @param accessKey the DC access key of the target
   */
  public void toTarget(int request, AddressHandle handle, int number, long accessKey) {
    long at = at(checked(request));
    if (!opcodeOf(request).isFor(QueuePairType.DC_INITIATOR)) {
      throw unfit(request, "a DC target");
    }
    Ranges.bits(number, 24, "a DCT number");
    long address = handle.address();
    destination(request, handle, true);
    putLong(at + ListedSendCalls.DC_HANDLE, address);
    putInt(at + ListedSendCalls.DC_NUMBER, number);
    putLong(at + ListedSendCalls.DC_KEY, accessKey);
  }

  private void destination(int request, AddressHandle handle, boolean isDcTarget) {
    if (dcTargets[request] != isDcTarget) {
      name(request, TARGET, OTHERS, null); // The request is to be validated again.
      dcTargets[request] = isDcTarget;
    }
    name(request, TARGET, OTHERS, handle);
  }

  /**
   * {@return the memory of the inline data of a request, to be written in place: a segment of the
   * size of the list's inline data}
   *
   * @param request the index of the request
   */
  public MemorySegment inlineData(int request) {
    requireInlineData();
    return inlineData[Objects.checkIndex(request, inlineData.length)];
  }

  /**
   * Sets the length of the inline data of a request.
   *
   * @param request the index of a request that was formatted with {@link SendRequest#inline}
   * @param length the length in bytes
   */
  public void inlineLength(int request, long length) {
    if ((flags(checked(request)) & INLINE) == 0) {
      throw unfit(request, "inline data: format it with inline()");
    }
    putInlineLength(request, fitting(length));
  }

  /** Makes a send or write use the inline data of the list. */
  void inline(int request, long length) {
    switch (opcodeOf(request)) {
      case SEND, SEND_WITH_IMM, RDMA_WRITE, RDMA_WRITE_WITH_IMM -> {}
      default -> throw unfit(request, "inline data");
    }
    if (sges(request) > 0) {
      throw new IllegalStateException(describe(request) + " already has SGEs");
    }
    requireInlineData(); // The list has room for an SGE then.
    putInline(request, inlineAt(request), fitting(length));
    setSgeCount(request, 1);
    flag(request, INLINE, true);
  }

  private void requireInlineData() {
    if (inlineCapacity == 0) {
      throw new IllegalArgumentException("the list was created without inline data");
    }
  }

  private int fitting(long length) {
    if (length < 0 || length > inlineCapacity) {
      throw new IllegalArgumentException(
          "length of inline data must be 0 to " + inlineCapacity + " bytes: " + length);
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

  // Validation

  /**
   * {@return the operation of a request; null if the request is unformatted}
   *
   * @param request the index of the request
   */
  public @Nullable WorkRequestOpcode opcode(int request) {
    return opcodes[Objects.checkIndex(request, opcodes.length)];
  }

  /** Returns the opcode of a request, one of whose fields is to be set. */
  private WorkRequestOpcode opcodeOf(int request) {
    WorkRequestOpcode opcode = opcodes[checked(request)];
    if (opcode == null) {
      throw unformatted(request);
    }
    return opcode;
  }

  private RuntimeException unfit(int request, String what) {
    return opcodes[request] == null
        ? unformatted(request)
        : new IllegalArgumentException(describe(request) + " does not use " + what);
  }

  private IllegalStateException unformatted(int request) {
    return new IllegalStateException(describe(request) + " is not formatted");
  }

  @Override
  void requireSges(int request) {
    switch (opcodeOf(request)) {
      case LOCAL_INV, BIND_MW -> throw unfit(request, "SGEs");
      default -> {
        if ((flags(request) & INLINE) != 0) {
          throw new IllegalArgumentException(describe(request) + " has inline data and no SGEs");
        }
      }
    }
  }

  @Override
  boolean isWritten(int request) {
    // Null if another thread formats the request meanwhile: validateKind then says so.
    WorkRequestOpcode opcode = opcodes[request];
    return opcode != null && opcode.writesLocally();
  }

  @Override
  void validateKind(RequestList.Limits limits, int request) {
    WorkRequestOpcode opcode = opcodes[request];
    if (opcode == null) {
      throw unformatted(request);
    }
    if (!opcode.isFor(limits.type())) {
      throw new IllegalArgumentException(
          describe(request) + " cannot be posted to a queue pair of type " + limits.type());
    }
    if (limits.type().isPostedByBuilders()
        && !limits.operations().contains(SendOperation.valueOf(opcode.name()))) {
      throw new IllegalArgumentException(
          "%s on a queue pair that was created with sendOperations(%s)"
              .formatted(describe(request), limits.operations()));
    }
    if ((flags(request) & INLINE) != 0 && inlineLength(request) > limits.inlineData()) {
      throw new IllegalArgumentException(
          "%s has %s bytes of inline data; %s allows %s"
              .formatted(
                  describe(request), inlineLength(request), limits.queue(), limits.inlineData()));
    }
    validateDestination(limits, opcode, request);
    requireRemote(request, opcode);
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
      user.use(named.core); // C dereferences the pointer in the request.
    }
  }

  /** Remote key and address are not both 0, unless no byte is transferred. */
  private void requireRemote(int request, WorkRequestOpcode opcode) {
    long key =
        switch (opcode) {
          case RDMA_WRITE, RDMA_WRITE_WITH_IMM, RDMA_READ -> RDMA_KEY;
          case ATOMIC_CMP_AND_SWP, ATOMIC_FETCH_AND_ADD -> ATOMIC_KEY;
          default -> -1;
        };
    if (key >= 0
        && getInt(at(request) + key) == 0
        && getLong(at(request) + RDMA_ADDRESS) == 0
        && ((flags(request) & INLINE) != 0 ? inlineLength(request) : sges(request)) > 0) {
      throw new IllegalArgumentException(
          describe(request) + " has no remote address and remote key: call remote()");
    }
  }

  private void validateDestination(Limits limits, WorkRequestOpcode opcode, int request) {
    QueuePairType type = limits.type();
    boolean isAddressed = named(request, TARGET, OTHERS) instanceof AddressHandle;
    boolean isDcTarget = isAddressed && dcTargets[request];
    boolean isInitiator = type == QueuePairType.DC_INITIATOR;
    if (isDcTarget && !isInitiator) {
      throw new IllegalArgumentException(
          describe(request) + " has a DC target, which only DC initiators use");
    }
    if (limits.namesDestination() && !(isInitiator ? isDcTarget : isAddressed)) {
      throw new IllegalArgumentException(describe(request) + limits.hasNoDestination());
    }
    if (type == QueuePairType.SRD) {
      if ((flags(request) & ~(SIGNALED | INLINE)) != 0) {
        throw new IllegalArgumentException(
            describe(request) + " is fenced, solicited or has checksums: SRD has none of these");
      }
    } else if (isAddressed && !isInitiator && opcode.isRdma()) {
      throw new IllegalArgumentException(
          describe(request) + " has an address handle, which only SRD queue pairs use for RDMA");
    }
  }

  @Override
  String describe(int request) {
    return "send request "
        + request
        + (opcodes[request] == null ? "" : " (" + opcodes[request] + ")");
  }
}
