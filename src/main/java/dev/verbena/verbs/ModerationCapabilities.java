package dev.verbena.verbs;

import dev.verbena.raw.ibv_cq_moderation_caps;
import java.lang.foreign.MemorySegment;

/**
 * What a device can do to raise fewer completion events: {@code struct ibv_cq_moderation_caps}.
 *
 * @param maxCount how many completions one event can stand for; 0 if there is no moderation
 * @param maxPeriodMicros how long an event can be held back, in microseconds
 */
public record ModerationCapabilities(int maxCount, int maxPeriodMicros) {
  static ModerationCapabilities readFrom(MemorySegment caps) {
    return new ModerationCapabilities(
        Short.toUnsignedInt(ibv_cq_moderation_caps.max_cq_count(caps)),
        Short.toUnsignedInt(ibv_cq_moderation_caps.max_cq_period(caps)));
  }
}
