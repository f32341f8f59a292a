package dev.verbena.internal.mlx5;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Platform;
import dev.verbena.raw.rdma_h;
import java.nio.ByteOrder;
import org.junit.jupiter.api.Test;

class OpcodesTest {
  @Test
  void literalsAreThoseOfVerbs() {
    assertArrayEquals(
        new int[] {
          rdma_h.IBV_WR_RDMA_WRITE(),
          rdma_h.IBV_WR_RDMA_WRITE_WITH_IMM(),
          rdma_h.IBV_WR_SEND(),
          rdma_h.IBV_WR_SEND_WITH_IMM(),
          rdma_h.IBV_WR_RDMA_READ(),
          rdma_h.IBV_WR_ATOMIC_CMP_AND_SWP(),
          rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD(),
          rdma_h.IBV_WR_LOCAL_INV(),
          rdma_h.IBV_WR_BIND_MW(),
          rdma_h.IBV_WR_SEND_WITH_INV()
        },
        new int[] {
          Opcodes.WR_RDMA_WRITE,
          Opcodes.WR_RDMA_WRITE_WITH_IMM,
          Opcodes.WR_SEND,
          Opcodes.WR_SEND_WITH_IMM,
          Opcodes.WR_RDMA_READ,
          Opcodes.WR_ATOMIC_CMP_AND_SWP,
          Opcodes.WR_ATOMIC_FETCH_AND_ADD,
          Opcodes.WR_LOCAL_INV,
          Opcodes.WR_BIND_MW,
          Opcodes.WR_SEND_WITH_INV
        });
  }

  @Test
  void operationsThatATypeLacksHaveNegativeErrnos() {
    byte[] ud = Opcodes.of(rdma_h.IBV_QPT_UD(), true);
    assertEquals(-Errno.EINVAL, ud[Opcodes.WR_RDMA_WRITE]);
    assertEquals(Opcodes.SEND, ud[Opcodes.WR_SEND]);
    byte[] uc = Opcodes.of(rdma_h.IBV_QPT_UC(), true);
    assertEquals(-Errno.EINVAL, uc[Opcodes.WR_RDMA_READ]);
    byte[] rc = Opcodes.of(rdma_h.IBV_QPT_RC(), false);
    assertEquals(-Errno.EOPNOTSUPP, rc[Opcodes.WR_ATOMIC_CMP_AND_SWP]);
    assertEquals(Opcodes.RDMA_READ, rc[Opcodes.WR_RDMA_READ]);
  }

  /** Only there does a fence of Java order stores to a device. */
  @Test
  void otherProcessorsAreRefused() {
    VerbsException refused =
        assertThrows(
            VerbsException.class,
            () ->
                Mlx5DataPath.requireX86(
                    new Platform("Linux", "aarch64", 64, ByteOrder.LITTLE_ENDIAN)));
    assertTrue(refused.isUnsupported());
    assertTrue(refused.getMessage().contains("aarch64"), refused.getMessage());
    Mlx5DataPath.requireX86(new Platform("Linux", "amd64", 64, ByteOrder.LITTLE_ENDIAN));
  }
}
