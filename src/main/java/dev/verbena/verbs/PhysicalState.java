package dev.verbena.verbs;

/** The physical state of a port's link, as InfiniBand numbers it. */
public enum PhysicalState implements Codes.Code {
  /** The port sleeps. */
  SLEEP(1, "sleep"),
  /** The port looks for a partner. */
  POLLING(2, "polling"),
  /** The port is switched off. */
  DISABLED(3, "disabled"),
  /** The partners agree on width and speed. */
  TRAINING(4, "port configuration training"),
  /** The link is there. */
  LINK_UP(5, "link up"),
  /** The link was lost and is being brought back. */
  ERROR_RECOVERY(6, "link error recovery"),
  /** The link is being tested. */
  TEST(7, "phy test"),
  /** A number without a meaning. */
  UNKNOWN(-1, "unknown");

  private final int code;
  private final String text;

  PhysicalState(int code, String text) {
    this.code = code;
    this.text = text;
  }

  @Override
  public int code() {
    return code;
  }

  /**
   * The state in words.
   *
   * @return such as {@code link up}
   */
  public String text() {
    return text;
  }
}
