package dev.verbena.cm;

import java.time.Duration;

/** When a wait must end. */
final class Deadline {
  /** A timeout that stands for none. */
  static final Duration FOR_EVER = Duration.ofDays(100_000);

  /** No end. */
  static final Deadline NEVER = new Deadline(Long.MAX_VALUE);

  private final long start = System.nanoTime();
  private final long nanos;

  private Deadline(long nanos) {
    this.nanos = nanos;
  }

  static Deadline after(Duration timeout) {
    if (timeout.isNegative()) {
      throw new IllegalArgumentException("timeout must not be negative: " + timeout);
    }
    return new Deadline(timeout.compareTo(FOR_EVER) >= 0 ? Long.MAX_VALUE : timeout.toNanos());
  }

  boolean isOver() {
    return left() <= 0;
  }

  /** What is left of the time; zero when it is over. */
  Duration remaining() {
    return Duration.ofNanos(remainingNanos());
  }

  /** What is left of the time; zero when it is over. */
  long remainingNanos() {
    return Math.max(0, left());
  }

  private long left() {
    return nanos == Long.MAX_VALUE ? nanos : nanos - (System.nanoTime() - start);
  }
}
