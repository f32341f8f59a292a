package dev.verbena.internal.mlx5;

import dev.verbena.raw.rdma_h;
import java.util.Arrays;

/** The completion status of each syndrome of an error completion, as libmlx5 maps them. */
final class Syndromes {
  private static final int SYNDROMES = 0x23;
  private static final int[] STATUS = new int[SYNDROMES];

  static {
    Arrays.fill(STATUS, rdma_h.IBV_WC_GENERAL_ERR());
    STATUS[0x01] = rdma_h.IBV_WC_LOC_LEN_ERR();
    STATUS[0x02] = rdma_h.IBV_WC_LOC_QP_OP_ERR();
    STATUS[0x04] = rdma_h.IBV_WC_LOC_PROT_ERR();
    STATUS[0x05] = rdma_h.IBV_WC_WR_FLUSH_ERR();
    STATUS[0x06] = rdma_h.IBV_WC_MW_BIND_ERR();
    STATUS[0x10] = rdma_h.IBV_WC_BAD_RESP_ERR();
    STATUS[0x11] = rdma_h.IBV_WC_LOC_ACCESS_ERR();
    STATUS[0x12] = rdma_h.IBV_WC_REM_INV_REQ_ERR();
    STATUS[0x13] = rdma_h.IBV_WC_REM_ACCESS_ERR();
    STATUS[0x14] = rdma_h.IBV_WC_REM_OP_ERR();
    STATUS[0x15] = rdma_h.IBV_WC_RETRY_EXC_ERR();
    STATUS[0x16] = rdma_h.IBV_WC_RNR_RETRY_EXC_ERR();
    STATUS[0x22] = rdma_h.IBV_WC_REM_ABORT_ERR();
  }

  private Syndromes() {}

  /** Returns the value of {@code enum ibv_wc_status} of a syndrome of eight bits. */
  static int status(int syndrome) {
    return syndrome < SYNDROMES ? STATUS[syndrome] : rdma_h.IBV_WC_GENERAL_ERR();
  }
}
