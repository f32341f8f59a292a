package dev.verbena;

import java.io.Serial;
import java.time.Duration;

/**
 * A timeout of this library: an operation did not complete within the time that its caller gave.
 *
 * <p>Every method with a timeout throws it, except those that poll or return a number of
 * completions: these return an empty result (null or 0). A call of C that fails with ETIMEDOUT is a
 * {@link VerbsException}.
 */
public final class RdmaTimeoutException extends RdmaException {
  @Serial private static final long serialVersionUID = 1;

  /** The time that was given. */
  private final Duration timeout;

  /**
   * Creates an exception.
   *
   * @param doing the operation and the object, such as {@code receiving over connection of ...}
   * @param timeout the time that was given
   */
  public RdmaTimeoutException(String doing, Duration timeout) {
    super(doing + ": not completed within " + text(timeout));
    this.timeout = timeout;
  }

  private static String text(Duration timeout) {
    long seconds = timeout.toSeconds();
    boolean isLong = seconds != (int) seconds; // Its milliseconds may exceed a long.
    return isLong || timeout.toMillisPart() == 0 ? seconds + " s" : timeout.toMillis() + " ms";
  }

  /** {@return the time that was given} */
  public Duration timeout() {
    return timeout;
  }

  /** Returns true: the peer or the network may be slow. */
  @Override
  public boolean isTransient() {
    return true;
  }
}
