package dev.verbena.soft.device;

import java.util.Random;

/**
 * What the devices of a network do late, although they could do it at once: as NICs do now and
 * then, so that programs which rely on luck fail. Used under the network's lock.
 */
public final class Delays {
  /** The byte that a buffer is filled with while its content is undefined. */
  public static final byte PATTERN = (byte) 0xa5;

  private static final double PROBABILITY = 0.25;
  private static final int START_NANOS = 100_000;
  private static final int COMPLETION_NANOS = 300_000;
  private static final int PLACEMENT_NANOS = 500_000;

  private boolean isOn;
  private Random random = new Random(0);

  /** Begins, with the numbers that follow from a seed. */
  public void begin(long seed) {
    random = new Random(seed);
    isOn = true;
  }

  public void end() {
    isOn = false;
  }

  public boolean isOn() {
    return isOn;
  }

  private long some(int most) {
    return isOn && random.nextDouble() < PROBABILITY ? 1 + random.nextInt(most) : 0;
  }

  /** How long a queue pair waits before it begins with requests that were posted. */
  public long start() {
    return some(START_NANOS);
  }

  /** How long a completion waits before it is in its queue. */
  long completion() {
    return some(COMPLETION_NANOS);
  }

  /** How long a piece of the data of an RDMA write waits before it is in memory. */
  public long placement() {
    return 1L + random.nextInt(PLACEMENT_NANOS);
  }

  /** How many of the bytes for an address are one piece: a word is not divided. */
  public int piece(long address, int most) {
    long end = (address + random.nextInt(most) + Long.BYTES) & -Long.BYTES;
    return (int) Math.min(most, end - address);
  }
}
