package dev.verbena.soft.device;

import java.util.function.BooleanSupplier;

/** Waiting that an interrupt does not end. */
public final class Waiting {
  private Waiting() {}

  /** Waits until something holds; who changes that holds a monitor, and notifies it. */
  public static void until(Object monitor, BooleanSupplier condition) {
    boolean interrupted = false;
    synchronized (monitor) {
      while (!condition.getAsBoolean()) {
        try {
          monitor.wait();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
