package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** The logical state of a port: {@code enum ibv_port_state}. */
public enum PortState implements Codes.Code {
  /** No state, only found in requests. */
  NOP(rdma_h.IBV_PORT_NOP(), "no state change (NOP)"),
  /** No link. */
  DOWN(rdma_h.IBV_PORT_DOWN(), "down"),
  /** A link, but the subnet manager has not configured it. */
  INIT(rdma_h.IBV_PORT_INIT(), "init"),
  /** Configured, but not yet to carry data. */
  ARMED(rdma_h.IBV_PORT_ARMED(), "armed"),
  /** Ready for use. */
  ACTIVE(rdma_h.IBV_PORT_ACTIVE(), "active"),
  /** Link lost a moment ago; still counted as active. */
  ACTIVE_DEFER(rdma_h.IBV_PORT_ACTIVE_DEFER(), "active defer"),
  /** A state that is newer than this library. */
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

  /**
   * What {@code ibv_port_state_str} says.
   *
   * @return the text of rdma-core
   */
  public String text() {
    return text;
  }
}
