package dev.verbena.verbs;

import dev.verbena.raw.ibv_srq_attr;
import java.lang.foreign.MemorySegment;

/**
 * What a shared receive queue holds: {@code struct ibv_srq_attr}.
 *
 * @param requests how many receive requests can be outstanding
 * @param entries how many scatter/gather entries each can have
 * @param limit below how many outstanding requests an event is raised; 0 if none will be
 */
public record SharedReceiveQueueAttributes(int requests, int entries, int limit) {
  static SharedReceiveQueueAttributes readFrom(MemorySegment attr) {
    return new SharedReceiveQueueAttributes(
        ibv_srq_attr.max_wr(attr), ibv_srq_attr.max_sge(attr), ibv_srq_attr.srq_limit(attr));
  }

  void writeTo(MemorySegment attr) {
    ibv_srq_attr.max_wr(attr, requests);
    ibv_srq_attr.max_sge(attr, entries);
    ibv_srq_attr.srq_limit(attr, limit);
  }
}
