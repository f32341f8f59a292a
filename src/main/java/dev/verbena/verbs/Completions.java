package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.FlagSet;
import dev.verbena.VerbsException;
import dev.verbena.internal.BoundsChecks;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.jfr.FlightEvents;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.DataPathUser;
import dev.verbena.internal.time.Time;
import dev.verbena.raw.ibv_wc;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.CompletionOpcode;
import dev.verbena.values.CompletionStatus;

/**
 * The work completions that a poll returned: an array of {@code struct ibv_wc}, read in place by
 * index. The next poll overwrites them.
 *
 * {@snippet :
 * Completions completions = new Completions(16);
 * int count = queue.poll(completions);
 * for (int i = 0; i < count; i++) {
 *   if (!completions.isSuccess(i)) {
 *     throw new IllegalStateException(completions.describe(i));
 *   }
 *   handle(completions.id(i));
 * }
 * }
 *
 * <p>After a failure only {@link #id}, {@link #status}, {@link #queuePairNumber} and {@link
 * #vendorError} are valid. Used by one thread at a time; there is nothing to close. See {@code
 * ibv_poll_cq(3)}.
 */
public final class Completions {
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

  /** Allows one thread at a time to use the array. */
  final DataPathUser user = new DataPathUser(this);

  private final Block memory;
  private final long address;
  private final int capacity;
  private int count;

  /**
   * Creates an array for work completions.
   *
   * @param capacity the maximum number of completions of one poll
   */
  public Completions(int capacity) {
    this.capacity = Ranges.positive(capacity, "number of completions");
    this.memory = new Block(capacity * SIZE);
    this.address = memory.address(0);
  }

  /**
   * Returns the maximum number of completions of one poll.
   *
   * @return the capacity
   */
  public int capacity() {
    return capacity;
  }

  /**
   * Returns the number of completions of the last poll.
   *
   * @return 0 to {@link #capacity}
   */
  public int count() {
    return count;
  }

  /**
   * Checks that a queue is open, for this poll and the following ones until an object is closed.
   */
  void check(Resource queue) {
    int closings = Core.closingsBefore();
    user.use(queue.core);
    user.checked(queue.core, closings);
  }

  /** Returns the address of the array. */
  long address() {
    return address;
  }

  /** Makes the array contain a successful completion of a send request. */
  void plain(int index, long id, int opcode, int length, int queuePair) {
    count = index + 1;
    Memory.putLong(at(index, ID), id);
    Memory.putInt(at(index, STATUS), SUCCESS);
    Memory.putInt(at(index, OPCODE), opcode);
    Memory.putInt(at(index, BYTE_LENGTH), length);
    Memory.putInt(at(index, QUEUE_PAIR), queuePair);
    Memory.putInt(at(index, FLAGS), 0);
    memory.keep();
  }

  /** Records the result of {@code ibv_poll_cq}. */
  int polled(int result, Resource queue) {
    memory.keep();
    count = Math.max(result, 0);
    if (result > 0 && FlightEvents.recordsFailedCompletions()) {
      recordFailures(queue);
    }
    if (result < 0) {
      throw new VerbsException(
          "ibv_poll_cq",
          Errno.EIO,
          "result " + result + " on " + queue + ": the queue is in an error state");
    }
    if (result == 0) {
      Time.pauseOfPoller();
    }
    return result;
  }

  private void recordFailures(Resource queue) {
    for (int i = 0; i < count; i++) {
      if (!isSuccess(i)) {
        FlightEvents.failedCompletion(queue, queuePairNumber(i), id(i), status(i), vendorError(i));
      }
    }
  }

  private int checked(int index) {
    if (index < 0 || index >= count) {
      throw new IndexOutOfBoundsException(
          "no completion at index " + index + ": the last poll returned " + count);
    }
    return index;
  }

