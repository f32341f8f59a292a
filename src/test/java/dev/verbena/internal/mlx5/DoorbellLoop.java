package dev.verbena.internal.mlx5;

import dev.verbena.internal.calls.DirectQueues;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_send_wr;
import dev.verbena.raw.rdma_h;

/** Posts, polls and arms until all are compiled; the JVM prints their code. */
final class DoorbellLoop {
  private static final int ROUNDS = 100_000;
  private static final int HALF = 256;

  // Of a completion queue entry.
  private static final int OPCODE_NUMBER = 56;
  private static final int COUNTER = 60;
  private static final int OWNER = 63;

  private DoorbellLoop() {}

  public static void main(String[] arguments) {
    Block memory = new Block(4096);
    long request = memory.address(256);
    Memory.putInt(request + ibv_send_wr.opcode$offset(), Opcodes.WR_RDMA_WRITE);
    Mlx5SendQueue copying = sends(memory, DoorbellRegister.Copied.ALL);
    Mlx5SendQueue others = sends(memory, DoorbellRegister.Copied.NONE);
    Mlx5CompletionQueue completions =
        new Mlx5CompletionQueue(
            new QueueMemory.OfCompletionQueue(
                memory.address(2048), memory.address(64), 1, 64, memory.address(768), 1));
    new Mlx5QueuePair(null, 0, copying, null, null, completions, completions).attach();
    long entry = memory.address(2048);
    Memory.putInt(
        entry + OPCODE_NUMBER, Integer.reverseBytes(Opcodes.RDMA_WRITE << 24 | copying.number()));
    for (int i = 0; i < ROUNDS; i++) {
      if (copying.post(request, memory.address(512)) != 0
          || others.post(request, memory.address(512)) != 0
          || completions.ibv_req_notify_cq(0) != 0) {
        throw new AssertionError("refused");
      }
      Memory.putShort(entry + COUNTER, Short.reverseBytes((short) i));
      Memory.putByte(entry + OWNER, (byte) (i & 1)); // Of the opcode 0, a request.
      if (completions.ibv_poll_cq(1, memory.address(576)) != 1) {
        throw new AssertionError("no completion");
      }
      others.complete(i);
    }
    memory.keep();
  }

  private static Mlx5SendQueue sends(Block memory, DoorbellRegister.Copied copied) {
    return new Mlx5SendQueue(
        1,
        new DirectQueues.Shape(rdma_h.IBV_QPT_RC(), true, 1, 1, 0, true),
        false,
        memory.address(1024),
        1,
        memory.address(0),
        new DoorbellRegister(memory.address(3072), HALF, copied, memory.address(1024), 1),
        null);
  }
}
