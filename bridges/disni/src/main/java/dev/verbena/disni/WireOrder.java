package dev.verbena.disni;

/** Immediate data: DiSNI has it in the order of the wire, Verbena as a value. */
final class WireOrder {
  private WireOrder() {}

  /** Converts in either direction; supported machines are little-endian. */
  static int of(int immediate) {
    return Integer.reverseBytes(immediate);
  }
}
