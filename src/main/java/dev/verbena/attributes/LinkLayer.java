package dev.verbena.attributes;

import dev.verbena.NativeConstant;
import dev.verbena.raw.rdma_h;

/** The link layer of a port. */
public enum LinkLayer implements NativeConstant {
  /** Not reported; InfiniBand on old kernels. */
  UNSPECIFIED(rdma_h.IBV_LINK_LAYER_UNSPECIFIED(), "unspecified"),
  /** InfiniBand: destinations are addressed by LID. */
  INFINIBAND(rdma_h.IBV_LINK_LAYER_INFINIBAND(), "InfiniBand"),
  /** Ethernet (RoCE, iWARP): destinations are addressed by GID. */
  ETHERNET(rdma_h.IBV_LINK_LAYER_ETHERNET(), "Ethernet"),
  /** A link layer that this library does not know. */
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

  /** {@return the name of the link layer, such as {@code Ethernet}} */
  public String text() {
    return text;
  }
}
