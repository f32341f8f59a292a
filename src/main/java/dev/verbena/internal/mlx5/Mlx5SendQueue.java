package dev.verbena.internal.mlx5;

import static dev.verbena.internal.calls.SendWorkRequest.*;

import dev.verbena.Errno;
import dev.verbena.internal.calls.DirectQueues;
import dev.verbena.internal.calls.SessionCalls;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.StackSpace;
import dev.verbena.internal.life.Core;
import dev.verbena.raw.ibv_mw;
import dev.verbena.raw.rdma_h;
import java.lang.invoke.VarHandle;

/**
 * The send queue of a queue pair: writes send requests as work queue entries. An entry consists of
 * blocks of 64 bytes and continues at the start of the buffer when it reaches the end.
 */
final class Mlx5SendQueue {
  private static final int BLOCK_SHIFT = 6;

  private static final int FENCE = rdma_h.IBV_SEND_FENCE();
  private static final int SIGNALED = rdma_h.IBV_SEND_SIGNALED();
  private static final int SOLICITED = rdma_h.IBV_SEND_SOLICITED();
  private static final int INLINE = rdma_h.IBV_SEND_INLINE();

  private static final int UD_TYPE = rdma_h.IBV_QPT_UD();

  private final QueueLock lock = new QueueLock();
  private final int number;
  private final boolean isDatagram;
  private final int alwaysFlags;

  /** The opcode of an entry by that of the request; negative errnos. */
  private final byte[] opcodes;

  private final int maxRequests;
  private final int maxSges;
  private final int maxInlineData;
  private final long buffer;
  private final long end;
  private final int mask;
  private final long record;
  private final DoorbellRegister register;
  private final AddressVectors vectors;

  /** The {@code wr_id} of the request whose entry begins at a block. */
  final long[] ids;

  /** The number of requests that were posted before that of a block. */
  private final int[] ordinals;

  /** The code of {@code enum ibv_wc_opcode} of an entry whose own opcode does not tell it. */
  private final byte[] completionOpcodes;

  /** The number of blocks that were written. */
  private int position;

  /** The number of requests that were posted. */
  private int posted;

  /** The number of requests that are known to be completed; the thread that polls writes it. */
  private int completed;

  /** The fence flags of the next request. */
  private int nextFence;

  /**
   * A new send queue.
   *
   * @param number the number of the queue pair
   * @param buffer the address of the blocks
   * @param blocks the number of blocks, a power of two
   * @param record the address of its doorbell record
   * @param register its doorbell register
   */
  Mlx5SendQueue(
      int number,
      DirectQueues.Shape shape,
      boolean hasAtomics,
      long buffer,
      int blocks,
      long record,
      DoorbellRegister register,
      AddressVectors vectors) {
    this.number = number;
    this.isDatagram = shape.type() == UD_TYPE;
    this.opcodes = Opcodes.of(shape.type(), hasAtomics);
    this.alwaysFlags = shape.signalsAll() ? WqeSegments.COMPLETION : 0;
    this.maxRequests = shape.maxSends();
    this.maxSges = shape.maxSges();
    this.maxInlineData = shape.maxInlineData();
    this.buffer = buffer;
    this.end = buffer + ((long) blocks << BLOCK_SHIFT);
    this.mask = blocks - 1;
    this.record = record;
    this.register = register;
    this.vectors = vectors;
    this.ids = new long[blocks];
    this.ordinals = new int[blocks];
    this.completionOpcodes = new byte[blocks];
  }

  int number() {
    return number;
  }

  /** Returns the address where an entry continues that has reached an address. */
  long wrapped(long at) {
    return Block.known(at == end ? buffer : at);
  }

