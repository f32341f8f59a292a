package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** What a completion tells besides its status: {@code enum ibv_wc_flags}. */
public enum CompletionFlag implements Flags.Flag {
  /** A global routing header lies before the message, in the first 40 bytes of the receive. */
  GLOBAL_ROUTING_HEADER(rdma_h.IBV_WC_GRH()),
  /** There is immediate data. */
  IMMEDIATE(rdma_h.IBV_WC_WITH_IMM()),
  /** The device found the checksums of the packet right. */
  CHECKSUM_OK(rdma_h.IBV_WC_IP_CSUM_OK()),
  /** The peer made a key of this side invalid. */
  INVALIDATED(rdma_h.IBV_WC_WITH_INV()),
  /** The matching list must be synchronised. */
  TAG_SYNC_REQUEST(rdma_h.IBV_WC_TM_SYNC_REQ()),
  /** A tag matched. */
  TAG_MATCH(rdma_h.IBV_WC_TM_MATCH()),
  /** A matched tag's data is in place. */
  TAG_DATA_VALID(rdma_h.IBV_WC_TM_DATA_VALID());

  private final long bit;

  CompletionFlag(int bit) {
    this.bit = bit;
  }

  @Override
  public long bit() {
    return bit;
  }
}
