package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_ops_wr;
import dev.verbena.raw.ibv_sge;
import dev.verbena.raw.rdma_h;
import java.util.Objects;

/**
 * Operations on the tag list of a {@linkplain SharedReceiveQueue.Builder#tagMatching shared receive
 * queue} that are posted together: an array of {@code struct ibv_ops_wr}.
 *
 * {@snippet :
 * TagOperations operations = new TagOperations(2, 1);
 * operations.add(0, tag, -1, 7);
 * operations.local(0, region, 0, 4096);
 * operations.synchronize(1, unexpected);
 * int posted = queue.post(operations);
 * int handle = operations.handle(0); // identifies the buffer in a delete operation
 * }
 *
 * <p>Used by one thread at a time. See {@code ibv_post_srq_ops(3)}.
 */
public final class TagOperations {
  private static final String FUNCTION = "ibv_post_srq_ops";
  private static final long SIZE = ibv_ops_wr.sizeof();
  private static final long SGE = ibv_sge.sizeof();

  private static final long OPCODE = ibv_ops_wr.opcode$offset();
  private static final long FLAGS = ibv_ops_wr.flags$offset();
  private static final long TM = ibv_ops_wr.tm$offset();
  private static final long UNEXPECTED = TM + ibv_ops_wr.tm.unexpected_cnt$offset();
  private static final long HANDLE = TM + ibv_ops_wr.tm.handle$offset();
  private static final long ADD = TM + ibv_ops_wr.tm.add$offset();
  private static final long RECEIVE_ID = ADD + ibv_ops_wr.tm.add.recv_wr_id$offset();
  private static final long SGES = ADD + ibv_ops_wr.tm.add.sg_list$offset();
  private static final long SGE_COUNT = ADD + ibv_ops_wr.tm.add.num_sge$offset();
  private static final long TAG = ADD + ibv_ops_wr.tm.add.tag$offset();
  private static final long MASK = ADD + ibv_ops_wr.tm.add.mask$offset();

  /** The offset of the address of the operation that failed. */
  private static final long BAD_OPERATION = 0;

  private static final long OPERATIONS = Long.BYTES;

  final Block memory;
  private final int size;
  private final int maxSges;
  private final boolean[] formatted;
  private final MemoryRegion[] regions;

  /**
   * Creates unformatted operations.
   *
   * @param operations the number of operations
   * @param maxSges the maximum number of SGEs of a tagged buffer; libmlx5 uses one
   */
  public TagOperations(int operations, int maxSges) {
    if (operations < 1 || maxSges < 0) {
      throw new IllegalArgumentException(operations + " operations with " + maxSges + " SGEs each");
    }
    RequestList.requireArray(operations, maxSges);
    this.size = operations;
    this.maxSges = maxSges;
    this.regions = new MemoryRegion[operations * maxSges];
    this.memory = new Block(OPERATIONS + operations * SIZE + regions.length * SGE);
    this.formatted = new boolean[operations];
  }

  /**
   * Formats an operation that adds a tagged buffer, without memory yet: {@code IBV_WR_TAG_ADD}.
   *
   * @param operation the index of the operation
   * @param tag the tag of the messages, without bits outside the mask: a message matches if its
   *     tag, masked, is this tag
   * @param mask the mask of the tag bits that are compared
   * @param receiveId the {@code wr_id} of the completion of the message
   */
  public void add(int operation, long tag, long mask, long receiveId) {
    long at = format(operation, rdma_h.IBV_WR_TAG_ADD());
    Memory.putLong(at + TAG, tag);
    Memory.putLong(at + MASK, mask);
    Memory.putLong(at + RECEIVE_ID, receiveId);
    Memory.putLong(at + SGES, sgeAt(operation, 0));
    memory.keep();
  }

  /**
   * Adds an SGE to a tagged buffer.
   *
   * @param operation the index of an operation that adds a buffer
   * @param region a registered memory region
   * @param offset the offset of the memory in the region, in bytes
   * @param length the length in bytes
   * @throws IndexOutOfBoundsException if the memory is not inside the region, or if the buffer has
   *     the maximum number of SGEs
   */
  public void local(int operation, MemoryRegion region, long offset, long length) {
    long at = at(operation);
    if (!formatted[operation] || Memory.getInt(at + OPCODE) != rdma_h.IBV_WR_TAG_ADD()) {
      throw new IllegalStateException(describe(operation) + " does not add a tagged buffer");
    }
    int index = Objects.checkIndex(Memory.getInt(at + SGE_COUNT), maxSges);
    long address = region.addressOf(offset, length);
    if (length >>> Integer.SIZE != 0) {
      throw new IllegalArgumentException("length of an SGE must be 0 to 2^32 - 1 bytes: " + length);
    }
    regions[operation * maxSges + index] = region;
    long sge = sgeAt(operation, index);
    Memory.putLong(sge + ibv_sge.addr$offset(), address);
    Memory.putInt(sge + ibv_sge.length$offset(), (int) length);
    Memory.putInt(sge + ibv_sge.lkey$offset(), region.lkey());
    Memory.putInt(at + SGE_COUNT, index + 1);
    memory.keep();
  }

