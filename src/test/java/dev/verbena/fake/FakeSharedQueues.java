package dev.verbena.fake;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.fake.FakeDevice.ReceiveQueue;
import dev.verbena.raw.ibv_srq;
import dev.verbena.raw.ibv_srq_attr;
import dev.verbena.raw.ibv_srq_init_attr;
import dev.verbena.raw.rdma_h;

/** Shared receive queues. */
final class FakeSharedQueues {
  private final FakeDevice device;
  private final FakeWire wire;

  FakeSharedQueues(FakeDevice device, FakeWire wire) {
    this.device = device;
    this.wire = wire;
  }

  public long ibv_create_srq(long pd, long initAttr) {
    synchronized (device) {
      CStruct init = CStruct.at(initAttr, ibv_srq_init_attr.layout());
      int capacity = init.getInt("attr.max_wr");
      int sge = init.getInt("attr.max_sge");
      if (capacity > FakeDevice.MAX_WR || sge > FakeDevice.MAX_SGE) {
        throw new VerbsException("ibv_create_srq", Errno.EINVAL);
      }
      CStruct struct =
          CStruct.in(device.arena, ibv_srq.layout())
              .putLong("context", device.domains.at(pd).getLong("context"))
              .putLong("srq_context", init.getLong("srq_context"))
              .putLong("pd", pd)
              .putInt("handle", device.nextNumber());
      device.sharedQueues.add(struct.address(), new ReceiveQueue(struct.address(), capacity, sge));
      return struct.address();
    }
  }

  public void ibv_modify_srq(long srq, long attributes, int mask) {
    synchronized (device) {
      ReceiveQueue queue = device.sharedQueues.at(srq);
      CStruct attr = CStruct.at(attributes, ibv_srq_attr.layout());
      if ((mask & rdma_h.IBV_SRQ_LIMIT()) != 0) {
        if (attr.getInt("srq_limit") > queue.capacity) {
          throw new VerbsException("ibv_modify_srq", Errno.EINVAL);
        }
        queue.limit = attr.getInt("srq_limit");
      }
      if ((mask & rdma_h.IBV_SRQ_MAX_WR()) != 0) {
        queue.capacity = attr.getInt("max_wr");
      }
    }
  }

  public void ibv_query_srq(long srq, long attributes) {
    synchronized (device) {
      ReceiveQueue queue = device.sharedQueues.at(srq);
      CStruct.at(attributes, ibv_srq_attr.layout())
          .putInt("max_wr", queue.capacity)
          .putInt("max_sge", queue.maxSge)
          .putInt("srq_limit", queue.limit);
    }
  }

  public void ibv_destroy_srq(long srq) {
    synchronized (device) {
      if (device.sharedQueues.at(srq).users > 0) {
        throw new VerbsException("ibv_destroy_srq", Errno.EBUSY);
      }
      device.sharedQueues.remove(srq);
    }
  }

  /** The pointer behind {@code ibv_post_srq_recv}. */
  public int post_srq_recv(long srq, long wr, long badWr) {
    synchronized (device) {
      int result = wire.receive(device.sharedQueues.at(srq), wr, badWr);
      wire.runAll();
      return result;
    }
  }
}
