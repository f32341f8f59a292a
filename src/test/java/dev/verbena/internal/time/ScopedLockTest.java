package dev.verbena.internal.time;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class ScopedLockTest {
  private final ScopedLock lock = new ScopedLock();

  @Test
  void isHeldWithinTheStatement() {
    try (var _ = lock.hold()) {
      assertTrue(lock.isHeldByCurrentThread());
    }
    assertFalse(lock.isLocked());
  }

  @Test
  void isReleasedByAFailure() {
    assertThrows(
        UnsupportedOperationException.class,
        () -> {
          try (var _ = lock.hold()) {
            throw new UnsupportedOperationException();
          }
        });
    assertFalse(lock.isLocked());
  }
}
