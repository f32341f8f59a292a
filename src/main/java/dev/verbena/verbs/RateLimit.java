package dev.verbena.verbs;

import dev.verbena.raw.ibv_qp_rate_limit_attr;
import java.lang.foreign.MemorySegment;

/**
 * How fast a queue pair may send: {@code struct ibv_qp_rate_limit_attr}.
 *
 * @param kilobitsPerSecond the rate; 0 for no limit
 * @param maxBurst how many bytes may leave at full speed; 0 for the device's choice
 * @param typicalPacket how long packets usually are, in bytes; 0 for the device's choice
 */
public record RateLimit(long kilobitsPerSecond, int maxBurst, int typicalPacket) {
  /** Checks that each number fits its field. */
  public RateLimit {
    if (kilobitsPerSecond < 0 || kilobitsPerSecond >>> Integer.SIZE != 0) {
      throw new IllegalArgumentException("a rate of " + kilobitsPerSecond + " kbit/s");
    }
    if (maxBurst < 0) {
      throw new IllegalArgumentException("a burst of " + maxBurst + " bytes");
    }
    Ranges.bits(typicalPacket, Short.SIZE, "a packet size");
  }

  void writeTo(MemorySegment attr) {
    ibv_qp_rate_limit_attr.rate_limit(attr, (int) kilobitsPerSecond);
    ibv_qp_rate_limit_attr.max_burst_sz(attr, maxBurst);
    ibv_qp_rate_limit_attr.typical_pkt_sz(attr, (short) typicalPacket);
  }
}
