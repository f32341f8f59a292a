package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.raw.ibv_srq;
import dev.verbena.raw.ibv_srq_attr;
import dev.verbena.raw.ibv_srq_init_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftCompletionQueue;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.device.SoftDomain;
import dev.verbena.soft.device.SoftReceiveQueue;
import dev.verbena.soft.device.SoftSharedQueue;
import dev.verbena.soft.device.SoftXrcDomain;
import dev.verbena.soft.device.TagList;
import org.jspecify.annotations.Nullable;

/** Shared receive queues. */
final class SharedQueueFunctions {
  private static SoftSharedQueue queue(long address) {
    return Registry.at(address, SoftSharedQueue.class);
  }

  public long ibv_create_srq(long pd, long initAttr) {
    SoftDomain domain = Registry.at(pd, SoftDomain.class);
    CStruct init = CStruct.at(initAttr, ibv_srq_init_attr.layout());
    return create(domain, init, null, null, null);
  }

  /** Creates a queue from a {@code struct ibv_srq_init_attr}, or the extended one. */
  static long create(
      SoftDomain domain,
      CStruct init,
      @Nullable SoftXrcDomain xrcDomain,
      @Nullable SoftCompletionQueue completions,
      @Nullable TagList tags) {
    int capacity = init.getInt("attr.max_wr");
    int elements = init.getInt("attr.max_sge");
    CallFailure.invalidIf(
        capacity < 1 || capacity > SoftDevice.MAX_WR,
        "max_wr is 1 to " + SoftDevice.MAX_WR + ", not " + capacity);
    if (elements < 0 || elements > SoftDevice.MAX_SGE) {
      throw CallFailure.invalid("max_sge is at most " + SoftDevice.MAX_SGE + ", not " + elements);
    }
    CStruct struct =
        domain.struct(ibv_srq.layout()).putLong("srq_context", init.getLong("srq_context"));
    SoftReceiveQueue requests = new SoftReceiveQueue(capacity, elements);
    return Registry.create(
        domain.device,
        () -> new SoftSharedQueue(domain, struct, requests, xrcDomain, completions, tags));
  }

  public void ibv_modify_srq(long address, long attributes, int mask) {
    SoftSharedQueue queue = queue(address);
    CStruct attr = CStruct.at(attributes, ibv_srq_attr.layout());
    queue.device.engine.locked(
        () -> {
          boolean resize = (mask & rdma_h.IBV_SRQ_MAX_WR()) != 0;
          int capacity = resize ? attr.getInt("max_wr") : queue.requests.capacity();
          int limit =
              (mask & rdma_h.IBV_SRQ_LIMIT()) != 0 ? attr.getInt("srq_limit") : queue.limit();
          CallFailure.invalidIf(
              capacity < 1 || capacity > SoftDevice.MAX_WR || limit < 0 || limit > capacity,
              "max_wr " + capacity + ", srq_limit " + limit);
          if (resize && !queue.requests.resize(capacity)) {
            throw CallFailure.invalid("more requests wait");
          }
          if ((mask & rdma_h.IBV_SRQ_LIMIT()) != 0) {
            queue.limit(limit);
          }
        });
  }

  public void ibv_query_srq(long address, long attributes) {
    SoftSharedQueue queue = queue(address);
    queue.device.engine.locked(
        () -> {
          CStruct.at(attributes, ibv_srq_attr.layout())
              .putInt("max_wr", queue.requests.capacity())
              .putInt("max_sge", queue.requests.maxElements())
              .putInt("srq_limit", queue.limit());
        });
  }

  public void ibv_destroy_srq(long address) {
    Registry.destroy(address, SoftSharedQueue.class);
  }

  public int post_srq_recv(long address, long wr, long badWr) {
    SoftSharedQueue queue = SoftSharedQueue.at(address);
    return queue == null
        ? ListPosting.refuse(Errno.EINVAL, wr, badWr)
        : ListPosting.receive(queue.device, queue.requests, wr, badWr);
  }
}
