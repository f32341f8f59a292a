package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Block;
import dev.verbena.internal.Memory;
import dev.verbena.raw.ibv_ops_wr;
import dev.verbena.raw.ibv_sge;
import dev.verbena.raw.rdma_h;
import java.util.Objects;

/**
 * Operations on the tagged buffers of a {@linkplain SharedReceiveQueue.Builder#tagMatching shared
 * receive queue}, to be posted together: an array of {@code struct ibv_ops_wr}.
 *
 * <p>
 *
 * {@snippet :
 * TagOperations operations = new TagOperations(2, 1);
 * operations.add(0, tag, -1, 7);
 * operations.local(0, region, 0, 4096);
 * operations.synchronize(1, unexpected);
 * queue.post(operations);
 * int handle = operations.handle(0); // by which the buffer can be deleted again
 * }
 */
public final class TagOperations {
  private static final String FUNCTION = "ibv_post_srq_ops";
  private static final long SIZE = ibv_ops_wr.sizeof();
  private static final long ENTRY = ibv_sge.sizeof();

  private static final long OPCODE = ibv_ops_wr.opcode$offset();
  private static final long FLAGS = ibv_ops_wr.flags$offset();
  private static final long TM = ibv_ops_wr.tm$offset();
  private static final long UNEXPECTED = TM + ibv_ops_wr.tm.unexpected_cnt$offset();
  private static final long HANDLE = TM + ibv_ops_wr.tm.handle$offset();
  private static final long ADD = TM + ibv_ops_wr.tm.add$offset();
  private static final long RECEIVE_ID = ADD + ibv_ops_wr.tm.add.recv_wr_id$offset();
  private static final long ENTRIES = ADD + ibv_ops_wr.tm.add.sg_list$offset();
  private static final long ENTRY_COUNT = ADD + ibv_ops_wr.tm.add.num_sge$offset();
  private static final long TAG = ADD + ibv_ops_wr.tm.add.tag$offset();
  private static final long MASK = ADD + ibv_ops_wr.tm.add.mask$offset();

  /** Where C leaves the address of the operation that it refused. */
  private static final long REFUSED = 0;

  private static final long OPERATIONS = Long.BYTES;

  final Block memory;
  private final int size;
  private final int entriesEach;
  private final boolean[] formatted;
  private final MemoryRegion[] regions;

  /**
   * Makes operations that are still to be formatted.
   *
   * @param operations how many
   * @param entriesEach how many scatter/gather entries a tagged buffer may have; mlx5 uses one
   */
  public TagOperations(int operations, int entriesEach) {
    if (operations < 1 || entriesEach < 0) {
      throw new IllegalArgumentException(
          operations + " operations with " + entriesEach + " entries each");
    }
    RequestList.requireArray(operations, entriesEach);
    this.size = operations;
    this.entriesEach = entriesEach;
    this.regions = new MemoryRegion[operations * entriesEach];
    this.memory = new Block(OPERATIONS + operations * SIZE + regions.length * ENTRY);
    this.formatted = new boolean[operations];
  }

  /**
   * Makes an operation one that adds a tagged buffer, without memory yet.
   *
   * @param operation the index of an operation
   * @param tag what a message's tag must be
   * @param mask which bits of the tag count
   * @param receiveId the number that comes back in the completion of the message
   */
  public void add(int operation, long tag, long mask, long receiveId) {
    long at = format(operation, rdma_h.IBV_WR_TAG_ADD());
    Memory.putLong(at + TAG, tag);
    Memory.putLong(at + MASK, mask);
    Memory.putLong(at + RECEIVE_ID, receiveId);
    Memory.putLong(at + ENTRIES, entryAt(operation, 0));
    memory.keep();
  }

  /**
   * Gives a tagged buffer more memory.
   *
   * @param operation the index of an operation that adds
   * @param region registered memory
   * @param offset where in the region the memory begins
   * @param length its length
   * @throws IndexOutOfBoundsException if the memory leaves the region, or if there is no room for
   *     one more entry
   */
  public void local(int operation, MemoryRegion region, long offset, long length) {
    long at = at(operation);
    if (!formatted[operation] || Memory.getInt(at + OPCODE) != rdma_h.IBV_WR_TAG_ADD()) {
      throw new IllegalStateException(describe(operation) + " adds no tagged buffer");
    }
    int entry = Objects.checkIndex(Memory.getInt(at + ENTRY_COUNT), entriesEach);
    long address = region.addressOf(offset, length);
    if (length >>> Integer.SIZE != 0) {
      throw new IllegalArgumentException("an entry of " + length + " bytes");
    }
    regions[operation * entriesEach + entry] = region;
    long sge = entryAt(operation, entry);
    Memory.putLong(sge + ibv_sge.addr$offset(), address);
    Memory.putInt(sge + ibv_sge.length$offset(), (int) length);
    Memory.putInt(sge + ibv_sge.lkey$offset(), region.lkey());
    Memory.putInt(at + ENTRY_COUNT, entry + 1);
    memory.keep();
  }

