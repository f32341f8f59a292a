package dev.verbena.verbs;

import dev.verbena.raw.ibv_packet_pacing_caps;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * The packet pacing capabilities of a device: {@code struct ibv_packet_pacing_caps}.
 *
 * @param minRate the minimum rate in kbit/s
 * @param maxRate the maximum rate in kbit/s; 0 if packet pacing is not supported
 * @param types the queue pair types that support it
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
