package dev.verbena.attributes;

import dev.verbena.internal.AttributeText;
import dev.verbena.raw.ibv_tm_caps;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.MemorySegment;

/** The tag matching (TM) capabilities of a device: {@code struct ibv_tm_caps}. */
public final class TagMatchingCapabilities {
  private final MemorySegment struct;

  /** Keeps a struct that is not written to any more. */
  TagMatchingCapabilities(MemorySegment struct) {
    this.struct = struct;
  }

  /** {@return whether RC supports tag matching} */
  public boolean rc() {
    return (ibv_tm_caps.flags(struct) & rdma_h.IBV_TM_CAP_RC()) != 0;
  }

  /**
   * {@return the maximum number of tagged buffers of a tag list; 0 if tag matching is not
   * supported}
   */
  public int maxTags() {
    return ibv_tm_caps.max_num_tags(struct);
  }

  /** {@return the maximum number of outstanding tag operations} */
  public int maxOperations() {
    return ibv_tm_caps.max_ops(struct);
  }

  /** {@return the maximum number of SGEs of a tagged buffer} */
  public int maxSges() {
    return ibv_tm_caps.max_sge(struct);
  }

  /** {@return the maximum size of the header of a rendezvous request in bytes} */
  public int maxRendezvousHeader() {
    return ibv_tm_caps.max_rndv_hdr_size(struct);
  }

  @Override
  public String toString() {
    return new AttributeText(TagMatchingCapabilities.class)
        .add("rc", rc())
        .add("maxTags", maxTags())
        .add("maxOperations", maxOperations())
        .add("maxSges", maxSges())
        .add("maxRendezvousHeader", maxRendezvousHeader())
        .toString();
  }
}
