package dev.verbena.soft.wire;

/** Arithmetic of packet sequence numbers (PSN): 24 bits, compared modulo 2^24. */
public final class Psn {
  public static final int MASK = 0xffffff;

  private Psn() {}

  /** The PSN that follows another after a number of packets; the number may be negative. */
  public static int plus(int psn, int packets) {
    return (psn + packets) & MASK;
  }

  /** By how much a PSN is ahead of another: negative if it is behind. */
  public static int distance(int from, int to) {
    return ((to - from) << 8) >> 8;
  }
}
