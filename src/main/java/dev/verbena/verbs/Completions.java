package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Block;
import dev.verbena.internal.Memory;
import dev.verbena.raw.ibv_wc;
import dev.verbena.raw.rdma_h;
import java.util.Objects;
import java.util.Set;

/**
 * The completions that a poll took from a queue: an array of {@code struct ibv_wc}, read in place
 * by index. The next poll overwrites them.
 *
 * <p>After a failure only {@link #id}, {@link #status}, {@link #queuePairNumber} and {@link
 * #vendorError} mean something. Completions are used by one thread at a time.
 */
public final class Completions extends DataPathUser {
  private static final long SIZE = ibv_wc.sizeof();
  private static final long ID = ibv_wc.wr_id$offset();
  private static final long STATUS = ibv_wc.status$offset();
  private static final long OPCODE = ibv_wc.opcode$offset();
  private static final long VENDOR_ERROR = ibv_wc.vendor_err$offset();
  private static final long BYTE_LENGTH = ibv_wc.byte_len$offset();
  private static final long IMMEDIATE = ibv_wc.imm_data$offset();
  private static final long INVALIDATED_KEY = ibv_wc.invalidated_rkey$offset();
  private static final long QUEUE_PAIR = ibv_wc.qp_num$offset();
  private static final long SOURCE_QUEUE_PAIR = ibv_wc.src_qp$offset();
  private static final long FLAGS = ibv_wc.wc_flags$offset();
  private static final long PARTITION_KEY_INDEX = ibv_wc.pkey_index$offset();
  private static final long SOURCE_LID = ibv_wc.slid$offset();
  private static final long SERVICE_LEVEL = ibv_wc.sl$offset();
  private static final long PATH_BITS = ibv_wc.dlid_path_bits$offset();

  private static final int SUCCESS = rdma_h.IBV_WC_SUCCESS();
  private static final int RECEIVE = rdma_h.IBV_WC_RECV();

  private final Block memory;
  private final long address;
  private final int capacity;
  private int count;

  /**
   * Makes room for completions.
   *
   * @param capacity how many one poll may take
   */
  public Completions(int capacity) {
    if (capacity < 1) {
      throw new IllegalArgumentException("room for " + capacity + " completions");
    }
    this.capacity = capacity;
    this.memory = new Block(capacity * SIZE);
    this.address = memory.address(0);
  }

  /**
   * How many completions one poll may take.
   *
   * @return the number given at creation
   */
  public int capacity() {
    return capacity;
  }

  /**
   * How many completions the last poll took.
   *
   * @return 0 to {@link #capacity}
   */
  public int count() {
    return count;
  }

  /** Sees that a queue is open, for this poll and for those until anything is closed. */
  void check(CompletionQueue queue) {
    int closings = Resource.closingsBefore();
    use(queue);
    checked(queue, closings);
  }

  /** Where C writes. */
  long address() {
    return address;
  }

  /** Takes note of what a poll returned. */
  int polled(int result, CompletionQueue queue) {
    memory.keep();
    count = Math.max(result, 0);
    if (result < 0) {
      throw new VerbsException(
          "ibv_poll_cq", Errno.EIO, "result " + result + " on " + queue + ": it is broken");
    }
    return result;
  }

  private long at(int index, long field) {
    return Block.known(
            address + (BoundsChecks.ON ? Objects.checkIndex(index, count) : index) * SIZE)
        + field;
  }

  private long getLong(int index, long field) {
    long value = Memory.getLong(at(index, field));
    memory.keep();
    return value;
  }

  private int getInt(int index, long field) {
    int value = Memory.getInt(at(index, field));
    memory.keep();
    return value;
  }

  private short getShort(int index, long field) {
    short value = Memory.getShort(at(index, field));
    memory.keep();
    return value;
  }

  private byte getByte(int index, long field) {
    byte value = Memory.getByte(at(index, field));
    memory.keep();
    return value;
  }

  /**
   * The number that the request was given.
   *
   * @param index which completion
   * @return the request's id
   */
  public long id(int index) {
    return getLong(index, ID);
  }

  /**
   * Whether the request was done.
   *
   * @param index which completion
   * @return true for status SUCCESS
   */
  public boolean isSuccess(int index) {
    return getInt(index, STATUS) == SUCCESS;
  }

