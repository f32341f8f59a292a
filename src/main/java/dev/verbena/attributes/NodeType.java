package dev.verbena.attributes;

import dev.verbena.NativeConstant;
import dev.verbena.raw.rdma_h;

/** The node type of a device: {@code enum ibv_node_type}. */
public enum NodeType implements NativeConstant {
  /** A channel adapter, of InfiniBand or RoCE. */
  CA(rdma_h.IBV_NODE_CA(), "InfiniBand channel adapter"),
  /** A switch. */
  SWITCH(rdma_h.IBV_NODE_SWITCH(), "InfiniBand switch"),
  /** A router. */
  ROUTER(rdma_h.IBV_NODE_ROUTER(), "InfiniBand router"),
  /** An iWARP adapter. */
  RNIC(rdma_h.IBV_NODE_RNIC(), "iWARP NIC"),
  /** A usNIC adapter. */
  USNIC(rdma_h.IBV_NODE_USNIC(), "usNIC"),
  /** A usNIC adapter over UDP. */
  USNIC_UDP(rdma_h.IBV_NODE_USNIC_UDP(), "usNIC UDP"),
  /** An adapter of no other type, such as EFA. */
  UNSPECIFIED(rdma_h.IBV_NODE_UNSPECIFIED(), "unspecified"),
  /** A type that this library does not know. */
  UNKNOWN(rdma_h.IBV_NODE_UNKNOWN(), "unknown");

  private final int code;
  private final String text;

  NodeType(int code, String text) {
    this.code = code;
    this.text = text;
  }

  @Override
  public int code() {
    return code;
  }

  /** {@return rdma-core's description of the node type: {@code ibv_node_type_str}} */
  public String text() {
    return text;
  }
}
