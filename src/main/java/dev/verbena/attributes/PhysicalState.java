package dev.verbena.attributes;

import dev.verbena.NativeConstant;

/** The physical state of a port, with the codes of the InfiniBand specification. */
public enum PhysicalState implements NativeConstant {
  /** Sleep. */
  SLEEP(1, "sleep"),
  /** Polling: the port waits for the other end of the link. */
  POLLING(2, "polling"),
  /** Disabled. */
  DISABLED(3, "disabled"),
  /** Training: both ends negotiate width and speed. */
  TRAINING(4, "port configuration training"),
  /** The link is up. */
  LINK_UP(5, "link up"),
  /** The link was lost and is recovering. */
  ERROR_RECOVERY(6, "link error recovery"),
  /** The link is being tested. */
  TEST(7, "phy test"),
  /** A code that this library does not know. */
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

  /** {@return the name of the state, such as {@code link up}} */
  public String text() {
    return text;
  }
}
