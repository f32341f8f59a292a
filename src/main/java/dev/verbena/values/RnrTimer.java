package dev.verbena.values;

import dev.verbena.internal.Ranges;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A minimum RNR NAK timer: how long a sender waits before it retransmits a message for which the
 * receiver had no receive request posted ({@code ibv_qp_attr.min_rnr_timer}).
 *
 * <p>The receiver sends its timer in the RNR NAK (receiver not ready). The InfiniBand specification
 * encodes it as a five-bit code for one of 32 durations from 0.01 to 655.36 milliseconds.
 *
 * <p>See {@code ibv_modify_qp(3)}.
 */
public final class RnrTimer {
  /** Code 12, 0.64 milliseconds: the default of this library. */
  public static final RnrTimer DEFAULT = new RnrTimer(12);

  /**
   * The durations of codes 1 to 31, then of code 0, the longest, in hundredths of a millisecond.
   */
  private static final int[] ASCENDING = {
    1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048,
    3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152, 65536
  };

  private static final int CODES = ASCENDING.length;

  private final int code;

  private RnrTimer(int code) {
    this.code = code;
  }

  /**
   * {@return the shortest timer that is at least as long as a duration}
   *
   * @param duration more than zero, at most 655.36 milliseconds
   * @throws IllegalArgumentException if the duration is not in that range
   */
  public static RnrTimer atLeast(Duration duration) {
    Objects.requireNonNull(duration, "duration");
    if (duration.isZero() || duration.isNegative()) {
      throw new IllegalArgumentException("minimum RNR NAK timer must be positive: " + duration);
    }
    for (int i = 0; i < CODES; i++) {
      if (length(ASCENDING[i]).compareTo(duration) >= 0) {
        return new RnrTimer((i + 1) % CODES);
      }
    }
    throw new IllegalArgumentException(
        "minimum RNR NAK timer must be at most 655.36 ms: " + duration);
  }

  /**
   * {@return the timer of a code}
   *
   * @param code 0 to 31
   * @throws IllegalArgumentException if the code does not fit into five bits
   */
  public static RnrTimer ofCode(int code) {
    return new RnrTimer(Ranges.bits(code, 5, "a minimum RNR NAK timer"));
  }

  /**
   * {@return the code of the InfiniBand specification: 1 for 0.01 ms, ascending to 31 for 491.52
   * ms; 0 for 655.36 ms}
   */
  public int code() {
    return code;
  }

  /** {@return the length of this timer, 0.01 to 655.36 milliseconds} */
  public Duration toDuration() {
    return length(ASCENDING[(code + CODES - 1) % CODES]);
  }

  private static Duration length(int hundredths) {
    return Duration.ofNanos(hundredths * 10_000L);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof RnrTimer timer && timer.code == code;
  }

  @Override
  public int hashCode() {
    return code;
  }

  @Override
  public String toString() {
    return toDuration().toNanos() / 1_000_000.0 + " ms (code " + code + ")";
  }
}