  /**
   * Formats an operation that removes a tagged buffer: {@code IBV_WR_TAG_DEL}.
   *
   * @param operation the index of the operation
   * @param handle the {@linkplain #handle handle} that the add operation returned
   */
  public void delete(int operation, int handle) {
    Memory.putInt(format(operation, rdma_h.IBV_WR_TAG_DEL()) + HANDLE, handle);
    memory.keep();
  }

  /**
   * Formats an operation that only synchronizes the number of unexpected messages: {@code
   * IBV_WR_TAG_SYNC}.
   *
   * @param operation the index of the operation
   * @param unexpected the total number of unexpected messages that were handled
   */
  public void synchronize(int operation, int unexpected) {
    format(operation, rdma_h.IBV_WR_TAG_SYNC());
    unexpected(operation, unexpected);
  }

  /**
   * Adds the synchronization of the number of unexpected messages to an operation.
   *
   * @param operation the index of a formatted operation
   * @param unexpected the total number of unexpected messages that were handled
   */
  public void unexpected(int operation, int unexpected) {
    flag(operation, rdma_h.IBV_OPS_TM_SYNC());
    Memory.putInt(at(operation) + UNEXPECTED, unexpected);
    memory.keep();
  }

  /**
   * Makes an operation signaled: it generates a completion.
   *
   * @param operation the index of a formatted operation
   * @param id the {@code wr_id} of the completion
   */
  public void signaled(int operation, long id) {
    flag(operation, rdma_h.IBV_OPS_SIGNALED());
    Memory.putLong(at(operation) + ibv_ops_wr.wr_id$offset(), id);
    memory.keep();
  }

  /**
   * {@return the handle of a tagged buffer, which identifies it in a delete operation}
   *
   * @param operation the index of an add operation that was posted
   */
  public int handle(int operation) {
    int handle = Memory.getInt(at(operation) + HANDLE);
    memory.keep();
    return handle;
  }

  /** {@return the number of operations} */
  public int size() {
    return size;
  }

  private void flag(int operation, int flag) {
    long at = at(operation);
    if (!formatted[operation]) {
      throw new IllegalStateException(describe(operation) + " is not formatted");
    }
    Memory.putInt(at + FLAGS, Memory.getInt(at + FLAGS) | flag);
    memory.keep();
  }

  /** Clears an operation and sets its opcode. */
  private long format(int operation, int opcode) {
    long at = at(operation);
    memory.slice(OPERATIONS + operation * SIZE, SIZE).fill((byte) 0);
    Memory.putLong(at + ibv_ops_wr.next$offset(), operation + 1 < size ? at(operation + 1) : 0);
    Memory.putInt(at + OPCODE, opcode);
    formatted[operation] = true;
    return at;
  }

  private long at(int operation) {
    return memory.address(OPERATIONS + Objects.checkIndex(operation, size) * SIZE);
  }

  private long sgeAt(int operation, int sge) {
    return memory.address(OPERATIONS + size * SIZE + ((long) operation * maxSges + sge) * SGE);
  }

  private static String describe(int operation) {
    return "tag operation " + operation;
  }

  /** Validates all operations. */
  void validate(RequestList.Limits limits) {
    for (int i = 0; i < size; i++) {
      if (!formatted[i]) {
        throw new IllegalStateException(describe(i) + " is not formatted");
      }
      int sges = Memory.getInt(at(i) + SGE_COUNT);
      if (sges > limits.sges()) {
        throw new IllegalArgumentException(
            "%s has %d SGEs; %s allows %d"
                .formatted(describe(i), sges, limits.queue(), limits.sges()));
      }
      for (int sge = 0; sge < sges; sge++) {
        MemoryRegion region = regions[i * maxSges + sge];
        if (!region.isOpen()) {
          throw new IllegalStateException(
              describe(i) + " names " + region.core + ", which is closed");
        }
        if (region.domain().root() != limits.domain()) {
          throw new IllegalArgumentException(
              "%s names %s of another protection domain than %s"
                  .formatted(describe(i), region, limits.queue()));
        }
        region.requireMemory();
        region.requireLocallyWritable(describe(i));
      }
    }
    memory.keep();
  }

  /** Returns the address of the first operation, which is linked to the others. */
  long first() {
    return at(0);
  }

  /** Returns the address of {@code bad_wr}. */
  long badOperationWord() {
    return memory.address(BAD_OPERATION);
  }

  /**
   * Returns the number of operations that were posted of a list that was not posted completely.
   *
   * @return the number, if the queue is full
   * @throws VerbsException if the post failed for another reason
   */
  int posted(int result, SharedReceiveQueue queue) {
    int errno = Math.abs(result); // Some providers return a negative value.
    long bad = Memory.getLong(badOperationWord());
    Memory.putLong(badOperationWord(), 0);
    memory.keep();
    long index = Math.floorDiv(bad - at(0), SIZE);
    if (index < 0 || index >= size) {
      throw new VerbsException(
          FUNCTION,
          errno,
          "on %s; bad_wr does not tell which of the %d operations failed".formatted(queue, size));
    }
    if (errno == Errno.ENOMEM) {
      return (int) index;
    }
    throw new VerbsException(FUNCTION, errno, describe((int) index) + " on " + queue);
  }

  @Override
  public String toString() {
    return size + " tag operations of " + maxSges + " SGEs";
  }
}
