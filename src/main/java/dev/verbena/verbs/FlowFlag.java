package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** What is special about a rule: {@code enum ibv_flow_flags}. */
public enum FlowFlag implements Flags.Flag {
  /** Rules of lower priority see the packet too. */
  DONT_TRAP(rdma_h.IBV_FLOW_ATTR_FLAGS_DONT_TRAP()),
  /** The rule is about packets that leave. */
  EGRESS(rdma_h.IBV_FLOW_ATTR_FLAGS_EGRESS());

  private final long bit;

  FlowFlag(int bit) {
    this.bit = bit;
  }

  @Override
  public long bit() {
    return bit;
  }
}
