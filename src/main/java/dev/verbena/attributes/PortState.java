package dev.verbena.attributes;

import dev.verbena.NativeConstant;
import dev.verbena.raw.rdma_h;

/** The logical state of a port: {@code enum ibv_port_state}. */
public enum PortState implements NativeConstant {
  /** No state change; only used in requests. */
  NOP(rdma_h.IBV_PORT_NOP(), "no state change (NOP)"),
  /** The link is down. */
  DOWN(rdma_h.IBV_PORT_DOWN(), "down"),
  /** The link is up, but not configured by the subnet manager. */
  INIT(rdma_h.IBV_PORT_INIT(), "init"),
  /** The port is configured, but does not transfer data yet. */
  ARMED(rdma_h.IBV_PORT_ARMED(), "armed"),
  /** The port is active. */
  ACTIVE(rdma_h.IBV_PORT_ACTIVE(), "active"),
  /** The link was lost a moment ago and is still treated as active. */
  ACTIVE_DEFER(rdma_h.IBV_PORT_ACTIVE_DEFER(), "active defer"),
  /** A state that this library does not know. */
  UNKNOWN(-1, "unknown");

  private final int code;
  private final String text;

  PortState(int code, String text) {
    this.code = code;
    this.text = text;
  }

  @Override
  public int code() {
    return code;
  }

  /** {@return rdma-core's description of the state: {@code ibv_port_state_str}} */
  public String text() {
    return text;
  }
}