  /**
   * Makes an operation one that deletes a tagged buffer.
   *
   * @param operation the index of an operation
   * @param handle the {@linkplain #handle handle} of the operation that added it
   */
  public void delete(int operation, int handle) {
    Memory.putInt(format(operation, rdma_h.IBV_WR_TAG_DEL()) + HANDLE, handle);
    memory.keep();
  }

  /**
   * Makes an operation one that only tells the device what it must know before it matches again.
   *
   * @param operation the index of an operation
   * @param unexpected how many unexpected messages this side has handled, ever
   */
  public void synchronize(int operation, int unexpected) {
    format(operation, rdma_h.IBV_WR_TAG_SYNC());
    unexpected(operation, unexpected);
  }

  /**
   * Lets an operation tell the device how many unexpected messages were handled, as {@link
   * #synchronize} does.
   *
   * @param operation the index of a formatted operation
   * @param unexpected how many unexpected messages this side has handled, ever
   */
  public void unexpected(int operation, int unexpected) {
    flag(operation, rdma_h.IBV_OPS_TM_SYNC());
    Memory.putInt(at(operation) + UNEXPECTED, unexpected);
    memory.keep();
  }

  /**
   * Makes an operation leave a completion.
   *
   * @param operation the index of a formatted operation
   * @param id the number that comes back in it
   */
  public void signaled(int operation, long id) {
    flag(operation, rdma_h.IBV_OPS_SIGNALED());
    Memory.putLong(at(operation) + ibv_ops_wr.wr_id$offset(), id);
    memory.keep();
  }

  /**
   * By what a tagged buffer is deleted.
   *
   * @param operation the index of an operation that added one and was posted
   * @return the handle that C gave it
   */
  public int handle(int operation) {
    int handle = Memory.getInt(at(operation) + HANDLE);
    memory.keep();
    return handle;
  }

  /**
   * How many operations there are.
   *
   * @return the number given at creation
   */
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

  /** Clears an operation and sets what it does. */
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

  private long entryAt(int operation, int entry) {
    return memory.address(
        OPERATIONS + size * SIZE + ((long) operation * entriesEach + entry) * ENTRY);
  }

  private static String describe(int operation) {
    return "tag operation " + operation;
  }

  /** Looks at every operation before C does. */
  void validate(QueueLimits limits) {
    for (int i = 0; i < size; i++) {
      if (!formatted[i]) {
        throw new IllegalStateException(describe(i) + " is not formatted");
      }
      int entries = Memory.getInt(at(i) + ENTRY_COUNT);
      if (entries > limits.entries()) {
        throw new IllegalArgumentException(
            "%s has %d entries; %s takes %d"
                .formatted(describe(i), entries, limits.queue(), limits.entries()));
      }
      for (int entry = 0; entry < entries; entry++) {
        MemoryRegion region = regions[i * entriesEach + entry];
        if (!region.isOpen()) {
          throw new IllegalStateException(describe(i) + " names " + region + ", which is closed");
        }
        if (region.domain().root() != limits.domain()) {
          throw new IllegalArgumentException(
              describe(i) + " names " + region + " of another domain than " + limits.queue());
        }
        region.requireMemory();
        region.requireLocallyWritable(describe(i));
      }
    }
    memory.keep();
  }

  /** The address of the first operation, which leads to the others. */
  long first() {
    return at(0);
  }

  /** The address of the word in which C names the operation that it refuses. */
  long refusedWord() {
    return memory.address(REFUSED);
  }

  /**
   * What became of operations that C did not take in whole.
   *
   * @return how many were taken, if a queue is full
   * @throws VerbsException if anything else is wrong
   */
  int posted(int result, SharedReceiveQueue queue) {
    int errno = Math.abs(result); // Some providers return it negative.
    long refused = Memory.getLong(refusedWord());
    Memory.putLong(refusedWord(), 0);
    memory.keep();
    long index = Math.floorDiv(refused - at(0), SIZE);
    if (index < 0 || index >= size) {
      throw new VerbsException(
          FUNCTION,
          errno,
          "on %s; it did not say which of the %d operations it refuses".formatted(queue, size));
    }
    if (errno == Errno.ENOMEM) {
      return (int) index;
    }
    throw new VerbsException(FUNCTION, errno, describe((int) index) + " on " + queue);
  }
}
