package dev.verbena.verbs;

import dev.verbena.raw.ibv_packet_pacing_caps;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * What a device can do to hold queue pairs down to a rate: {@code struct ibv_packet_pacing_caps}.
 *
 * @param minRate the lowest rate in kbit/s
 * @param maxRate the highest rate in kbit/s; 0 if there is no packet pacing
 * @param types for which queue pairs
 */
public record PacketPacingCapabilities(long minRate, long maxRate, Set<QueuePairType> types) {
  /** Copies the set. */
  public PacketPacingCapabilities {
    types = Set.copyOf(types);
  }

  static PacketPacingCapabilities readFrom(MemorySegment caps) {
    return new PacketPacingCapabilities(
        Integer.toUnsignedLong(ibv_packet_pacing_caps.qp_rate_limit_min(caps)),
        Integer.toUnsignedLong(ibv_packet_pacing_caps.qp_rate_limit_max(caps)),
        QueuePairType.supported(ibv_packet_pacing_caps.supported_qpts(caps)));
  }
}
