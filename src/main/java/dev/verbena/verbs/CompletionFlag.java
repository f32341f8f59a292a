package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** What a completion tells besides its status: {@code enum ibv_wc_flags}. */
public enum CompletionFlag implements Flags.Flag {
  /** A global routing header lies before the message, in the first 40 bytes of the receive. */
  GRH(rdma_h.IBV_WC_GRH()),
  /** There is immediate data. */
  WITH_IMM(rdma_h.IBV_WC_WITH_IMM()),
  /** The device found the checksums of the packet right. */
  IP_CSUM_OK(rdma_h.IBV_WC_IP_CSUM_OK()),
  /** The peer made a key of this side invalid. */
  WITH_INV(rdma_h.IBV_WC_WITH_INV()),
  /** The matching list must be synchronised. */
  TM_SYNC_REQ(rdma_h.IBV_WC_TM_SYNC_REQ()),
  /** A tag matched. */
  TM_MATCH(rdma_h.IBV_WC_TM_MATCH()),
  /** A matched tag's data is in place. */
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