  private long at(int index, long field) {
    return Block.known(address + (BoundsChecks.ON ? checked(index) : index) * SIZE) + field;
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
   * Returns the {@code wr_id} of the work request.
   *
   * @param index the index of the completion
   * @return the id
   */
  public long id(int index) {
    return getLong(index, ID);
  }

  /**
   * Returns whether the work request completed successfully.
   *
   * @param index the index of the completion
   * @return true if the status is SUCCESS
   */
  public boolean isSuccess(int index) {
    return getInt(index, STATUS) == SUCCESS;
  }

  /**
   * Returns the code of the completion status, also of one that this library does not know.
   *
   * @param index the index of the completion
   * @return a value of {@code enum ibv_wc_status}
   */
  public int statusCode(int index) {
    return getInt(index, STATUS);
  }

  /**
   * Returns the code of the operation, also of one that this library does not know.
   *
   * @param index the index of the completion
   * @return a value of {@code enum ibv_wc_opcode}
   */
  public int opcodeCode(int index) {
    return getInt(index, OPCODE);
  }

  /**
   * {@return the completion status}
   *
   * @param index the index of the completion
   */
  public CompletionStatus status(int index) {
    return CompletionStatus.of(getInt(index, STATUS));
  }

  /**
   * Returns the operation of the work request.
   *
   * @param index the index of the completion
   * @return the opcode
   */
  public CompletionOpcode opcode(int index) {
    return CompletionOpcode.of(getInt(index, OPCODE));
  }

  /**
   * {@return whether the completion is of a receive request}
   *
   * @param index the index of the completion
   */
  public boolean isReceive(int index) {
    return (getInt(index, OPCODE) & RECEIVE) != 0;
  }

  /**
   * {@return the vendor-specific error code}
   *
   * @param index the index of the completion
   */
  public int vendorError(int index) {
    return getInt(index, VENDOR_ERROR);
  }

  /**
   * Returns the number of bytes that were transferred by a receive, a read or an atomic operation.
   * With UD, and with a global routing header (GRH), it includes the 40 bytes of the GRH. Not valid
   * for sends and writes.
   *
   * @param index the index of the completion
   * @return the length in bytes
   */
  public long byteLength(int index) {
    return Integer.toUnsignedLong(getInt(index, BYTE_LENGTH));
  }

  /**
   * Returns the immediate data.
   *
   * @param index the index of a completion with {@link CompletionFlag#WITH_IMM}
   * @return the immediate data in Java's byte order
   */
  public int immediate(int index) {
    return Integer.reverseBytes(getInt(index, IMMEDIATE));
  }

  /**
   * Returns the key that the remote side invalidated.
   *
   * @param index the index of a completion with {@link CompletionFlag#WITH_INV}
   * @return the remote key of the local memory
   */
  public int invalidatedKey(int index) {
    return getInt(index, INVALIDATED_KEY);
  }

  /**
   * Returns the number of the local queue pair.
   *
   * @param index the index of the completion
   * @return the QPN
   */
  public int queuePairNumber(int index) {
    return getInt(index, QUEUE_PAIR);
  }

  /**
   * Returns the number of the queue pair that sent the datagram.
   *
   * @param index the index of the completion
   * @return the QPN
   */
  public int sourceQueuePair(int index) {
    return getInt(index, SOURCE_QUEUE_PAIR);
  }

  /**
   * {@return the flags of the completion; the set is allocated for each call: use {@link #has} on
   * the data path}
   *
   * @param index the index of the completion
   */
  public FlagSet<CompletionFlag> flags(int index) {
    return FlagSet.of(CompletionFlag.class, Integer.toUnsignedLong(getInt(index, FLAGS)));
  }

  /**
   * Returns whether a flag is set.
   *
   * @param index the index of the completion
   * @param flag the flag
   * @return true if it is set
   */
  public boolean has(int index, CompletionFlag flag) {
    return (getInt(index, FLAGS) & flag.bit()) != 0;
  }

  /**
   * Returns the P_Key index of a datagram of QP0 or QP1.
   *
   * @param index the index of the completion
   * @return an index of the P_Key table of the port
   */
  public int pkeyIndex(int index) {
    return Short.toUnsignedInt(getShort(index, PARTITION_KEY_INDEX));
  }

  /**
   * {@return the LID of the sender of a datagram}
   *
   * @param index the index of the completion
   */
  public int sourceLid(int index) {
    return Short.toUnsignedInt(getShort(index, SOURCE_LID));
  }

  /**
   * Returns the service level of a datagram.
   *
   * @param index the index of the completion
   * @return 0 to 15
   */
  public int serviceLevel(int index) {
    return Byte.toUnsignedInt(getByte(index, SERVICE_LEVEL));
  }

  /**
   * {@return the path bits of the destination LID of a datagram}
   *
   * @param index the index of the completion
   */
  public int destinationPathBits(int index) {
    return Byte.toUnsignedInt(getByte(index, PATH_BITS));
  }

  /**
   * Returns a description of the completion.
   *
   * @param index the index of the completion
   * @return the id, the queue pair and the status; after a failure also the vendor error and its
   *     likely causes
   */
  public String describe(int index) {
    CompletionStatus status = status(index);
    String text =
        "request %s on queue pair 0x%s: %s%s"
            .formatted(
                id(index),
                Integer.toHexString(queuePairNumber(index)),
                status.text(),
                status == CompletionStatus.UNKNOWN ? " " + statusCode(index) : "");
    if (status == CompletionStatus.SUCCESS) {
      return text;
    }
    String vendor = " (" + status + ", vendor error 0x" + Integer.toHexString(vendorError(index));
    return text + vendor + ")" + (status.advice().isEmpty() ? "" : "; " + status.advice());
  }

  @Override
  public String toString() {
    return count + " completions of at most " + capacity;
  }
}
