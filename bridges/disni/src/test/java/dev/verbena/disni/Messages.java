package dev.verbena.disni;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import org.junit.jupiter.api.function.Executable;

/** Assertions on the exceptions of DiSNI's interface. */
final class Messages {
  private Messages() {}

  static void assertFails(String message, Executable call) {
    String actual = assertThrows(IOException.class, call).getMessage();
    assertTrue(actual.contains(message), actual);
  }
}
