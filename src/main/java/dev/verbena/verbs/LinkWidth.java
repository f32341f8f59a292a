package dev.verbena.verbs;

/** How many lanes a port's link has, as InfiniBand numbers it. */
public enum LinkWidth implements Codes.Code {
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
  /** A number without a meaning; ports that are down report some. */
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

  /**
   * The number of lanes.
   *
   * @return 1 to 12, or 0 if unknown
   */
  public int lanes() {
    return lanes;
  }

  /**
   * The width in words.
   *
   * @return such as {@code 4X}
   */
  public String text() {
    return lanes == 0 ? "unknown" : lanes + "X";
  }
}