  /**
   * Posts a list of requests. HotSpot compiles the method apart from its callers if it has more
   * than 325 bytes of code.
   *
   * @return an errno; the address of the request that failed is stored in {@code badWr}
   */
  int post(long first, long badWr) {
    StackSpace.requireForSection();
    lock.lock();
    boolean isCopied = false;
    try {
      int errno = 0;
      int now = position;
      int requests = 0;
      long bell = 0;
      int single = 0;
      long request = Block.known(first);
      do {
        if (posted - completed + requests >= maxRequests
            || Memory.getInt(request + NUM_SGE) > maxSges) {
          errno = Errno.ENOMEM;
          break;
        }
        int start = now & mask;
        long control = Block.known(buffer + ((long) start << BLOCK_SHIFT));
        int units = write(request, control, now);
        if (units < 0) {
          errno = -units;
          break;
        }
        ids[start] = Memory.getLong(request + WR_ID);
        ordinals[start] = posted + requests;
        now += (units + 3) >> 2;
        bell = control;
        single = requests == 0 ? units : 0;
        requests++;
        request = Block.known(Memory.getLong(request + NEXT));
      } while (request != 0);
      if (errno != 0) {
        Memory.putLong(badWr, request);
      }
      if (requests > 0) {
        position = now;
        posted += requests;
        Doorbell.exchange(record, now & 0xffff);
        isCopied = register.ring(bell, single, isInline(Block.known(first)));
      }
      return errno;
    } finally {
      unlock(isCopied);
    }
  }

  /**
   * Posts requests of a session.
   *
   * @return their number, a negative errno, or {@link SessionCalls#UNCHECKED}
   */
  int post(Mlx5Session session, int from, int count, Mlx5QueuePair queuePair, int checkedAt) {
    StackSpace.requireForSection();
    lock.lock();
    boolean isCopied = false;
    try {
      if (Core.closings() != checkedAt) {
        return SessionCalls.UNCHECKED;
      }
      if (!queuePair.canSend()) {
        return count == 0 ? 0 : -Errno.ENOMEM; // As libmlx5.
      }
      int requests = Math.min(count, maxRequests - (posted - completed));
      if (requests <= 0) {
        return 0;
      }
      int now = position;
      long bell = 0;
      long control = 0;
      for (int i = 0; i < requests; i++) {
        int start = now & (ids.length - 1);
        bell = Block.known(buffer + ((long) start << BLOCK_SHIFT));
        control = session.control(from + i);
        session.copy(from + i, control, bell, now);
        ids[start] = session.id(from + i);
        ordinals[now & (ordinals.length - 1)] = posted + i;
        now++;
      }
      if (nextFence != 0) {
        fenceFirst();
      }
      position = now;
      posted += requests;
      Doorbell.exchange(record, now & 0xffff);
      isCopied = register.ring(bell, requests == 1 ? WqeSegments.units(control) : 0, false);
      return requests;
    } finally {
      unlock(isCopied);
    }
  }

  /** Orders the entry at the position after a change of a key. */
  private void fenceFirst() {
    long flags = buffer + ((long) (position & mask) << BLOCK_SHIFT) + WqeSegments.FLAGS;
    int before = Memory.getByte(flags);
    if ((before & WqeSegments.FENCE) == 0) {
      Memory.putByte(flags, (byte) (before | nextFence));
    }
    nextFence = 0;
  }

  private void unlock(boolean isCopied) {
    if (isCopied) {
      lock.unlockFilled();
    } else {
      lock.flushAndUnlock();
    }
  }

  private static boolean isInline(long request) {
    return (Memory.getInt(request + FLAGS) & INLINE) != 0 && Memory.getInt(request + NUM_SGE) != 0;
  }

  /**
   * Writes the entry of a request. Its parts are methods of their own, as HotSpot compiles large
   * methods apart from their callers.
   *
   * @param control the address of its first block
   * @return its size in units of 16 bytes, or a negative errno
   */
  private int write(long request, long control, int position) {
    int operation = Memory.getInt(request + OPCODE);
    int opcode = operation >= 0 && operation < opcodes.length ? opcodes[operation] : -Errno.EINVAL;
    if (opcode < 0) {
      return opcode;
    }
    int flags = Memory.getInt(request + FLAGS);
    if (opcode == Opcodes.UMR) {
      return writeKeyChange(request, control, position, flags);
    }
    long at = remote(request, opcode, control + WqeSegments.SIZE);
    int units = (int) (at - control) >> 4;
    if (isDatagram) {
      datagram(request, at);
      units += WqeSegments.DATAGRAM_SIZE / WqeSegments.SIZE;
      at = wrapped(at + WqeSegments.DATAGRAM_SIZE);
    }
    int data = (flags & INLINE) != 0 ? inline(request, at) : gather(request, opcode, at);
    if (data < 0) {
      return data;
    }
    finish(control, position, opcode, units + data, flags, immediate(request, opcode));
    return units + data;
  }

