package dev.verbena.efa;

import dev.verbena.NativeFlag;

/**
 * An option of an SRD queue pair: the flags of {@code efadv_qp_init_attr}, whose names have the
 * prefix {@code EFADV_QP_FLAGS_}.
 */
public enum EfaQueuePairFlag implements NativeFlag {
  /**
   * RDMA writes with immediate data of the remote side consume no receive request here: their
   * completions are unsolicited, and have no id.
   */
  UNSOLICITED_WRITE_RECV(1),
  /** RDMA writes can have inline data. The entries of the send queue are twice as large then. */
  INLINE_WRITE(2);

  private final int bit;

  EfaQueuePairFlag(int bit) {
    this.bit = bit;
  }

  @Override
  public long bit() {
    return bit;
  }
}
