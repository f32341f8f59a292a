package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.raw.ibv_mw_bind;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftDomain;
import dev.verbena.soft.device.SoftRegion;
import dev.verbena.soft.device.SoftWindow;
import dev.verbena.soft.transport.SendQueue;
import dev.verbena.soft.transport.SoftQueuePair;
import dev.verbena.soft.transport.SoftSendRequest;

/** Memory windows. */
final class WindowFunctions {
  public long alloc_mw(long pd, int type) {
    SoftDomain domain = Registry.at(pd, SoftDomain.class);
    CallFailure.invalidIf(
        type != rdma_h.IBV_MW_TYPE_1() && type != rdma_h.IBV_MW_TYPE_2(), "type " + type);
    return Registry.create(domain.device, () -> new SoftWindow(domain, type));
  }

  public int dealloc_mw(long address) {
    Registry.destroy(address, SoftWindow.class);
    return 0;
  }

  /** Posts a request that binds a window of type 1. */
  public int bind_mw(long qp, long mw, long bind) {
    SoftQueuePair queuePair = SoftQueuePair.at(qp);
    SoftWindow window = Registry.at(mw, SoftWindow.class);
    if (queuePair == null) {
      return Errno.EINVAL;
    }
    CStruct asked = CStruct.at(bind, ibv_mw_bind.layout());
    long mr = asked.getLong("bind_info.mr");
    SendQueue sends = queuePair.sends;
    sends.posting.lock();
    try {
      if (!queuePair.takesSends()) {
        return Errno.EINVAL;
      }
      if (sends.isFull(0) || queuePair.device.queuesFull) {
        return Errno.ENOMEM;
      }
      SoftSendRequest request = sends.free(0);
      request.wrId = asked.getLong("wr_id");
      request.opcode = rdma_h.IBV_WR_BIND_MW();
      request.flags = asked.getInt("send_flags");
      request.window = window;
      request.region = mr == 0 ? null : Registry.at(mr, SoftRegion.class);
      request.bindAddress = asked.getLong("bind_info.addr");
      request.bindLength = asked.getLong("bind_info.length");
      request.bindAccess = asked.getInt("bind_info.mw_access_flags");
      request.bindKey = (window.key() & ~0xff) | ((window.key() + 1) & 0xff);
      window.struct.putInt("rkey", request.bindKey);
      sends.post(1);
    } finally {
      sends.posting.unlock();
    }
    queuePair.device.engine.request(queuePair.task);
    return 0;
  }
}
