package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** What a device can do with raw packets: {@code enum ibv_raw_packet_caps}. */
public enum RawPacketCapability implements Flags.Flag {
  /** VLAN tags can be taken off received packets. */
  CVLAN_STRIPPING(rdma_h.IBV_RAW_PACKET_CAP_CVLAN_STRIPPING()),
  /** The frame check sequence can be received. */
  SCATTER_FCS(rdma_h.IBV_RAW_PACKET_CAP_SCATTER_FCS()),
  /** IP checksums can be computed for sends. */
  IP_CSUM(rdma_h.IBV_RAW_PACKET_CAP_IP_CSUM()),
  /** Packets can wait for a receive to be posted. */
  DELAY_DROP(rdma_h.IBV_RAW_PACKET_CAP_DELAY_DROP());

  private final long bit;

  RawPacketCapability(long bit) {
    this.bit = bit;
  }

  @Override
  public long bit() {
    return bit;
  }
}
