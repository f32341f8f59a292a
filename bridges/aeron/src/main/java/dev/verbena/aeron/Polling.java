package dev.verbena.aeron;

import java.lang.System.Logger.Level;
import org.agrona.nio.TransportPoller;

/**
 * How the pollers of a driver look at their sockets: with more than five they ask a selector, which
 * RDMA messages do not wake. The number is a constant that is read from a property once.
 */
final class Polling {
  private Polling() {}

  /**
   * Sets the property, unless the program has set it. Called before a driver creates its pollers.
   *
   * @return false if it is too late
   */
  static boolean prepare() {
    String name = TransportPoller.ITERATION_THRESHOLD_PROP_NAME; // A constant: nothing is loaded.
    if (System.getProperty(name) == null) {
      System.setProperty(name, Integer.toString(Integer.MAX_VALUE));
    }
    int threshold = TransportPoller.ITERATION_THRESHOLD;
    if (threshold < Integer.MAX_VALUE) {
      Log.once(
          Level.ERROR,
          "all channels stay on UDP: Agrona selects from %d sockets on, which does not work with"
                  .formatted(threshold)
              + " RDMA: set -D%s=%d".formatted(name, Integer.MAX_VALUE));
    }
    return threshold == Integer.MAX_VALUE;
  }
}
