package dev.verbena.verbs;

import dev.verbena.raw.ibv_tso_caps;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * What a device can do to cut long TCP segments: {@code struct ibv_tso_caps}.
 *
 * @param maxSize the longest segment in bytes; 0 if none is cut
 * @param types for which queue pairs
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
