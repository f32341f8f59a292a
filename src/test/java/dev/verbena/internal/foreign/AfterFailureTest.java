package dev.verbena.internal.foreign;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
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
  void theFirstFailureSuppressesAllOthers() {
    int count = 20_000;
    List<IllegalStateException> failures = new ArrayList<>();
    Runnable failing =
        () -> {
          failures.add(new IllegalStateException());
          throw failures.getLast();
        };
    IllegalStateException first =
        assertThrows(
            IllegalStateException.class,
            () -> AfterFailure.closeAll(Collections.nCopies(count, failing).iterator()));
    assertEquals(count, failures.size());
    assertSame(failures.getFirst(), first);
    assertEquals(failures.subList(1, count), List.of(first.getSuppressed()));
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
