package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.fail;

import java.time.Duration;
import java.util.function.BooleanSupplier;

/** Waits for conditions. No test passes or fails because of a time, unless nothing goes on. */
final class Until {
  private static final Duration STALL_LIMIT = Duration.ofSeconds(100);

  private Until() {}

  static void holds(String condition, BooleanSupplier holds) throws InterruptedException {
    long start = System.nanoTime();
    while (!holds.getAsBoolean()) {
      if (System.nanoTime() - start > STALL_LIMIT.toNanos()) {
        fail("does not become true: " + condition);
      }
      Thread.sleep(1);
    }
  }
}
