package dev.verbena.values;

import dev.verbena.internal.foreign.Segments;
import dev.verbena.raw.ibv_srq_attr;
import java.lang.foreign.MemorySegment;

/**
 * The attributes of a shared receive queue: {@code struct ibv_srq_attr}.
 *
 * @param maxRequests the maximum number of outstanding receive requests
 * @param maxSges the maximum number of SGEs of each receive request
 * @param limit the limit: an event is generated when the number of outstanding receive requests
 *     falls below it; 0 for no event
 */
public record SharedReceiveQueueAttributes(int maxRequests, int maxSges, int limit) {
  /**
   * Reads the attributes from a C struct.
   *
   * @param attr a {@code struct ibv_srq_attr}
   * @return the attributes
   */
  public static SharedReceiveQueueAttributes readFrom(MemorySegment attr) {
    Segments.readable(attr, ibv_srq_attr.layout());
    return new SharedReceiveQueueAttributes(
        ibv_srq_attr.max_wr(attr), ibv_srq_attr.max_sge(attr), ibv_srq_attr.srq_limit(attr));
  }

  /**
   * Writes the attributes to a C struct.
   *
   * @param attr a {@code struct ibv_srq_attr}
   */
  public void writeTo(MemorySegment attr) {
    Segments.writable(attr, ibv_srq_attr.layout());
    ibv_srq_attr.max_wr(attr, maxRequests);
    ibv_srq_attr.max_sge(attr, maxSges);
    ibv_srq_attr.srq_limit(attr, limit);
  }
}
