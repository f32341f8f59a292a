package dev.verbena.internal;

import dev.verbena.Errno;
import java.time.Duration;

/**
 * The attempts to resolve an address or a route. Each has a short timeout, and is then repeated:
 * the kernel misses a neighbour's reply that arrives immediately before it starts to wait, until
 * the timeout expires.
 */
public final class Resolution {
  /** The timeout of one attempt. */
  public static final Duration ATTEMPT = Duration.ofMillis(250);

  private Resolution() {}

  /** Returns the timeout of the next attempt. */
  public static Duration attempt(Duration remaining) {
    return remaining.compareTo(ATTEMPT) < 0 ? remaining : ATTEMPT;
  }

  /** Returns whether an attempt that ended with the status of an event may be repeated. */
  public static boolean mayRepeat(int status) {
    return status == -Errno.ETIMEDOUT;
  }
}
