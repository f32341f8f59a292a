package dev.verbena.attributes;

import dev.verbena.internal.AttributeText;
import dev.verbena.raw.ibv_tso_caps;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/** The TCP segmentation offload (TSO) capabilities of a device: {@code struct ibv_tso_caps}. */
public final class TsoCapabilities {
  private final MemorySegment struct;

  /** Keeps a struct that is not written to any more. */
  TsoCapabilities(MemorySegment struct) {
    this.struct = struct;
  }

  /** {@return the maximum size of the data in bytes; 0 if TSO is not supported} */
  public int maxSize() {
    return ibv_tso_caps.max_tso(struct);
  }

  /** {@return the queue pair types that support TSO} */
  public Set<QueuePairType> types() {
    return QueuePairType.supported(ibv_tso_caps.supported_qpts(struct));
  }

  @Override
  public String toString() {
    return new AttributeText(TsoCapabilities.class)
        .add("maxSize", maxSize())
        .add("types", types())
        .toString();
  }
}
