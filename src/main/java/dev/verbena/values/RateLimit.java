package dev.verbena.values;

import dev.verbena.internal.Ranges;
import dev.verbena.internal.foreign.Segments;
import dev.verbena.raw.ibv_qp_rate_limit_attr;
import java.lang.foreign.MemorySegment;

/**
 * A rate limit of a queue pair, for packet pacing: {@code struct ibv_qp_rate_limit_attr}.
 *
 * <p>See {@code ibv_modify_qp_rate_limit(3)}.
 */
public final class RateLimit {
  private final long kilobitsPerSecond;
  private final int maxBurst;
  private final int typicalPacketSize;

  private RateLimit(long kilobitsPerSecond, int maxBurst, int typicalPacketSize) {
    this.kilobitsPerSecond = kilobitsPerSecond;
    this.maxBurst = maxBurst;
    this.typicalPacketSize = typicalPacketSize;
  }

  /**
   * {@return a rate limit} The device chooses the burst size.
   *
   * @param kilobitsPerSecond the rate in kbit/s, at most 2<sup>32</sup> - 1; 0 for no limit
   */
  public static RateLimit ofKilobitsPerSecond(long kilobitsPerSecond) {
    if (kilobitsPerSecond < 0 || kilobitsPerSecond >>> Integer.SIZE != 0) {
      throw new IllegalArgumentException(
          "rate limit must be 0 to 4294967295 kbit/s: " + kilobitsPerSecond);
    }
    return new RateLimit(kilobitsPerSecond, 0, 0);
  }

  /**
   * {@return this rate limit with a burst size: {@code max_burst_sz}}
   *
   * @param bytes the maximum number of bytes that are sent at full speed; 0 for the device's
   *     default
   */
  public RateLimit withMaxBurst(int bytes) {
    var _ = Ranges.notNegative(bytes, "maximum burst size");
    return new RateLimit(kilobitsPerSecond, bytes, typicalPacketSize);
  }

  /**
   * {@return this rate limit with a typical packet size, by which a device can pace more
   * accurately: {@code typical_pkt_sz}}
   *
   * @param bytes the size, at most 65535; 0 for the device's default
   */
  public RateLimit withTypicalPacketSize(int bytes) {
    return new RateLimit(
        kilobitsPerSecond, maxBurst, Ranges.bits(bytes, Short.SIZE, "a typical packet size"));
  }

  /** {@return the rate in kbit/s; 0 for no limit} */
  public long kilobitsPerSecond() {
    return kilobitsPerSecond;
  }

  /**
   * Writes this limit to a C struct.
   *
   * @param attr a {@code struct ibv_qp_rate_limit_attr}
   */
  public void writeTo(MemorySegment attr) {
    Segments.writable(attr, ibv_qp_rate_limit_attr.layout());
    ibv_qp_rate_limit_attr.rate_limit(attr, (int) kilobitsPerSecond);
    ibv_qp_rate_limit_attr.max_burst_sz(attr, maxBurst);
    ibv_qp_rate_limit_attr.typical_pkt_sz(attr, (short) typicalPacketSize);
  }

  @Override
  public String toString() {
    return kilobitsPerSecond + " kbit/s";
  }
}
