package dev.verbena.address;

import dev.verbena.NativeConstant;
import dev.verbena.raw.rdma_h;

/** The type of packets that use a GID: {@code enum ibv_gid_type}. */
public enum GidType implements NativeConstant {
  /** InfiniBand. */
  IB(rdma_h.IBV_GID_TYPE_IB(), "IB"),
  /** RoCE version 1: Ethernet frames with their own Ethertype, not routable. */
  ROCE_V1(rdma_h.IBV_GID_TYPE_ROCE_V1(), "RoCE v1"),
  /** RoCE version 2: UDP packets with destination port 4791, routable. */
  ROCE_V2(rdma_h.IBV_GID_TYPE_ROCE_V2(), "RoCE v2"),
  /** A type that this library does not know. */
  UNKNOWN(-1, "unknown");

  private final int code;
  private final String text;

  GidType(int code, String text) {
    this.code = code;
    this.text = text;
  }

  @Override
  public int code() {
    return code;
  }

  /** {@return the name of the type, such as {@code RoCE v2}} */
  public String text() {
    return text;
  }
}
