package dev.verbena.soft.device;

import dev.verbena.internal.time.Uninterrupted;
import java.util.function.BooleanSupplier;

/** Waiting that an interrupt does not end. */
public final class Waiting {
  private Waiting() {}

  /** Waits until something holds; who changes that holds a monitor, and notifies it. */
  public static void until(Object monitor, BooleanSupplier condition) {
    synchronized (monitor) {
      boolean _ = Uninterrupted.awaitNotification(monitor, condition, Long.MAX_VALUE);
    }
  }
}
