package dev.verbena.values;

import dev.verbena.NativeFlag;
import dev.verbena.raw.rdma_h;

/** A flag of a work completion: {@code enum ibv_wc_flags}. */
public enum CompletionFlag implements NativeFlag {
  /** The first 40 bytes of the receive buffer are the global routing header (GRH). */
  GRH(rdma_h.IBV_WC_GRH()),
  /** The completion contains immediate data. */
  WITH_IMM(rdma_h.IBV_WC_WITH_IMM()),
  /** The device verified the checksums of the packet. */
  IP_CSUM_OK(rdma_h.IBV_WC_IP_CSUM_OK()),
  /** The remote side invalidated a key of local memory. */
  WITH_INV(rdma_h.IBV_WC_WITH_INV()),
  /** The tag list must be synchronized. */
  TM_SYNC_REQ(rdma_h.IBV_WC_TM_SYNC_REQ()),
  /** A tag matched. */
  TM_MATCH(rdma_h.IBV_WC_TM_MATCH()),
  /** The data of a matched tag is written. */
  TM_DATA_VALID(rdma_h.IBV_WC_TM_DATA_VALID());

  private final long bit;

  CompletionFlag(int bit) {
    this.bit = bit;
  }

  @Override
  public long bit() {
    return bit;
  }
}
