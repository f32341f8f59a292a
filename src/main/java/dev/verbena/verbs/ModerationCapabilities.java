package dev.verbena.verbs;

import dev.verbena.raw.ibv_cq_moderation_caps;
import java.lang.foreign.MemorySegment;

/**
 * The completion moderation capabilities of a device: {@code struct ibv_cq_moderation_caps}.
 *
 * @param maxCount the maximum number of completions per event; 0 if moderation is not supported
 * @param maxPeriodMicros the maximum delay of an event in microseconds
 */
public record ModerationCapabilities(int maxCount, int maxPeriodMicros) {
  static ModerationCapabilities readFrom(MemorySegment caps) {
    return new ModerationCapabilities(
        Short.toUnsignedInt(ibv_cq_moderation_caps.max_cq_count(caps)),
        Short.toUnsignedInt(ibv_cq_moderation_caps.max_cq_period(caps)));
  }
}
