package dev.verbena.internal.mlx5;

import dev.verbena.internal.calls.DirectQueues;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_send_wr;
import dev.verbena.raw.rdma_h;

/** Posts and arms until both are compiled; the JVM prints their code. */
final class DoorbellLoop {
  private static final int ROUNDS = 100_000;

  private DoorbellLoop() {}

  public static void main(String[] arguments) {
    Block memory = new Block(4096);
    long request = memory.address(256);
    Memory.putInt(request + ibv_send_wr.opcode$offset(), Opcodes.WR_RDMA_WRITE);
    Mlx5SendQueue sends =
        new Mlx5SendQueue(
            1,
            new DirectQueues.Shape(rdma_h.IBV_QPT_RC(), true, 1, 1, 0),
            false,
            memory.address(1024),
            1,
            memory.address(0),
            memory.address(768),
            null);
    Mlx5CompletionQueue completions =
        new Mlx5CompletionQueue(
            new QueueMemory.OfCompletionQueue(
                memory.address(2048), memory.address(64), 1, 64, memory.address(768), 1));
    for (int i = 0; i < ROUNDS; i++) {
      if (sends.post(request, memory.address(512)) != 0 || completions.ibv_req_notify_cq(0) != 0) {
        throw new AssertionError("refused");
      }
      sends.complete(i);
    }
    memory.keep();
  }
}
