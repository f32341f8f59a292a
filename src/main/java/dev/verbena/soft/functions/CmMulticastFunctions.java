package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.raw.rdma_cm_join_mc_attr_ex;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.cm.CmAddress;
import dev.verbena.soft.cm.CmHandle;
import dev.verbena.soft.cm.CmManager;
import dev.verbena.soft.cm.CmMembership;
import dev.verbena.soft.cm.CmQueues;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import java.net.InetSocketAddress;

/** Multicast groups of identifiers. */
final class CmMulticastFunctions {
  private final CmManager manager;
  private final CmChannelFunctions channels;
  private final CmQueues queues;

  CmMulticastFunctions(CmManager manager, CmChannelFunctions channels, CmQueues queues) {
    this.manager = manager;
    this.channels = channels;
    this.queues = queues;
  }

  public void rdma_join_multicast(long id, long address, long context) {
    join(id, address, rdma_h.RDMA_MC_JOIN_FLAG_FULLMEMBER(), context);
  }

  public void rdma_join_multicast_ex(long id, long attributes, long context) {
    CStruct asked = CStruct.at(attributes, rdma_cm_join_mc_attr_ex.layout());
    int mask = asked.getInt("comp_mask");
    int all = rdma_h.RDMA_CM_JOIN_MC_ATTR_ADDRESS() | rdma_h.RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS();
    CallFailure.unsupportedIf((mask & ~all) != 0, "comp_mask " + mask);
    int flags = asked.getInt("join_flags");
    CallFailure.invalidIf(
        mask != all || flags >= rdma_h.RDMA_MC_JOIN_FLAG_RESERVED(),
        "comp_mask " + mask + ", join_flags " + flags);
    join(id, asked.getLong("addr"), flags, context);
  }

  private void join(long id, long address, int flags, long context) {
    CmHandle handle = manager.handle(id);
    InetSocketAddress group = CmAddress.read(address);
    CmMembership membership = new CmMembership(group, flags, context);
    manager.locked(
        () -> {
          handle.id.join(membership);
          handle.memberships.add(membership);
        });
    channels.complete(handle);
  }

  public void rdma_leave_multicast(long id, long address) {
    CmHandle handle = manager.handle(id);
    InetSocketAddress group = CmAddress.read(address);
    CmMembership membership = manager.locked(() -> remove(handle, group));
    queues.detach(handle, membership);
    int events =
        manager.locked(
            () -> {
              handle.id.leave(membership);
              return membership.taken;
            });
    handle.awaitAcknowledged(membership, events);
  }

  private static CmMembership remove(CmHandle handle, InetSocketAddress group) {
    // As in librdmacm, the group that was joined last.
    for (CmMembership membership : handle.memberships.reversed()) {
      if (membership.address.equals(group)) {
        handle.memberships.remove(membership);
        return membership;
      }
    }
    throw CallFailure.of(Errno.EADDRNOTAVAIL, "the group was not joined");
  }
}
