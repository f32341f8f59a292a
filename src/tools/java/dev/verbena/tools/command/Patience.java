package dev.verbena.tools.command;

import java.time.Duration;
import java.util.function.BooleanSupplier;

/** Timeouts: of outstanding operations, and of a peer. */
public final class Patience {
  /** Within which a peer that is there answers. */
  public static final Duration WITH_PEER = Duration.ofSeconds(60);

  private static final Duration LEAST = Duration.ofSeconds(10);

  /** Slower than any device: Soft-RoCE transfers 60 MiB/s in an emulated virtual machine. */
  private static final long BYTES_PER_SECOND = 4 << 20;

  private Patience() {}

  public static Duration forBytes(long bytes) {
    return forBytes(LEAST, bytes);
  }

  /** Returns the timeout of a transfer: some time, and that which the bytes take. */
  public static Duration forBytes(Duration least, long bytes) {
    return least.plusSeconds(bytes / BYTES_PER_SECOND);
  }

  /**
   * Polls until a condition holds, which a completion makes true.
   *
   * @throws IllegalStateException if it does not in time, or the thread is interrupted
   */
  public static void spin(BooleanSupplier condition, Duration limit) {
    long nanos = limit.toNanos();
    long start = System.nanoTime();
    for (int spins = 1; !condition.getAsBoolean(); spins++) {
      if (spins % 1024 == 0) {
        if (System.nanoTime() - start > nanos) {
          throw tooLate(limit);
        }
        if (Thread.currentThread().isInterrupted()) {
          throw new IllegalStateException("interrupted");
        }
      }
      Thread.onSpinWait();
    }
  }

  /** Returns the exception for a completion that did not come in time. */
  public static IllegalStateException tooLate(Duration limit) {
    return new IllegalStateException("no completion within " + limit.toSeconds() + " s");
  }
}
