package dev.verbena.soft.device;

import dev.verbena.internal.time.Time;
import java.time.Duration;
import java.util.Random;
import java.util.function.Supplier;

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

  private boolean isChosen() {
    return isOn && random.nextDouble() < PROBABILITY;
  }

  private long some(int most, Supplier<String> what) {
    long nanos = 1L + random.nextInt(most);
    return Time.injects(() -> Duration.ofNanos(nanos) + " late: " + what.get()) ? nanos : 0;
  }

  /** How long a queue pair waits before it begins with requests that were posted. */
  public long start(int queuePair) {
    return isChosen()
        ? some(START_NANOS, () -> "the start of queue pair 0x%06x".formatted(queuePair))
        : 0;
  }

  /** How long a completion waits before it is in its queue. */
  long completion(long wrId, int queuePair) {
    return isChosen()
        ? some(
            COMPLETION_NANOS,
            () -> "the completion of wr_id 0x%x of queue pair 0x%06x".formatted(wrId, queuePair))
        : 0;
  }

  /** How long a piece of the data of an RDMA write waits before it is in memory. */
  public long placement(long address, int length) {
    return some(
        PLACEMENT_NANOS, () -> "%d bytes of an RDMA write at 0x%x".formatted(length, address));
  }

  /** How many of the bytes for an address are one piece: a word is not divided. */
  public int piece(long address, int most) {
    long end = (address + random.nextInt(most) + Long.BYTES) & -Long.BYTES;
    return (int) Math.min(most, end - address);
  }
}
