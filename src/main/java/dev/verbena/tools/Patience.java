package dev.verbena.tools;

import java.time.Duration;

/** Timeouts: of outstanding operations, and of a peer. */
final class Patience {
  /** Within which a peer that is there answers. */
  static final Duration WITH_PEER = Duration.ofSeconds(60);

  private static final Duration LEAST = Duration.ofSeconds(10);

  /** Slower than any device: Soft-RoCE transfers 60 MiB/s in an emulated virtual machine. */
  private static final long BYTES_PER_SECOND = 4 << 20;

  private Patience() {}

  static Duration forBytes(long bytes) {
    return LEAST.plusSeconds(bytes / BYTES_PER_SECOND);
  }
}
