package dev.verbena.tools;

import java.time.Duration;

/** The timeout of outstanding operations. */
final class Patience {
  private static final Duration LEAST = Duration.ofSeconds(10);

  /** Slower than any device: Soft-RoCE transfers 60 MiB/s in an emulated virtual machine. */
  private static final long BYTES_PER_SECOND = 4 << 20;

  private Patience() {}

  static Duration forBytes(long bytes) {
    return LEAST.plusSeconds(bytes / BYTES_PER_SECOND);
  }
}
