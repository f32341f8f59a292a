package dev.verbena.soft.transport;

import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.MemoryKey;
import dev.verbena.soft.device.SoftRegion;
import dev.verbena.soft.device.SoftWindow;

/** Send requests that are carried out on the device itself: memory windows. */
final class LocalOperations {
  private LocalOperations() {}

  /** Carries a request out: 0, or a completion status. */
  static int run(SoftQueuePair queuePair, SoftSendRequest request) {
    if (request.opcode == rdma_h.IBV_WR_LOCAL_INV()) {
      return invalidate(queuePair, request.immediate) ? 0 : rdma_h.IBV_WC_MW_BIND_ERR();
    }
    return bind(queuePair, request) ? 0 : rdma_h.IBV_WC_MW_BIND_ERR();
  }

  private static boolean bind(SoftQueuePair queuePair, SoftSendRequest request) {
    SoftWindow window = request.window;
    SoftRegion region = request.region;
    if (window == null
        || window.isDeallocated()
        || window.domain.root() != queuePair.domain.root()) {
      return false;
    }
    boolean owned = window.type == rdma_h.IBV_MW_TYPE_2();
    if (request.bindLength == 0) {
      window.unbind();
      return true;
    }
    if (region == null
        || region.local == null
        || region.domain().root() != window.domain.root()
        || !region.local.allows(rdma_h.IBV_ACCESS_MW_BIND())
        || !region.local.covers(request.bindAddress, request.bindLength)
        || !permits(region.local, request.bindAccess)
        || (owned && window.region != null)) {
      return false;
    }
    boolean zeroBased = (request.bindAccess & rdma_h.IBV_ACCESS_ZERO_BASED()) != 0;
    MemoryKey key =
        new MemoryKey(
            MemoryKey.Use.REMOTE,
            request.bindKey,
            window.domain,
            zeroBased ? 0 : request.bindAddress,
            request.bindLength,
            region.local.at(request.bindAddress),
            request.bindAccess,
            owned ? queuePair : null,
            window,
            false);
    window.bind(region, key.heldAs(region.local));
    return true;
  }

  /** Remote writes and atomics through a window need a region that may be written locally. */
  private static boolean permits(MemoryKey region, int access) {
    int writes = rdma_h.IBV_ACCESS_REMOTE_WRITE() | rdma_h.IBV_ACCESS_REMOTE_ATOMIC();
    return (access & writes) == 0 || region.allows(rdma_h.IBV_ACCESS_LOCAL_WRITE());
  }

  /**
   * Invalidates a memory window of type 2 by its remote key: also what a received SEND asks for.
   */
  static boolean invalidate(SoftQueuePair queuePair, int key) {
    MemoryKey found = queuePair.device.keys.get(key);
    if (found == null
        || found.window == null
        || found.window.type != rdma_h.IBV_MW_TYPE_2()
        || found.owner != queuePair) {
      return false;
    }
    found.window.unbind();
    return true;
  }
}
