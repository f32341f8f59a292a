package dev.verbena.internal.mlx5;

import dev.verbena.internal.calls.SessionCalls;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.rdma_h;

/**
 * A session that keeps its requests as work queue entries of one block each, which consist of a
 * control segment, one of remote memory for writes and reads, and a data segment if the length is
 * not 0. A post copies them into the queue.
 */
final class Mlx5Session extends SessionCalls {
  private static final int SLOT_SHIFT = 7;

  // A request: the entry with the index 0, the wr_id, and where the data segment is.
  private static final long IMMEDIATE = 12;
  private static final long REMOTE = 16;
  private static final long ID = QueueMemory.BLOCK;
  private static final long DATA = QueueMemory.BLOCK + 8;

  /** The bits of the opcodes of entries whose completions are plain. */
  private static final long PLAIN =
      (1L << Opcodes.SEND)
          | (1L << Opcodes.SEND_IMM)
          | (1L << Opcodes.RDMA_WRITE)
          | (1L << Opcodes.RDMA_WRITE_IMM)
          | (1L << Opcodes.RDMA_READ);

  private final Mlx5QueuePair queuePair;
  final Mlx5SendQueue sends;
  private final Mlx5CompletionQueue completions;
  final int number;
  private final Block memory;
  private final long requests;

  /** The {@code struct ibv_wc} of completions that are not plain. */
  private final long wc;

  Mlx5Session(Mlx5QueuePair queuePair, Mlx5CompletionQueue completions, int requests, long wc) {
    this.queuePair = queuePair;
    this.sends = queuePair.sends();
    this.completions = completions;
    this.number = queuePair.number();
    this.memory = new Block((long) requests << SLOT_SHIFT);
    this.requests = memory.address(0);
    this.wc = wc;
  }

  private long at(int request) {
    return Block.known(requests + ((long) request << SLOT_SHIFT));
  }

  @Override
  public void format(int request, int operation, int immediate) {
    long at = at(request);
    for (int i = 0; i < QueueMemory.BLOCK; i += Long.BYTES) {
      Memory.putLong(at + i, 0);
    }
    int opcode = sends.opcode(operation);
    boolean isSend = opcode == Opcodes.SEND || opcode == Opcodes.SEND_IMM;
    int units = isSend ? 1 : 2;
    long _ =
        WqeSegments.control(
            at, 0, opcode, number, units, sends.flags(0), Integer.reverseBytes(immediate));
    Memory.putLong(at + ID, 0);
    Memory.putInt(at + DATA, -units * WqeSegments.SIZE);
    memory.keep();
  }

  @Override
  public void remote(int request, long address, int key) {
    WqeSegments.remote(at(request) + REMOTE, address, key);
    memory.keep();
  }

  @Override
  public void immediate(int request, int value) {
    Memory.putInt(at(request) + IMMEDIATE, Integer.reverseBytes(value));
    memory.keep();
  }

  @Override
  public void flags(int request, int flags) {
    Memory.putByte(at(request) + WqeSegments.FLAGS, (byte) sends.flags(flags));
    memory.keep();
  }

  @Override
  public void local(int request, long id, long address, int length, int key) {
    long at = at(request);
    int data = Memory.getInt(at + DATA);
    Memory.putLong(at + ID, id);
    if (data < 0 || length == 0) {
      data = addOrRemoveData(at, Math.abs(data), length != 0);
    }
    WqeSegments.data(at + data, address, length, key);
    memory.keep();
  }

  /** Changes the size of an entry, whose data segment is used only if there is one. */
  private static int addOrRemoveData(long at, int data, boolean hasData) {
    int units = data / WqeSegments.SIZE + (hasData ? 1 : 0);
    Memory.putLong(at, WqeSegments.withUnits(Memory.getLong(at), units));
    Memory.putInt(at + DATA, hasData ? data : -data);
    return data;
  }

  @Override
  public int post(int from, int count, int checkedAt) {
    int posted = sends.post(this, from, count, queuePair, checkedAt);
    memory.keep();
    return posted;
  }

  /** Returns the first eight bytes of the entry of a request, with the index 0. */
  long control(int request) {
    return Memory.getLong(at(request));
  }

  long id(int request) {
    return Memory.getLong(at(request) + ID);
  }

  /** Copies the entry of a request into the queue. */
  void copy(int request, long control, long to, int position) {
    long from = at(request);
    int units = WqeSegments.units(control);
    Memory.putLong(to, WqeSegments.withIndex(control, position));
    Memory.putLong(to + 8, Memory.getLong(from + 8));
    if (units > 1) {
      Memory.putLong(to + 16, Memory.getLong(from + 16));
      Memory.putLong(to + 24, Memory.getLong(from + 24));
    }
    if (units > 2) {
      Memory.putLong(to + 32, Memory.getLong(from + 32));
      Memory.putLong(to + 40, Memory.getLong(from + 40));
    }
  }

  @Override
  public int poll(int checkedAt) {
    return completions.poll(this, checkedAt);
  }

  /** Returns the address of a {@code struct ibv_wc}. */
  long wc() {
    return wc;
  }

  /**
   * Returns whether the completion of a successful entry has no other fields than id and length.
   */
  static boolean isPlain(int opcode) {
    return opcode < Long.SIZE && (PLAIN >>> opcode & 1) != 0;
  }

  @Override
  public int opcode(int index) {
    return switch ((int) (opcodesAndLengths[index] >>> Integer.SIZE)) {
      case Opcodes.SEND, Opcodes.SEND_IMM -> rdma_h.IBV_WC_SEND();
      case Opcodes.RDMA_READ -> rdma_h.IBV_WC_RDMA_READ();
      default -> rdma_h.IBV_WC_RDMA_WRITE();
    };
  }
}
