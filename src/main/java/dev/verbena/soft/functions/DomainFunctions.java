package dev.verbena.soft.functions;

import dev.verbena.raw.ibv_parent_domain_init_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftContext;
import dev.verbena.soft.device.SoftDomain;
import dev.verbena.soft.device.SoftThreadDomain;

/** Thread domains and parent domains. */
final class DomainFunctions {
  public long alloc_td(long context, long attributes) {
    SoftContext owner = Registry.at(context, SoftContext.class);
    return Registry.create(owner.device, () -> new SoftThreadDomain(owner));
  }

  public int dealloc_td(long address) {
    Registry.destroy(address, SoftThreadDomain.class);
    return 0;
  }

  /**
   * The pointer behind {@code ibv_alloc_parent_domain}. The thread domain is a promise that the
   * device has no use for, nothing is allocated with an allocator, and no memory is protected.
   */
  public long alloc_parent_domain(long context, long attributes) {
    SoftContext owner = Registry.at(context, SoftContext.class);
    CStruct attr = CStruct.at(attributes, ibv_parent_domain_init_attr.layout());
    int known =
        rdma_h.IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS()
            | rdma_h.IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT()
            | rdma_h.IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC();
    CallFailure.unsupportedIf((attr.getInt("comp_mask") & ~known) != 0, "comp_mask");
    SoftDomain parent = Registry.at(attr.getLong("pd"), SoftDomain.class);
    SoftThreadDomain thread =
        attr.getLong("td") == 0 ? null : Registry.at(attr.getLong("td"), SoftThreadDomain.class);
    return Registry.create(owner.device, () -> new SoftDomain(owner, parent, thread));
  }
}
