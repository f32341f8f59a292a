package dev.verbena.internal.mlx5;

import dev.verbena.Errno;
import dev.verbena.raw.rdma_h;
import java.util.Arrays;

/**
 * The operations of send requests: {@code enum ibv_wr_opcode} of verbs.h, and the opcodes of work
 * queue entries of the PRM. Literals, because a {@code switch} needs constants.
 */
final class Opcodes {
  static final int WR_RDMA_WRITE = 0;
  static final int WR_RDMA_WRITE_WITH_IMM = 1;
  static final int WR_SEND = 2;
  static final int WR_SEND_WITH_IMM = 3;
  static final int WR_RDMA_READ = 4;
  static final int WR_ATOMIC_CMP_AND_SWP = 5;
  static final int WR_ATOMIC_FETCH_AND_ADD = 6;
  static final int WR_LOCAL_INV = 7;
  static final int WR_BIND_MW = 8;
  static final int WR_SEND_WITH_INV = 9;

  static final int SEND_INVAL = 0x01;
  static final int RDMA_WRITE = 0x08;
  static final int RDMA_WRITE_IMM = 0x09;
  static final int SEND = 0x0a;
  static final int SEND_IMM = 0x0b;
  static final int RDMA_READ = 0x10;
  static final int ATOMIC_CS = 0x11;
  static final int ATOMIC_FA = 0x12;
  static final int UMR = 0x25;

  private Opcodes() {}

  /**
   * Returns the opcode of an entry by that of the request, for a type of queue pair.
   *
   * @param type the value of {@code enum ibv_qp_type}
   * @return opcodes; a negative errno for an operation that the type does not have
   */
  static byte[] of(int type, boolean hasAtomics) {
    byte[] opcodes = new byte[WR_SEND_WITH_INV + 1];
    Arrays.fill(opcodes, (byte) -Errno.EINVAL);
    opcodes[WR_SEND] = SEND;
    opcodes[WR_SEND_WITH_IMM] = SEND_IMM;
    if (type == rdma_h.IBV_QPT_UD()) {
      return opcodes;
    }
    opcodes[WR_SEND_WITH_INV] = SEND_INVAL;
    opcodes[WR_RDMA_WRITE] = RDMA_WRITE;
    opcodes[WR_RDMA_WRITE_WITH_IMM] = RDMA_WRITE_IMM;
    opcodes[WR_LOCAL_INV] = UMR;
    opcodes[WR_BIND_MW] = UMR;
    if (type == rdma_h.IBV_QPT_RC()) {
      opcodes[WR_RDMA_READ] = RDMA_READ;
      opcodes[WR_ATOMIC_CMP_AND_SWP] = hasAtomics ? ATOMIC_CS : (byte) -Errno.EOPNOTSUPP;
      opcodes[WR_ATOMIC_FETCH_AND_ADD] = hasAtomics ? ATOMIC_FA : (byte) -Errno.EOPNOTSUPP;
    }
    return opcodes;
  }
}
