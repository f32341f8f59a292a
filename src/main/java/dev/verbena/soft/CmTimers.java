package dev.verbena.soft;

/**
 * The times and counts of the communication manager. Times are exponents n of 4.096 microseconds x
 * 2^n. Those of the kernel are made for networks (20, 15, 24, 19); in one JVM they are shorter.
 */
final class CmTimers {
  /** How long an answer to a message may take before the message is sent again: 268 ms. */
  static final int RESPONSE = 16;

  /** How often a message is sent again. */
  static final int RETRIES = 15;

  /** How long a program may think about a request, once that was asked: 69 s. */
  static final int SERVICE = 24;

  /** The local ACK timeout of queue pairs, and the time in TIMEWAIT: 268 ms. */
  static final int ACK = 16;

  private CmTimers() {}

  /** A time in nanoseconds. */
  static long nanos(int exponent) {
    return 4096L << exponent;
  }
}
