package dev.verbena.values;

import dev.verbena.internal.Ranges;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A local ACK timeout: how long a reliable connection waits for an acknowledgement before it
 * retransmits ({@code ibv_qp_attr.timeout}).
 *
 * <p>The InfiniBand specification encodes it as a five-bit code <i>n</i> for 4.096 microseconds
 * times 2<sup><i>n</i></sup>; code 0 disables the timeout. A device may wait up to four times as
 * long. Together with the {@index "retry count"} it determines when a lost peer is detected, with
 * {@code IBV_WC_RETRY_EXC_ERR}.
 *
 * <p>See {@code ibv_modify_qp(3)}.
 */
public final class AckTimeout {
  /** No timeout: a lost packet is never retransmitted, and a lost peer is never detected. */
  public static final AckTimeout INFINITE = new AckTimeout(0);

  /** Code 14, 67 milliseconds: the default of this library and a common choice elsewhere. */
  public static final AckTimeout DEFAULT = new AckTimeout(14);

  private static final long UNIT_NANOS = 4096;
  private static final int LARGEST_CODE = 31;

  private final int code;

  private AckTimeout(int code) {
    this.code = code;
  }

  /**
   * {@return the shortest timeout that is at least as long as a duration, and up to twice as long}
   *
   * @param duration more than zero, at most 2.4 hours (code 31)
   * @throws IllegalArgumentException if the duration is not in that range
   */
  public static AckTimeout atLeast(Duration duration) {
    Objects.requireNonNull(duration, "duration");
    if (duration.isZero() || duration.isNegative()) {
      throw new IllegalArgumentException(
          "local ACK timeout must be positive: " + duration + "; INFINITE disables it");
    }
    for (int code = 1; code <= LARGEST_CODE; code++) {
      if (length(code).compareTo(duration) >= 0) {
        return new AckTimeout(code);
      }
    }
    throw new IllegalArgumentException(
        "local ACK timeout must be at most " + length(LARGEST_CODE) + ": " + duration);
  }

  /**
   * {@return the timeout of a code}
   *
   * @param code 0 to 31
   * @throws IllegalArgumentException if the code does not fit into five bits
   */
  public static AckTimeout ofCode(int code) {
    return new AckTimeout(Ranges.bits(code, 5, "a local ACK timeout"));
  }

  /** {@return the code of the InfiniBand specification, 0 to 31} */
  public int code() {
    return code;
  }

  /**
   * {@return the length of this timeout: 4.096 microseconds times 2<sup>code</sup>}
   *
   * @throws IllegalStateException if this is {@link #INFINITE}
   */
  public Duration toDuration() {
    if (code == 0) {
      throw new IllegalStateException("an infinite local ACK timeout has no duration");
    }
    return length(code);
  }

  private static Duration length(int code) {
    return Duration.ofNanos(UNIT_NANOS << code);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof AckTimeout timeout && timeout.code == code;
  }

  @Override
  public int hashCode() {
    return code;
  }

  @Override
  public String toString() {
    return code == 0 ? "infinite" : length(code).toNanos() / 1000.0 + " us (code " + code + ")";
  }
}
