package dev.verbena.verbs;

import dev.verbena.raw.ibv_tm_caps;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.MemorySegment;

/**
 * The tag matching (TM) capabilities of a device: {@code struct ibv_tm_caps}.
 *
 * @param rc whether RC supports tag matching
 * @param maxTags the maximum number of tagged buffers of a tag list; 0 if tag matching is not
 *     supported
 * @param maxOperations the maximum number of outstanding tag operations
 * @param maxSges the maximum number of SGEs of a tagged buffer
 * @param maxRendezvousHeader the maximum size of the header of a rendezvous request, in bytes
 */
public record TagMatchingCapabilities(
    boolean rc, int maxTags, int maxOperations, int maxSges, int maxRendezvousHeader) {

  static TagMatchingCapabilities readFrom(MemorySegment caps) {
    return new TagMatchingCapabilities(
        (ibv_tm_caps.flags(caps) & rdma_h.IBV_TM_CAP_RC()) != 0,
        ibv_tm_caps.max_num_tags(caps),
        ibv_tm_caps.max_ops(caps),
        ibv_tm_caps.max_sge(caps),
        ibv_tm_caps.max_rndv_hdr_size(caps));
  }
}
