package dev.verbena.flow;

import dev.verbena.NativeConstant;
import dev.verbena.raw.rdma_h;

/** The type of a flow rule: {@code enum ibv_flow_attr_type}. */
public enum FlowType implements NativeConstant {
  /** Packets that match the headers of the rule. */
  NORMAL(rdma_h.IBV_FLOW_ATTR_NORMAL()),
  /** All packets that match no other rule. */
  ALL_DEFAULT(rdma_h.IBV_FLOW_ATTR_ALL_DEFAULT()),
  /** All multicast packets that match no other rule. */
  MC_DEFAULT(rdma_h.IBV_FLOW_ATTR_MC_DEFAULT()),
  /** A copy of all packets of the port. */
  SNIFFER(rdma_h.IBV_FLOW_ATTR_SNIFFER());

  private final int code;

  FlowType(int code) {
    this.code = code;
  }

  @Override
  public int code() {
    return code;
  }
}
