package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.VerbsException;
import org.junit.jupiter.api.function.Executable;

/** What a device, its kernel or its library cannot do is said clearly. */
final class Refusal {
  private Refusal() {}

  /** Asserts that something is not supported, and that the message says what, in these words. */
  static void of(Executable verb, String... words) {
    VerbsException thrown = assertThrows(VerbsException.class, verb);
    assertTrue(thrown.isUnsupported(), thrown::getMessage);
    boolean newer = thrown.getMessage().contains("needs rdma-core");
    for (String word : words) {
      assertTrue(newer || thrown.getMessage().contains(word), thrown::getMessage);
    }
  }
}
