package dev.verbena.internal.rules;

import dev.verbena.internal.foreign.Libc;
import dev.verbena.internal.time.Simulated;
import dev.verbena.internal.time.Time;
import java.security.SecureRandom;

/**
 * Random initial packet sequence numbers, which a host that does not see the packets cannot guess.
 */
public final class InitialPsn {
  private InitialPsn() {}

  /**
   * Returns a number of 24 bits from the kernel's random number generator. {@link SecureRandom}
   * reads it too, but its first use takes 12 to 28 ms.
   */
  public static int next() {
    Simulated simulation = Time.simulation();
    if (simulation != null) {
      return simulation.random().nextInt(1 << 24);
    }
    return Libc.random().orElseGet(() -> new SecureRandom().nextInt()) & 0xffffff;
  }
}
