package dev.verbena.internal.mlx5;

import static java.util.Objects.requireNonNull;

import dev.verbena.internal.calls.CompletionQueueCalls;
import dev.verbena.internal.calls.SessionCalls;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.StackSpace;
import dev.verbena.internal.life.Core;
import dev.verbena.raw.ibv_wc;
import dev.verbena.raw.rdma_h;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * A completion queue: reads completion queue entries as work completions. The owner bit of an entry
 * changes with each pass of the device through the queue, so that it shows which entries are new.
 */
final class Mlx5CompletionQueue implements CompletionQueueCalls {
  static final int ENTRY_SIZE = 64;
  private static final int ENTRY_SHIFT = 6;

  // Offsets in a completion queue entry.
  private static final long PATH = 17;
  private static final long SOURCE_LID = 22;
  private static final long SOURCE = 24;
  private static final long IMMEDIATE = 36;
  private static final long LENGTH = 44;
  private static final long VENDOR_SYNDROME = 54;
  private static final long SYNDROME = 55;
  private static final long OPCODE_NUMBER = 56;
  private static final long COUNTER = 60;
  private static final long OPCODE_OWNER = 63;

  /** Both syndromes: the message of a shared queue met a page that is not in memory. */
  private static final short PAGE_FAULT = 0x2293;

  // Opcodes of completion queue entries.
  private static final int REQUEST = 0;
  private static final int RESPONSE_WRITE_IMM = 1;
  private static final int RESPONSE_SEND = 2;
  private static final int RESPONSE_SEND_IMM = 3;
  private static final int RESPONSE_SEND_INV = 4;
  private static final int REQUEST_ERROR = 13;
  private static final int RESPONSE_ERROR = 14;
  private static final int INVALID = 15;

  /** Two bits between opcode and owner: not 0 if the entry is compressed or contains data. */
  private static final int FORMAT = 0xc;

  /** Whether the completion is that of a solicited message. */
  private static final int SOLICITED = 2;

  private static final int INDEX_MASK = 0xffffff;
  private static final int NUMBER_MASK = 0xffffff;
  private static final long ARM_RECORD = 4;
  private static final long ARM_REGISTER = 0x20;
  private static final int ONLY_SOLICITED = 1 << 24;

  private static final long WC_SIZE = ibv_wc.sizeof();
  private static final long WC_ID = ibv_wc.wr_id$offset();
  private static final long WC_STATUS = ibv_wc.status$offset();
  private static final long WC_OPCODE = ibv_wc.opcode$offset();
  private static final long WC_VENDOR_ERROR = ibv_wc.vendor_err$offset();
  private static final long WC_LENGTH = ibv_wc.byte_len$offset();
  private static final long WC_IMMEDIATE = ibv_wc.imm_data$offset();
  private static final long WC_NUMBER = ibv_wc.qp_num$offset();
  private static final long WC_SOURCE = ibv_wc.src_qp$offset();
  private static final long WC_FLAGS = ibv_wc.wc_flags$offset();
  private static final long WC_PARTITION = ibv_wc.pkey_index$offset();
  private static final long WC_SOURCE_LID = ibv_wc.slid$offset();
  private static final long WC_SERVICE_LEVEL = ibv_wc.sl$offset();
  private static final long WC_PATH_BITS = ibv_wc.dlid_path_bits$offset();

  private static final int SUCCESS = rdma_h.IBV_WC_SUCCESS();
  private static final int WITH_IMMEDIATE = rdma_h.IBV_WC_WITH_IMM();
  private static final int WITH_INVALIDATE = rdma_h.IBV_WC_WITH_INV();
  private static final int GRH = rdma_h.IBV_WC_GRH();
  private static final int WC_SEND = rdma_h.IBV_WC_SEND();
  private static final int WC_WRITE = rdma_h.IBV_WC_RDMA_WRITE();
  private static final int WC_READ = rdma_h.IBV_WC_RDMA_READ();
  private static final int WC_SWAP = rdma_h.IBV_WC_COMP_SWAP();
  private static final int WC_ADD = rdma_h.IBV_WC_FETCH_ADD();
  private static final int WC_RECEIVE = rdma_h.IBV_WC_RECV();
  private static final int WC_RECEIVE_WRITE = rdma_h.IBV_WC_RECV_RDMA_WITH_IMM();
  private static final int ATOMIC_LENGTH = 8;

