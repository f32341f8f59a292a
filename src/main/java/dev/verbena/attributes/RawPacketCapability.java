package dev.verbena.attributes;

import dev.verbena.NativeFlag;
import dev.verbena.raw.rdma_h;

/** A raw packet capability of a device: {@code enum ibv_raw_packet_caps}. */
public enum RawPacketCapability implements NativeFlag {
  /** Removal of the VLAN tag of received packets. */
  CVLAN_STRIPPING(rdma_h.IBV_RAW_PACKET_CAP_CVLAN_STRIPPING()),
  /** Receiving the frame check sequence (FCS). */
  SCATTER_FCS(rdma_h.IBV_RAW_PACKET_CAP_SCATTER_FCS()),
  /** IP checksum offload for sends. */
  IP_CSUM(rdma_h.IBV_RAW_PACKET_CAP_IP_CSUM()),
  /** Delay of packets until a receive request is posted. */
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
