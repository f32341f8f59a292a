package dev.verbena.soft;

/**
 * The times of the communication manager, as exponents n of 4.096 microseconds x 2^n, and its
 * counts.
 *
 * @param response how long an answer to a message may take before the message is sent again
 * @param ack the local ACK timeout of queue pairs, and the time in TIMEWAIT
 */
record CmTimers(int response, int ack) {
  /** The times of devices in one JVM: both are 268 ms. */
  static final CmTimers LOCAL = new CmTimers(16, 16);

  /** For a device whose peers are on a network: those of Linux 6.12, 4.3 s and 537 ms. */
  static final CmTimers NETWORK = new CmTimers(20, 17);

  /** How often a message is sent again. */
  static final int RETRIES = 15;

  /** The longest time that an MRA of the peer extends the wait for an answer: 17 s. */
  static final int MAX_RESPONSE = 22;

  /** How long a program may take to answer a request, after an MRA: 69 s. */
  static final int SERVICE = 24;

  /** A time in nanoseconds. */
  static long nanos(int exponent) {
    return 4096L << exponent;
  }
}
