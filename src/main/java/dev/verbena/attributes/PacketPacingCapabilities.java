package dev.verbena.attributes;

import dev.verbena.internal.AttributeText;
import dev.verbena.raw.ibv_packet_pacing_caps;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/** The packet pacing capabilities of a device: {@code struct ibv_packet_pacing_caps}. */
public final class PacketPacingCapabilities {
  private final MemorySegment struct;

  /** Keeps a struct that is not written to any more. */
  PacketPacingCapabilities(MemorySegment struct) {
    this.struct = struct;
  }

  /** {@return the minimum rate in kbit/s} */
  public long minRate() {
    return Integer.toUnsignedLong(ibv_packet_pacing_caps.qp_rate_limit_min(struct));
  }

  /** {@return the maximum rate in kbit/s; 0 if packet pacing is not supported} */
  public long maxRate() {
    return Integer.toUnsignedLong(ibv_packet_pacing_caps.qp_rate_limit_max(struct));
  }

  /** {@return the queue pair types that support packet pacing} */
  public Set<QueuePairType> types() {
    return QueuePairType.supported(ibv_packet_pacing_caps.supported_qpts(struct));
  }

  @Override
  public String toString() {
    return new AttributeText(PacketPacingCapabilities.class)
        .add("minRate", minRate())
        .add("maxRate", maxRate())
        .add("types", types())
        .toString();
  }
}
