package dev.verbena.verbs;

import dev.verbena.raw.ibv_comp_cntr_caps;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * The completion counter capabilities of a device: {@code struct ibv_comp_cntr_caps}.
 *
 * @param maxValue the maximum value of a counter, unsigned
 * @param maxCounters the maximum number of counters
 * @param operations the operations that can be counted
 */
public record CompletionCounterCapabilities(
    long maxValue, int maxCounters, Set<CompletionCounter.Operation> operations) {

  static CompletionCounterCapabilities query(Context context) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment caps = ibv_comp_cntr_caps.allocate(arena);
      context.verbs().ibv_query_comp_cntr_caps(context.address(), caps.address());
      return new CompletionCounterCapabilities(
          ibv_comp_cntr_caps.max_value(caps),
          ibv_comp_cntr_caps.max_counters(caps),
          FlagSet.of(
              CompletionCounter.Operation.class, ibv_comp_cntr_caps.supported_qp_attach_ops(caps)));
    }
  }
}
