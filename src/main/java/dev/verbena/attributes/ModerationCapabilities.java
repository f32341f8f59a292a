package dev.verbena.attributes;

import dev.verbena.internal.AttributeText;
import dev.verbena.raw.ibv_cq_moderation_caps;
import java.lang.foreign.MemorySegment;

/** The completion moderation capabilities of a device: {@code struct ibv_cq_moderation_caps}. */
public final class ModerationCapabilities {
  private final MemorySegment struct;

  /** Keeps a struct that is not written to any more. */
  ModerationCapabilities(MemorySegment struct) {
    this.struct = struct;
  }

  /** {@return the maximum number of completions per event; 0 if moderation is not supported} */
  public int maxCount() {
    return Short.toUnsignedInt(ibv_cq_moderation_caps.max_cq_count(struct));
  }

  /** {@return the maximum delay of an event in microseconds} */
  public int maxPeriodMicros() {
    return Short.toUnsignedInt(ibv_cq_moderation_caps.max_cq_period(struct));
  }

  @Override
  public String toString() {
    return new AttributeText(ModerationCapabilities.class)
        .add("maxCount", maxCount())
        .add("maxPeriodMicros", maxPeriodMicros())
        .toString();
  }
}
