package dev.verbena.verbs;

import dev.verbena.raw.ibv_tm_caps;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.MemorySegment;

/**
 * What a device can do to match received messages by tags: {@code struct ibv_tm_caps}.
 *
 * @param rc whether reliable connections can use tag matching
 * @param maxTags how many tagged buffers a list can hold; 0 if there is no tag matching
 * @param maxOperations how many operations on a list can be under way
 * @param maxEntries how many scatter/gather entries a tagged buffer can have
 * @param maxRendezvousHeader the largest header of a rendezvous request in bytes
 */
public record TagMatchingCapabilities(
    boolean rc, int maxTags, int maxOperations, int maxEntries, int maxRendezvousHeader) {

  static TagMatchingCapabilities readFrom(MemorySegment caps) {
    return new TagMatchingCapabilities(
        (ibv_tm_caps.flags(caps) & rdma_h.IBV_TM_CAP_RC()) != 0,
        ibv_tm_caps.max_num_tags(caps),
        ibv_tm_caps.max_ops(caps),
        ibv_tm_caps.max_sge(caps),
        ibv_tm_caps.max_rndv_hdr_size(caps));
  }
}
