package dev.verbena.soft;

/**
 * The times of the communication manager, as exponents n of 4.096 microseconds x 2^n, and its
 * counts.
 *
 * @param response how long an answer to a message may take before the message is sent again
 * @param ack the local ACK timeout of queue pairs, and the time in TIMEWAIT
 */
record CmTimers(int response, int ack) {
  /** For devices of one JVM: both 268 ms. */
  static final CmTimers LOCAL = new CmTimers(16, 16);

  /** For a device whose peers are on a network: those of Linux 6.12, 4.3 s and 537 ms. */
  static final CmTimers NETWORK = new CmTimers(20, 17);

  /** How often a message is sent again. */
  static final int RETRIES = 15;

  /** A peer that asks for more does not hold an exchange for longer: 17 s. */
  static final int MAX_RESPONSE = 22;

  /** How long a program may think about a request, once that was asked: 69 s. */
  static final int SERVICE = 24;

  /** A time in nanoseconds. */
  static long nanos(int exponent) {
    return 4096L << exponent;
  }
}