  /**
   * How the request ended.
   *
   * @param index which completion
   * @return the status
   */
  public CompletionStatus status(int index) {
    return CompletionStatus.of(getInt(index, STATUS));
  }

  /**
   * What the request did.
   *
   * @param index which completion
   * @return the operation
   */
  public CompletionOpcode opcode(int index) {
    return CompletionOpcode.of(getInt(index, OPCODE));
  }

  /**
   * Whether the request was a receive of any kind.
   *
   * @param index which completion
   * @return true if it came from a receive queue
   */
  public boolean isReceive(int index) {
    return (getInt(index, OPCODE) & RECEIVE) != 0;
  }

  /**
   * The device's own error code.
   *
   * @param index which completion
   * @return a number that the vendor's documents explain
   */
  public int vendorError(int index) {
    return getInt(index, VENDOR_ERROR);
  }

  /**
   * How many bytes were received, read or fetched; on UD and with a global routing header 40 more
   * than the message has. Not set for sends and writes.
   *
   * @param index which completion
   * @return the length
   */
  public long byteLength(int index) {
    return Integer.toUnsignedLong(getInt(index, BYTE_LENGTH));
  }

  /**
   * The peer's immediate data.
   *
   * @param index which completion, one with {@link CompletionFlag#WITH_IMM}
   * @return the value that the peer gave
   */
  public int immediate(int index) {
    return Integer.reverseBytes(getInt(index, IMMEDIATE));
  }

  /**
   * The local key that the peer made invalid.
   *
   * @param index which completion, one with {@link CompletionFlag#WITH_INV}
   * @return the rkey
   */
  public int invalidatedKey(int index) {
    return getInt(index, INVALIDATED_KEY);
  }

  /**
   * The local queue pair.
   *
   * @param index which completion
   * @return its number
   */
  public int queuePairNumber(int index) {
    return getInt(index, QUEUE_PAIR);
  }

  /**
   * The queue pair that sent a datagram.
   *
   * @param index which completion
   * @return its number
   */
  public int sourceQueuePair(int index) {
    return getInt(index, SOURCE_QUEUE_PAIR);
  }

  /**
   * What else the completion tells.
   *
   * @param index which completion
   * @return the flags that are set; allocated for each call: use {@link #has} on the data path
   */
  public Set<CompletionFlag> flags(int index) {
    return Flags.of(CompletionFlag.class, getInt(index, FLAGS));
  }

  /**
   * Whether a flag is set.
   *
   * @param index which completion
   * @param flag what is asked for
   * @return whether the completion tells that
   */
  public boolean has(int index, CompletionFlag flag) {
    return (getInt(index, FLAGS) & flag.bit()) != 0;
  }

  /**
   * The index of the partition key, for queue pairs of management.
   *
   * @param index which completion
   * @return an index into the port's table
   */
  public int partitionKeyIndex(int index) {
    return Short.toUnsignedInt(getShort(index, PARTITION_KEY_INDEX));
  }

  /**
   * The local identifier of the sender of a datagram.
   *
   * @param index which completion
   * @return the LID
   */
  public int sourceLid(int index) {
    return Short.toUnsignedInt(getShort(index, SOURCE_LID));
  }

  /**
   * The service level of a datagram.
   *
   * @param index which completion
   * @return 0 to 15
   */
  public int serviceLevel(int index) {
    return Byte.toUnsignedInt(getByte(index, SERVICE_LEVEL));
  }

  /**
   * The path bits of the LID that a datagram was sent to.
   *
   * @param index which completion
   * @return the bits
   */
  public int destinationPathBits(int index) {
    return Byte.toUnsignedInt(getByte(index, PATH_BITS));
  }

  /**
   * Says in words how a request ended.
   *
   * @param index which completion
   * @return the id, the queue pair and the status; after a failure the vendor's code and what to
   *     look at
   */
  public String describe(int index) {
    CompletionStatus status = status(index);
    String text =
        "request "
            + id(index)
            + " on queue pair 0x"
            + Integer.toHexString(queuePairNumber(index))
            + ": "
            + status.text();
    if (status == CompletionStatus.SUCCESS) {
      return text;
    }
    String vendor = " (" + status + ", vendor error 0x" + Integer.toHexString(vendorError(index));
    return text + vendor + ")" + (status.advice().isEmpty() ? "" : "; " + status.advice());
  }
}
