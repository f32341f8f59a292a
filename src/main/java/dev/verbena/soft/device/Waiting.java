package dev.verbena.soft.device;

import dev.verbena.internal.time.Uninterrupted;
import java.util.function.BooleanSupplier;

/** Waiting that an interrupt does not end. */
public final class Waiting {
  private Waiting() {}

  /** Waits until something holds; who changes that holds a monitor, and notifies it. */
  public static void until(Object monitor, BooleanSupplier condition) {
    boolean _ =
        Uninterrupted.await(
            () -> {
              synchronized (monitor) {
                while (!condition.getAsBoolean()) {
                  monitor.wait();
                }
              }
              return true;
            });
  }
}
