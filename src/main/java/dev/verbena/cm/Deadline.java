package dev.verbena.cm;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.internal.time.Time;
import java.time.Duration;

/** The end of a wait. */
final class Deadline {
  /** A timeout that is unlimited. */
  static final Duration FOR_EVER = Duration.ofDays(100_000);

  /** The maximum timeout of librdmacm. */
  private static final Duration LONGEST = Duration.ofMillis(Integer.MAX_VALUE);

  /** No deadline. */
  static final Deadline NEVER = new Deadline(Long.MAX_VALUE);

  private final long start = Time.now();
  private final long nanos;

  private Deadline(long nanos) {
    this.nanos = nanos;
  }

  /** Returns the exception of an operation that did not complete before this deadline. */
  RdmaTimeoutException missedBy(String doing) {
    return new RdmaTimeoutException(doing, Duration.ofNanos(nanos));
  }

  static Deadline after(Duration timeout) {
    if (timeout.isNegative()) {
      throw new IllegalArgumentException("timeout must not be negative: " + timeout);
    }
    return timeout.compareTo(FOR_EVER) >= 0 ? NEVER : new Deadline(timeout.toNanos());
  }

  boolean isOver() {
    return left() <= 0;
  }

  /** Returns the remaining time, zero after the deadline. */
  Duration remaining() {
    return Duration.ofNanos(remainingNanos());
  }

  /** Returns the remaining time, zero after the deadline. */
  long remainingNanos() {
    return Math.max(0, left());
  }

  private long left() {
    return nanos == Long.MAX_VALUE ? nanos : nanos - (Time.now() - start);
  }

  /**
   * Returns the milliseconds of a timeout as an int; a longer timeout is limited to the maximum.
   */
  static int millis(Duration timeout) {
    if (!timeout.isPositive()) {
      throw new IllegalArgumentException("timeout must be positive: " + timeout);
    }
    return timeout.compareTo(LONGEST) >= 0
        ? Integer.MAX_VALUE
        : (int) Math.max(1, timeout.toMillis());
  }
}
