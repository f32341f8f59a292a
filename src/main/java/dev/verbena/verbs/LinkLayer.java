package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** What is below a port's packets. */
public enum LinkLayer implements Codes.Code {
  /** Not told; InfiniBand on old kernels. */
  UNSPECIFIED(rdma_h.IBV_LINK_LAYER_UNSPECIFIED(), "unspecified"),
  /** InfiniBand: peers are addressed by LID. */
  INFINIBAND(rdma_h.IBV_LINK_LAYER_INFINIBAND(), "InfiniBand"),
  /** Ethernet (RoCE, iWARP): peers are addressed by GID. */
  ETHERNET(rdma_h.IBV_LINK_LAYER_ETHERNET(), "Ethernet"),
  /** A kind that is newer than this library. */
  UNKNOWN(-1, "unknown");

  private final int code;
  private final String text;

  LinkLayer(int code, String text) {
    this.code = code;
    this.text = text;
  }

  @Override
  public int code() {
    return code;
  }

  /**
   * The link layer in words.
   *
   * @return such as {@code Ethernet}
   */
  public String text() {
    return text;
  }
}
