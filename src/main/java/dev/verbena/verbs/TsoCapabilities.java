package dev.verbena.verbs;

import dev.verbena.raw.ibv_tso_caps;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * The TCP segmentation offload (TSO) capabilities of a device: {@code struct ibv_tso_caps}.
 *
 * @param maxSize the maximum size of the data in bytes; 0 if TSO is not supported
 * @param types the queue pair types that support TSO
 */
public record TsoCapabilities(int maxSize, Set<QueuePairType> types) {
  /** Copies the set. */
  public TsoCapabilities {
    types = Set.copyOf(types);
  }

  static TsoCapabilities readFrom(MemorySegment caps) {
    return new TsoCapabilities(
        ibv_tso_caps.max_tso(caps), QueuePairType.supported(ibv_tso_caps.supported_qpts(caps)));
  }
}
