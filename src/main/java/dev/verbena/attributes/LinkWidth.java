package dev.verbena.attributes;

import dev.verbena.NativeConstant;

/** The number of lanes of a link, with the codes of the InfiniBand specification. */
public enum LinkWidth implements NativeConstant {
  /** One lane. */
  X1(1, 1),
  /** Two lanes. */
  X2(16, 2),
  /** Four lanes. */
  X4(2, 4),
  /** Eight lanes. */
  X8(4, 8),
  /** Twelve lanes. */
  X12(8, 12),
  /** An undefined code, which some ports report while they are down. */
  UNKNOWN(-1, 0);

  private final int code;
  private final int lanes;

  LinkWidth(int code, int lanes) {
    this.code = code;
    this.lanes = lanes;
  }

  @Override
  public int code() {
    return code;
  }

  /** {@return the number of lanes, 1 to 12, or 0 if unknown} */
  public int lanes() {
    return lanes;
  }

  /** {@return the width as text, such as {@code 4X}} */
  public String text() {
    return lanes == 0 ? "unknown" : lanes + "X";
  }
}