  private static final int FAILED = -1;

  private static final VarHandle EVENTS;

  static {
    try {
      EVENTS =
          MethodHandles.lookup()
              .findVarHandle(Mlx5CompletionQueue.class, "events", int.class)
              .withInvokeExactBehavior();
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final QueueLock lock = new QueueLock();
  private final QueuePairTable queuePairs = new QueuePairTable();
  private final long entries;
  private final int count;

  /** The number of passes of the device through the queue is the index without so many bits. */
  private final int passShift;

  private final long record;
  private final long registers;
  private final int number;

  /** The number of entries that were read. */
  private int consumed;

  /** The queue pair of the last completion. */
  private @Nullable Mlx5QueuePair last;

  /** The number of completion events that were read from the channel. */
  @SuppressWarnings("unused") // Through EVENTS.
  private int events;

  Mlx5CompletionQueue(QueueMemory.OfCompletionQueue memory) {
    this.entries = memory.entries();
    this.count = memory.count();
    this.passShift = Integer.numberOfTrailingZeros(count);
    this.record = memory.record();
    this.registers = memory.registers();
    this.number = memory.number();
  }

  private long at(int index) {
    return Block.known(entries + ((long) (index & (count - 1)) << ENTRY_SHIFT));
  }

  /** Returns whether the device has written the entry of an index, according to its last byte. */
  private boolean isNew(int opcodeOwner, int index) {
    boolean owner = (index & count) != 0;
    return opcodeOwner >> 4 != INVALID && (opcodeOwner & 1) != 0 == owner;
  }

  private static int opcodeOwner(long entry) {
    return Byte.toUnsignedInt(Memory.getByteOpaque(entry + OPCODE_OWNER));
  }

  @Override
  public int ibv_poll_cq(int numEntries, long wc) {
    // Without the lock: another thread can only have read more.
    int index = consumed;
    if (!isNew(opcodeOwner(at(index)), index)) {
      return 0;
    }
    StackSpace.requireForSection();
    lock.lock();
    try {
      return poll(numEntries, Block.known(wc));
    } finally {
      lock.unlock();
    }
  }

  /**
   * Polls completions for a session: plain ones, or one other.
   *
   * @return as {@link SessionCalls#poll}
   */
  int poll(Mlx5Session session, int checkedAt) {
    StackSpace.requireForSection();
    lock.lock();
    try {
      if (Core.closings() != checkedAt) { // The entries may not exist any more.
        return SessionCalls.UNCHECKED;
      }
      int index = consumed;
      if (!isNew(opcodeOwner(at(index)), index)) {
        return 0;
      }
      int polled = pollPlain(session);
      session.isPlain = polled != 0;
      return polled != 0 ? polled : poll(1, Block.known(session.wc()));
    } finally {
      lock.unlock();
    }
  }

  /** Polls plain completions; variables, since C2 would read fields again after each fence. */
  private int pollPlain(Mlx5Session session) {
    final long first = entries;
    final int last = count - 1;
    final int ownerShift = passShift;
    final int number = session.number;
    final Mlx5SendQueue sends = session.sends;
    final long[] idsOfBlocks = sends.ids;
    final long[] ids = session.ids;
    final long[] opcodesAndLengths = session.opcodesAndLengths;
    int index = consumed;
    int polled = 0;
    int counter = 0;
    while (polled < ids.length) {
      long entry = Block.known(first + ((long) (index & last) << ENTRY_SHIFT));
      if ((opcodeOwner(entry) & ~SOLICITED) != (index >>> ownerShift & 1)) {
        break;
      }
      VarHandle.loadLoadFence();
      int opcodeNumber = Integer.reverseBytes(Memory.getInt(entry + OPCODE_NUMBER));
      if ((opcodeNumber & NUMBER_MASK) != number || !Mlx5Session.isPlain(opcodeNumber >>> 24)) {
        break;
      }
      counter = counter(entry);
      ids[polled] = idsOfBlocks[counter & (idsOfBlocks.length - 1)];
      opcodesAndLengths[polled & (opcodesAndLengths.length - 1)] =
          (long) (opcodeNumber >>> 24) << Integer.SIZE
              | Integer.toUnsignedLong(Integer.reverseBytes(Memory.getInt(entry + LENGTH)));
      polled++;
      index++;
    }
    if (polled > 0) {
      long _ = sends.complete(counter);
      consumed = index;
      Doorbell.record(record, index & INDEX_MASK);
    }
    return polled;
  }

  private int poll(int numEntries, long first) {
    int index = consumed;
    int polled = 0;
    while (polled < numEntries) {
      long entry = at(index);
      int opcodeOwner = opcodeOwner(entry);
      if (!isNew(opcodeOwner, index)) {
        break;
      }
      VarHandle.loadLoadFence(); // The other fields are read after the owner bit.
      int opcodeNumber = Integer.reverseBytes(Memory.getInt(entry + OPCODE_NUMBER));
      Mlx5QueuePair queuePair = last;
      if (queuePair == null || queuePair.number() != (opcodeNumber & NUMBER_MASK)) {
        queuePair = queuePairs.find(opcodeNumber & NUMBER_MASK);
        last = queuePair;
      }
      index++;
      int read =
          queuePair == null
              ? FAILED
              : read(entry, opcodeOwner, opcodeNumber, queuePair, first + polled * WC_SIZE);
      if (read == FAILED) {
        polled = FAILED;
        break;
      }
      polled += read;
    }
    if (index != consumed) {
      consumed = index;
      Doorbell.record(record, index & INDEX_MASK);
    }
    return polled;
  }

  /** Reads an entry as the returned number of work completions; FAILED if it is not understood. */
  private static int read(
      long entry, int opcodeOwner, int opcodeNumber, Mlx5QueuePair queuePair, long wc) {
    int counter = counter(entry);
    Mlx5SharedReceiveQueue shared = isPageFault(entry, opcodeOwner) ? queuePair.shared() : null;
    if (shared != null) {
      shared.postAgain(counter);
      return 0;
    }
    Memory.putInt(wc + WC_NUMBER, opcodeNumber & NUMBER_MASK);
    boolean isRead =
        switch (opcodeOwner >> 4) {
          case REQUEST ->
              readRequest(entry, opcodeOwner, opcodeNumber >>> 24, queuePair.sends(), counter, wc);
          case RESPONSE_WRITE_IMM, RESPONSE_SEND, RESPONSE_SEND_IMM, RESPONSE_SEND_INV ->
              readResponse(entry, opcodeOwner, requireNonNull(queuePair.receives()), counter, wc);
          case REQUEST_ERROR -> readError(entry, queuePair.sends().complete(counter), wc);
          case RESPONSE_ERROR ->
              readError(entry, requireNonNull(queuePair.receives()).complete(counter), wc);
          default -> false;
        };
    return isRead ? 1 : FAILED;
  }

  private static boolean isPageFault(long entry, int opcodeOwner) {
    return opcodeOwner >> 4 == RESPONSE_ERROR
        && Memory.getShort(entry + VENDOR_SYNDROME) == PAGE_FAULT;
  }

  private static int counter(long entry) {
    return Short.toUnsignedInt(Short.reverseBytes(Memory.getShort(entry + COUNTER)));
  }

  private static boolean readRequest(
      long entry, int opcodeOwner, int opcode, Mlx5SendQueue sends, int counter, long wc) {
    if ((opcodeOwner & FORMAT) != 0) {
      return false;
    }
    int flags = 0;
    int of;
    switch (opcode) {
      case Opcodes.RDMA_WRITE -> of = WC_WRITE;
      case Opcodes.RDMA_WRITE_IMM -> {
        of = WC_WRITE;
        flags = WITH_IMMEDIATE;
      }
      case Opcodes.SEND, Opcodes.SEND_INVAL -> of = WC_SEND;
      case Opcodes.SEND_IMM -> {
        of = WC_SEND;
        flags = WITH_IMMEDIATE;
      }
      case Opcodes.RDMA_READ -> {
        of = WC_READ;
        Memory.putInt(wc + WC_LENGTH, Integer.reverseBytes(Memory.getInt(entry + LENGTH)));
      }
      case Opcodes.ATOMIC_CS -> {
        of = WC_SWAP;
        Memory.putInt(wc + WC_LENGTH, ATOMIC_LENGTH);
      }
      case Opcodes.ATOMIC_FA -> {
        of = WC_ADD;
        Memory.putInt(wc + WC_LENGTH, ATOMIC_LENGTH);
      }
      case Opcodes.UMR -> of = sends.completionOpcode(counter);
      default -> {
        return false;
      }
    }
    Memory.putLong(wc + WC_ID, sends.complete(counter));
    Memory.putInt(wc + WC_STATUS, SUCCESS);
    Memory.putInt(wc + WC_OPCODE, of);
    Memory.putInt(wc + WC_FLAGS, flags);
    return true;
  }

  private static boolean readResponse(
      long entry, int opcodeOwner, ReceiveEntries receives, int counter, long wc) {
    if ((opcodeOwner & FORMAT) != 0) {
      return false;
    }
    int length = Integer.reverseBytes(Memory.getInt(entry + LENGTH));
    Memory.putInt(wc + WC_LENGTH, length);
    Memory.putLong(wc + WC_ID, receives.complete(counter));
    Memory.putInt(wc + WC_STATUS, SUCCESS);
    int opcode = opcodeOwner >> 4;
    int immediate = Memory.getInt(entry + IMMEDIATE);
    int flags = 0;
    if (opcode != RESPONSE_SEND) {
      boolean invalidates = opcode == RESPONSE_SEND_INV;
      flags = invalidates ? WITH_INVALIDATE : WITH_IMMEDIATE;
      Memory.putInt(wc + WC_IMMEDIATE, invalidates ? Integer.reverseBytes(immediate) : immediate);
    }
    Memory.putInt(wc + WC_OPCODE, opcode == RESPONSE_WRITE_IMM ? WC_RECEIVE_WRITE : WC_RECEIVE);
    int source = Integer.reverseBytes(Memory.getInt(entry + SOURCE));
    Memory.putInt(wc + WC_SOURCE, source & NUMBER_MASK);
    Memory.putInt(wc + WC_FLAGS, flags | ((source >> 28 & 3) != 0 ? GRH : 0));
    Memory.putShort(wc + WC_PARTITION, (short) Integer.reverseBytes(immediate));
    Memory.putShort(wc + WC_SOURCE_LID, Short.reverseBytes(Memory.getShort(entry + SOURCE_LID)));
    Memory.putByte(wc + WC_SERVICE_LEVEL, (byte) (source >> 24 & 0xf));
    Memory.putByte(wc + WC_PATH_BITS, (byte) (Memory.getByte(entry + PATH) & 0x7f));
    return true;
  }

  private static boolean readError(long entry, long id, long wc) {
    Memory.putLong(wc + WC_ID, id);
    int syndrome = Byte.toUnsignedInt(Memory.getByte(entry + SYNDROME));
    Memory.putInt(wc + WC_STATUS, Syndromes.status(syndrome));
    Memory.putInt(
        wc + WC_VENDOR_ERROR, Byte.toUnsignedInt(Memory.getByte(entry + VENDOR_SYNDROME)));
    Memory.putInt(wc + WC_FLAGS, 0);
    return true;
  }

  @Override
  public int ibv_req_notify_cq(int solicitedOnly) {
    StackSpace.requireForSection();
    lock.lock();
    try {
      int value =
          ((int) EVENTS.getAcquire(this) & 3) << 28
              | (solicitedOnly != 0 ? ONLY_SOLICITED : 0)
              | (consumed & INDEX_MASK);
      long register = Block.known(registers + ARM_REGISTER);
      long bytes = Long.reverseBytes((long) value << Integer.SIZE | Integer.toUnsignedLong(number));
      Doorbell.exchange(record + ARM_RECORD, value);
      Memory.putLongOpaque(register, bytes);
      return 0;
    } finally {
      lock.flushAndUnlock();
    }
  }

  /** The device generates an event only for a number of events that it has not seen before. */
  @Override
  public void wasNotified() {
    int _ = (int) EVENTS.getAndAdd(this, 1); // Without the lock, as libmlx5.
  }

  void add(Mlx5QueuePair queuePair) {
    lock.lockOnce();
    try {
      if (queuePairs.find(queuePair.number()) != queuePair) { // After a failed destruction it may.
        queuePairs.add(queuePair);
      }
    } finally {
      lock.unlockOnce();
    }
  }

  /** Removes a queue pair that was reset, and its completions, if it was not removed before. */
  void remove(Mlx5QueuePair queuePair) {
    lock.lockOnce();
    try {
      if (queuePairs.find(queuePair.number()) == queuePair) {
        removeCompletions(queuePair);
        queuePairs.remove(queuePair);
        last = null;
      }
    } finally {
      lock.unlockOnce();
    }
  }

  /** Removes the completions of a queue pair that was reset. */
  void clean(Mlx5QueuePair queuePair) {
    lock.lockOnce();
    try {
      removeCompletions(queuePair);
    } finally {
      lock.unlockOnce();
    }
  }

  /** Moves the other entries to the end, from the newest one to the oldest one. */
  private void removeCompletions(Mlx5QueuePair queuePair) {
    int newest = consumed;
    while (newest - consumed < count && isNew(opcodeOwner(at(newest)), newest)) {
      newest++;
    }
    VarHandle.loadLoadFence();
    int removed = 0;
    for (int index = newest - 1; index - consumed >= 0; index--) {
      long entry = at(index);
      if (isOf(entry, queuePair)) {
        removed++;
      } else if (removed > 0) {
        move(entry, at(index + removed));
      }
    }
    if (removed > 0) {
      consumed += removed;
      Doorbell.record(record, consumed & INDEX_MASK);
    }
  }

  /** Returns whether an entry is of a queue pair, and frees the entry of a shared receive queue. */
  private static boolean isOf(long entry, Mlx5QueuePair queuePair) {
    int opcodeNumber = Integer.reverseBytes(Memory.getInt(entry + OPCODE_NUMBER));
    if ((opcodeNumber & NUMBER_MASK) != queuePair.number()) {
      return false;
    }
    int opcode = opcodeOwner(entry) >> 4;
    Mlx5SharedReceiveQueue shared = queuePair.shared();
    if (opcode != REQUEST && opcode != REQUEST_ERROR && shared != null) {
      shared.complete(counter(entry));
    }
    return true;
  }

  /** Copies an entry over another one, which keeps its owner bit. */
  private static void move(long from, long to) {
    int owner = opcodeOwner(to) & 1;
    Memory.copy(from, to, ENTRY_SIZE);
    Memory.putByte(to + OPCODE_OWNER, (byte) ((opcodeOwner(from) & ~1) | owner));
  }
}
