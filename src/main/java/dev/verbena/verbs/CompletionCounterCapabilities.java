package dev.verbena.verbs;

import dev.verbena.FlagSet;
import dev.verbena.internal.AttributeText;
import dev.verbena.raw.ibv_comp_cntr_caps;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** The completion counter capabilities of a device: {@code struct ibv_comp_cntr_caps}. */
public final class CompletionCounterCapabilities {
  private final MemorySegment struct;

  private CompletionCounterCapabilities(MemorySegment struct) {
    this.struct = struct;
  }

  static CompletionCounterCapabilities query(Context context) {
    MemorySegment caps = ibv_comp_cntr_caps.allocate(Arena.ofAuto());
    context.verbs().ibv_query_comp_cntr_caps(context.address(), caps.address());
    return new CompletionCounterCapabilities(caps);
  }

  /**
   * Returns the maximum value of a counter.
   *
   * @return the maximum, unsigned
   */
  public long maxValue() {
    return ibv_comp_cntr_caps.max_value(struct);
  }

  /**
   * Returns the maximum number of counters.
   *
   * @return the maximum
   */
  public int maxCounters() {
    return ibv_comp_cntr_caps.max_counters(struct);
  }

  /**
   * Returns the operations that can be counted.
   *
   * @return the operations
   */
  public FlagSet<CompletionCounter.Operation> operations() {
    return FlagSet.of(
        CompletionCounter.Operation.class,
        Integer.toUnsignedLong(ibv_comp_cntr_caps.supported_qp_attach_ops(struct)));
  }

  @Override
  public String toString() {
    return new AttributeText(CompletionCounterCapabilities.class)
        .add("maxValue", maxValue())
        .add("maxCounters", maxCounters())
        .add("operations", operations())
        .toString();
  }
}
