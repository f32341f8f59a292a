package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** What packets a GID is for: {@code enum ibv_gid_type}. */
public enum GidType implements Codes.Code {
  /** InfiniBand. */
  IB(rdma_h.IBV_GID_TYPE_IB(), "IB"),
  /** RoCE version 1: Ethernet frames of a type of their own, not routable. */
  ROCE_V1(rdma_h.IBV_GID_TYPE_ROCE_V1(), "RoCE v1"),
  /** RoCE version 2: UDP packets, to port 4791. */
  ROCE_V2(rdma_h.IBV_GID_TYPE_ROCE_V2(), "RoCE v2"),
  /** A type that is newer than this library. */
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

  /**
   * The type in words.
   *
   * @return such as {@code RoCE v2}
   */
  public String text() {
    return text;
  }
}
