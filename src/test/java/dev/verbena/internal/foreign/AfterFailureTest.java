package dev.verbena.internal.foreign;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class AfterFailureTest {
  private final Exception failure = new Exception("failure");

  @Test
  void theFailureSuppressesThatOfClosing() {
    IllegalStateException closing = new IllegalStateException("closing");
    AfterFailure.close(
        failure,
        () -> {
          throw closing;
        });
    assertArrayEquals(new Throwable[] {closing}, failure.getSuppressed());
  }

  @Test
  void theSameErrorIsNotSuppressedByItself() {
    OutOfMemoryError error = new OutOfMemoryError();
    AfterFailure.close(
        error,
        () -> {
          throw error;
        });
    assertEquals(0, error.getSuppressed().length);
  }
}