  /** Writes the segments about remote memory, and returns the address behind them. */
  private static long remote(long request, int opcode, long at) {
    return switch (opcode) {
      case Opcodes.RDMA_WRITE, Opcodes.RDMA_WRITE_IMM, Opcodes.RDMA_READ -> {
        WqeSegments.remote(
            at, Memory.getLong(request + RDMA_ADDRESS), Memory.getInt(request + RDMA_KEY));
        yield at + WqeSegments.SIZE;
      }
      case Opcodes.ATOMIC_CS, Opcodes.ATOMIC_FA -> atomic(request, opcode, at);
      default -> at;
    };
  }

  private static long atomic(long request, int opcode, long at) {
    WqeSegments.remote(
        at, Memory.getLong(request + ATOMIC_ADDRESS), Memory.getInt(request + ATOMIC_KEY));
    long operands = at + WqeSegments.SIZE;
    long compareAdd = Memory.getLong(request + COMPARE_ADD);
    if (opcode == Opcodes.ATOMIC_CS) {
      WqeSegments.compareAndSwap(operands, Memory.getLong(request + SWAP), compareAdd);
    } else {
      WqeSegments.fetchAndAdd(operands, compareAdd);
    }
    return operands + WqeSegments.SIZE;
  }

  private void datagram(long request, long at) {
    WqeSegments.datagram(
        at,
        vectors.of(Memory.getLong(request + UD_HANDLE)),
        Memory.getInt(request + UD_NUMBER),
        Memory.getInt(request + UD_KEY));
  }

  /** Returns the immediate data or the key of the control segment, as it is in memory. */
  private static int immediate(long request, int opcode) {
    return switch (opcode) {
      case Opcodes.RDMA_WRITE_IMM, Opcodes.SEND_IMM -> Memory.getInt(request + IMMEDIATE);
      case Opcodes.SEND_INVAL -> Integer.reverseBytes(Memory.getInt(request + INVALIDATED_KEY));
      default -> 0;
    };
  }

  /** Writes the data segments of the SGEs; those of length 0 have none. */
  private int gather(long request, int opcode, long start) {
    int count = Memory.getInt(request + NUM_SGE);
    long sges = Block.known(Memory.getLong(request + SG_LIST));
    if (count != 1) {
      return gatherAll(sges, count, start);
    }
    if (WqeSegments.length(sges) == 0) {
      return 0;
    }
    if (opcode == Opcodes.ATOMIC_CS || opcode == Opcodes.ATOMIC_FA) {
      WqeSegments.atomicData(start, sges);
    } else {
      WqeSegments.data(start, sges);
    }
    return 1;
  }

  /**
   * Writes the data segments of any number of SGEs. C2 does not recognize a counter in the loop,
   * and so does not unroll it, which would take longer for the few SGEs that a request has.
   */
  private int gatherAll(long sges, int count, long start) {
    long first = start - buffer;
    long last = end - buffer - 1;
    long offset = first;
    long behind = Block.known(sges + (long) count * WqeSegments.SIZE);
    for (long sge = sges; sge < behind; sge = Block.known(sge + WqeSegments.SIZE)) {
      if (WqeSegments.length(sge) != 0) {
        WqeSegments.data(Block.known(buffer + (offset & last)), sge);
        offset += WqeSegments.SIZE;
      }
    }
    return (int) (offset - first) / WqeSegments.SIZE;
  }

  /** Copies the data of the SGEs behind a length of four bytes. */
  private int inline(long request, long start) {
    long sge = Memory.getLong(request + SG_LIST);
    long at = start + Integer.BYTES;
    int total = 0;
    for (int i = Memory.getInt(request + NUM_SGE); i > 0; i--, sge += WqeSegments.SIZE) {
      int length = WqeSegments.length(sge);
      if (length < 0 || length > maxInlineData - total) {
        return -Errno.ENOMEM;
      }
      total += length;
      at = copy(WqeSegments.address(sge), at, length);
    }
    if (total == 0) {
      return 0;
    }
    Memory.putInt(start, Integer.reverseBytes(total | WqeSegments.INLINE));
    return (total + Integer.BYTES + WqeSegments.SIZE - 1) / WqeSegments.SIZE;
  }

