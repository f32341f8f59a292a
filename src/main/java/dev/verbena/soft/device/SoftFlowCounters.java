package dev.verbena.soft.device;

import dev.verbena.raw.ibv_counters;
import dev.verbena.raw.rdma_h;
import java.util.Arrays;

/** Counters of flow rules ({@code struct ibv_counters}): packets and bytes at chosen indexes. */
public final class SoftFlowCounters extends SoftObject {
  public static final int MAX_INDEX = 31;

  /** What is read at each index, or -1. */
  private final int[] descriptions = new int[MAX_INDEX + 1];

  private long packets;
  private long bytes;

  public SoftFlowCounters(SoftContext context) {
    super(context, context.struct(ibv_counters.layout()), context);
    Arrays.fill(descriptions, -1);
  }

  public void attach(int description, int index) {
    descriptions[index] = description;
  }

  public void count(int length) {
    packets++;
    bytes += length;
  }

  /** The value at an index: 0 if nothing is attached there. */
  public long read(int index) {
    if (index > MAX_INDEX || descriptions[index] < 0) {
      return 0;
    }
    return descriptions[index] == rdma_h.IBV_COUNTER_BYTES() ? bytes : packets;
  }
}
