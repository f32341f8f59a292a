package dev.verbena.internal;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.internal.time.Time;
import java.time.Duration;

/** The end of a wait. */
public final class Deadline {
  /** A timeout that is unlimited. */
  public static final Duration FOR_EVER = Duration.ofDays(100_000);

  /** The maximum timeout of librdmacm. */
  private static final Duration LONGEST = Duration.ofMillis(Integer.MAX_VALUE);

  /** No deadline. */
  public static final Deadline NEVER = new Deadline(Long.MAX_VALUE);

  private final long start = Time.now();
  private final long nanos;

  private Deadline(long nanos) {
    this.nanos = nanos;
  }

  /** Returns the exception of an operation that did not complete before this deadline. */
  public RdmaTimeoutException missedBy(String doing) {
    return new RdmaTimeoutException(doing, Duration.ofNanos(nanos));
  }

  public static Deadline after(Duration timeout) {
    if (timeout.isNegative()) {
      throw new IllegalArgumentException("timeout must not be negative: " + timeout);
    }
    return timeout.compareTo(FOR_EVER) >= 0 ? NEVER : new Deadline(timeout.toNanos());
  }

  public boolean isOver() {
    return left() <= 0;
  }

  /** Returns the remaining time, zero after the deadline. */
  public Duration remaining() {
    return Duration.ofNanos(remainingNanos());
  }

  /** Returns the remaining time, zero after the deadline. */
  public long remainingNanos() {
    return Math.max(0, left());
  }

  private long left() {
    return nanos == Long.MAX_VALUE ? nanos : nanos - (Time.now() - start);
  }

  /**
   * Returns the milliseconds of a timeout as an int; a longer timeout is limited to the maximum.
   */
  public static int millis(Duration timeout) {
    if (!timeout.isPositive()) {
      throw new IllegalArgumentException("timeout must be positive: " + timeout);
    }
    return timeout.compareTo(LONGEST) >= 0
        ? Integer.MAX_VALUE
        : (int) Math.max(1, timeout.toMillis());
  }
}
