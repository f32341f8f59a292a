package dev.verbena.attributes;

import dev.verbena.verbs.CompletionCursor;
import dev.verbena.verbs.Context;
import java.time.Duration;

/**
 * The clock of a device: converts differences of its ticks to nanoseconds. The ticks are those of
 * {@link Context#rawClock} and of {@link CompletionCursor#timestamp}. Get it with {@link
 * Context#clock}; it remains valid after the context is closed.
 *
 * {@snippet :
 * DeviceClock clock = context.clock();
 * long posted = context.rawClock();
 * int count = queuePair.post(sends);
 * long nanos = clock.nanosBetween(posted, cursor.timestamp());
 * }
 *
 * <p>A counter of few bits starts again at 0 after a {@link #period}: only differences that are
 * shorter can be computed.
 */
public final class DeviceClock {
  private static final long NANOS_OF_A_MILLISECOND = 1_000_000;

  private final long kilohertz;
  private final long mask;

  /**
   * Creates a clock.
   *
   * @param kilohertz the frequency in kHz
   * @param mask the bits of a time
   * @throws IllegalArgumentException if the frequency is not positive
   */
  public DeviceClock(long kilohertz, long mask) {
    if (kilohertz <= 0) {
      throw new IllegalArgumentException("the frequency must be positive: " + kilohertz);
    }
    this.kilohertz = kilohertz;
    this.mask = mask;
  }

  /** {@return the frequency in kHz, ticks per millisecond: {@code hca_core_clock}} */
  public long kilohertz() {
    return kilohertz;
  }

  /** {@return the mask of the valid bits of the ticks: {@code completion_timestamp_mask}} */
  public long mask() {
    return mask;
  }

  /**
   * {@return the nanoseconds from one reading of the clock to another, also if it started again at
   * 0 in between}
   *
   * @param earlier the ticks of the first reading
   * @param later the ticks of the second, less than a {@link #period} later
   */
  public long nanosBetween(long earlier, long later) {
    return nanos(later - earlier & mask);
  }

  /**
   * {@return the time after which the ticks start again at 0; at most that of 2^63 nanoseconds, 292
   * years}
   */
  public Duration period() {
    return Duration.ofNanos(nanos(mask));
  }

  /** Converts without an overflow of the product; saturates. */
  private long nanos(long ticks) {
    long milliseconds = Long.divideUnsigned(ticks, kilohertz);
    long rest = Long.remainderUnsigned(ticks, kilohertz) * NANOS_OF_A_MILLISECOND / kilohertz;
    return milliseconds > (Long.MAX_VALUE - NANOS_OF_A_MILLISECOND) / NANOS_OF_A_MILLISECOND
        ? Long.MAX_VALUE
        : milliseconds * NANOS_OF_A_MILLISECOND + rest;
  }

  @Override
  public String toString() {
    return "clock of " + kilohertz + " kHz, mask 0x" + Long.toHexString(mask);
  }
}
