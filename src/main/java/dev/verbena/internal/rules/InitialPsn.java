package dev.verbena.internal.rules;

import dev.verbena.internal.time.Simulated;
import dev.verbena.internal.time.Time;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.SecureRandom;

/**
 * Random initial packet sequence numbers, which a host that does not see the packets cannot guess.
 */
public final class InitialPsn {
  private static final String KERNEL = "/dev/urandom";

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
    try (InputStream random = new FileInputStream(KERNEL)) {
      byte[] read = random.readNBytes(3);
      return (read[0] & 0xff) << 16 | (read[1] & 0xff) << 8 | (read[2] & 0xff);
    } catch (IOException e) { // Another operating system, or no file descriptor is left.
      return new SecureRandom().nextInt(1 << 24);
    }
  }
}
