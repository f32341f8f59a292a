package dev.verbena.testing;

import java.util.function.BooleanSupplier;

/** Waits for what another thread does. */
public final class Await {
  private static final long PATIENCE = 120_000_000_000L;

  private Await() {}

  /** Returns once a condition holds; fails if that takes too long. */
  public static void until(String what, BooleanSupplier condition) {
    long start = System.nanoTime();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - start > PATIENCE) {
        throw new AssertionError("waited in vain: " + what);
      }
      Thread.onSpinWait();
    }
  }
}
