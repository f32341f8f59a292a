package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** Which packets a rule is about in the first place: {@code enum ibv_flow_attr_type}. */
public enum FlowType implements Codes.Code {
  /** Those that match its headers. */
  NORMAL(rdma_h.IBV_FLOW_ATTR_NORMAL()),
  /** All that no other rule takes. */
  ALL_DEFAULT(rdma_h.IBV_FLOW_ATTR_ALL_DEFAULT()),
  /** All multicast packets that no other rule takes. */
  MC_DEFAULT(rdma_h.IBV_FLOW_ATTR_MC_DEFAULT()),
  /** A copy of all that the port sees. */
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
