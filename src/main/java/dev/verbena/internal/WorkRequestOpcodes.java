package dev.verbena.internal;

/**
 * The texts of {@code enum ibv_wr_opcode}: verbs.h declares the function, but no library exports
 * it.
 */
final class WorkRequestOpcodes {
  private static final String[] TEXTS = {
    "RDMA write",
    "RDMA write with immediate",
    "send",
    "send with immediate",
    "RDMA read",
    "atomic compare and swap",
    "atomic fetch and add",
    "local invalidate",
    "bind memory window",
    "send with invalidate",
    "TSO",
    "driver specific 1",
    null,
    null,
    "flush",
    "atomic write",
  };

  private WorkRequestOpcodes() {}

  static String text(int opcode) {
    String text = opcode >= 0 && opcode < TEXTS.length ? TEXTS[opcode] : null;
    return text == null ? "unknown" : text;
  }
}
