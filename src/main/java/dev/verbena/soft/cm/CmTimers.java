package dev.verbena.soft.cm;

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

  /** The longest time until a message is sent again, whatever a peer asks for: 17 s. */
  private static final int MAX_RESPONSE = 22;

  /** The longest local ACK timeout, whatever a peer asks for: 17 s. */
  private static final int MAX_ACK = 22;

  /** The longest time in TIMEWAIT: 4.3 s. */
  private static final int MAX_TIMEWAIT = 20;

  /** How long a program may take to answer a request, after an MRA: 69 s. */
  static final int SERVICE = 24;

  /** How long it may take to confirm a reply, after an MRA: 4.3 s. The RTU may be lost then. */
  static final int CONFIRMATION = 20;

  /** The time until a message is sent again to a peer that has asked for one. */
  static int response(int asked) {
    return Math.clamp(asked, LOCAL.response, MAX_RESPONSE);
  }

  /** The local ACK timeout for a peer that has asked for one; 0 would be for ever. */
  static int ack(int asked) {
    return asked == 0 ? MAX_ACK : Math.min(asked, MAX_ACK);
  }

  /** The time in TIMEWAIT of a queue pair with a local ACK timeout. */
  static int timewait(int ack) {
    return Math.min(ack, MAX_TIMEWAIT);
  }

  /** The time that a peer postpones its answer by. With 0 this end would send without a pause. */
  static int service(int asked) {
    return Math.clamp(asked, LOCAL.response, SERVICE);
  }

  /** A time in nanoseconds. */
  static long nanos(int exponent) {
    return 4096L << exponent;
  }
}
