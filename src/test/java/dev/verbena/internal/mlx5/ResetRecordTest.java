package dev.verbena.internal.mlx5;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.internal.calls.DirectQueues;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_send_wr;
import dev.verbena.raw.rdma_h;
import org.junit.jupiter.api.Test;

/** A post between the reset by libmlx5 and that of the queue in Java. */
class ResetRecordTest {
  private final Block memory = new Block(4096);
  private final long request = memory.address(256);
  private final long record = memory.address(8);

  /** Otherwise the device would execute what is in the queue, once it is in state RTS. */
  @Test
  void theDeviceFindsNoSendRequestAfterwards() {
    Mlx5SendQueue sends =
        new Mlx5SendQueue(
            1,
            new DirectQueues.Shape(rdma_h.IBV_QPT_RC(), true, 4, 1, 0, true),
            false,
            memory.address(2048),
            4,
            record,
            new DoorbellRegister(
                memory.address(3072), 64, DoorbellRegister.Copied.ALL, memory.address(2048), 4),
            null);
    Memory.putInt(request + ibv_send_wr.opcode$offset(), Opcodes.WR_RDMA_WRITE);
    assertEquals(0, sends.post(request, memory.address(512)));
    assertEquals(1, Integer.reverseBytes(Memory.getInt(record)));
    sends.reset();
    assertEquals(0, Memory.getInt(record));
    memory.keep();
  }

  @Test
  void theDeviceFindsNoReceiveRequestAfterwards() {
    Mlx5ReceiveQueue receives = new Mlx5ReceiveQueue(memory.address(2048), 4, 64, record);
    assertEquals(0, receives.post(request, memory.address(512)));
    assertEquals(1, Integer.reverseBytes(Memory.getInt(record)));
    receives.reset();
    assertEquals(0, Memory.getInt(record));
    memory.keep();
  }
}
