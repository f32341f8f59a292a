package dev.verbena.disni;

import java.io.IOException;

/** What DiSNI's stateful verb calls have in common. */
final class Call {
  private Call() {}

  /** Throws an exception if a call was freed. */
  static void requireValid(boolean valid, String what) throws IOException {
    if (!valid) {
      throw new IOException("the " + what + " was freed: create a new call");
    }
  }
}
