package dev.verbena.tools;

import java.time.Duration;

/** How long to wait for what is under way before something must be wrong. */
final class Patience {
  private static final Duration LEAST = Duration.ofSeconds(10);

  /** Slower than any device: Soft-RoCE moves 60 MiB, emulated down to the processor. */
  private static final long BYTES_PER_SECOND = 4 << 20;

  private Patience() {}

  static Duration forBytes(long bytes) {
    return LEAST.plusSeconds(bytes / BYTES_PER_SECOND);
  }
}
