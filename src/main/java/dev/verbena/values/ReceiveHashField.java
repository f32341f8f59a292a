package dev.verbena.values;

import dev.verbena.NativeFlag;
import dev.verbena.raw.rdma_h;

/** A packet field that is hashed to select the work queue: {@code enum ibv_rx_hash_fields}. */
public enum ReceiveHashField implements NativeFlag {
  /** The source IPv4 address. */
  SRC_IPV4(rdma_h.IBV_RX_HASH_SRC_IPV4()),
  /** The destination IPv4 address. */
  DST_IPV4(rdma_h.IBV_RX_HASH_DST_IPV4()),
  /** The source IPv6 address. */
  SRC_IPV6(rdma_h.IBV_RX_HASH_SRC_IPV6()),
  /** The destination IPv6 address. */
  DST_IPV6(rdma_h.IBV_RX_HASH_DST_IPV6()),
  /** The source TCP port. */
  SRC_PORT_TCP(rdma_h.IBV_RX_HASH_SRC_PORT_TCP()),
  /** The destination TCP port. */
  DST_PORT_TCP(rdma_h.IBV_RX_HASH_DST_PORT_TCP()),
  /** The source UDP port. */
  SRC_PORT_UDP(rdma_h.IBV_RX_HASH_SRC_PORT_UDP()),
  /** The destination UDP port. */
  DST_PORT_UDP(rdma_h.IBV_RX_HASH_DST_PORT_UDP()),
  /** The IPsec security parameters index (SPI). */
  IPSEC_SPI(rdma_h.IBV_RX_HASH_IPSEC_SPI()),
  /** The fields of the inner packet of a tunnel. */
  INNER(rdma_h.IBV_RX_HASH_INNER());

  private final long bit;

  ReceiveHashField(int bit) {
    this.bit = Integer.toUnsignedLong(bit);
  }

  @Override
  public long bit() {
    return bit;
  }
}
