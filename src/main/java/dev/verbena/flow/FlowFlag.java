package dev.verbena.flow;

import dev.verbena.NativeFlag;
import dev.verbena.raw.rdma_h;

/** A flag of a flow rule: {@code enum ibv_flow_flags}. */
public enum FlowFlag implements NativeFlag {
  /** Rules of lower priority also receive the packet. */
  DONT_TRAP(rdma_h.IBV_FLOW_ATTR_FLAGS_DONT_TRAP()),
  /** The rule applies to sent packets. */
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