  /** Copies bytes into the queue, and returns the address behind them. */
  private long copy(long from, long to, int length) {
    int first = (int) Math.min(length, end - to);
    bytes(from, to, first);
    if (first == length) {
      return to + length;
    }
    bytes(from + first, buffer, length - first);
    return buffer + length - first;
  }

  /** A loop: for so few bytes, a call of the JVM's copying takes longer. */
  private static void bytes(long from, long to, int length) {
    long source = Block.known(from);
    long target = Block.known(to);
    int i = 0;
    for (; i <= length - Long.BYTES; i += Long.BYTES) {
      Memory.putLong(target + i, Memory.getLong(source + i));
    }
    for (; i < length; i++) {
      Memory.putByte(target + i, Memory.getByte(source + i));
    }
  }

  /** Writes an entry that binds or invalidates a memory window. */
  private int writeKeyChange(long request, long control, int position, int flags) {
    boolean isBind = Memory.getInt(request + OPCODE) == Opcodes.WR_BIND_MW;
    int key;
    int units;
    if (isBind) {
      if (!UserMemoryRegistration.fits(request + BIND_INFO)) {
        return -Errno.EOPNOTSUPP;
      }
      long window = Memory.getLong(request + BIND_WINDOW);
      key = Memory.getInt(window + ibv_mw.rkey$offset());
      units =
          UserMemoryRegistration.bind(
              this,
              control + WqeSegments.SIZE,
              Memory.getInt(window + ibv_mw.type$offset()),
              Memory.getInt(request + BIND_KEY),
              request + BIND_INFO);
    } else {
      key = Memory.getInt(request + INVALIDATED_KEY);
      units = UserMemoryRegistration.unbind(this, control + WqeSegments.SIZE, true, 0);
    }
    completionOpcodes[position & mask] =
        (byte) (isBind ? rdma_h.IBV_WC_BIND_MW() : rdma_h.IBV_WC_LOCAL_INV());
    finish(control, position, Opcodes.UMR, units + 1, flags, Integer.reverseBytes(key));
    nextFence = WqeSegments.SMALL_FENCE;
    return units + 1;
  }

  /** Writes the control segment, which is the last part of an entry. */
  private void finish(long control, int position, int opcode, int units, int flags, int immediate) {
    int fence = (flags & FENCE) != 0 ? 0 : nextFence;
    nextFence = 0;
    WqeSegments.control(control, position, opcode, number, units, flags(flags) | fence, immediate);
  }

  /** Returns the flags of a control segment. */
  int flags(int flags) {
    return alwaysFlags
        | ((flags & FENCE) != 0 ? WqeSegments.FENCE : 0)
        | ((flags & SIGNALED) != 0 ? WqeSegments.COMPLETION : 0)
        | ((flags & SOLICITED) != 0 ? WqeSegments.SOLICITED : 0);
  }

  /** Returns the opcode of an entry by that of the request. */
  int opcode(int operation) {
    return opcodes[operation];
  }

  /**
   * Records that the requests up to that of a block are completed.
   *
   * @param counter the index of the block since the queue was reset
   * @return the {@code wr_id} of the request
   */
  long complete(int counter) {
    int start = counter & mask;
    final long id = ids[start];
    final int next = ordinals[start] + 1;
    VarHandle.releaseFence(); // A thread that posts overwrites what is completed.
    completed = next;
    return id;
  }

  /** Returns the opcode of the completion of an entry whose own opcode does not tell it. */
  int completionOpcode(int counter) {
    return completionOpcodes[counter & mask];
  }

  /** Waits for the end of a post of a session, before the memory of the queue is freed. */
  void awaitPost() {
    lock.lockOnce();
    lock.unlockOnce();
  }

  /** Makes the queue empty, as a transition to RESET does. */
  void reset() {
    lock.lockOnce();
    try {
      position = 0;
      posted = 0;
      completed = 0;
      Doorbell.record(record, 0); // After libmlx5: a post may have come between.
    } finally {
      lock.unlockOnce();
    }
  }
}
