package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_ops_wr;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.Completion;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.ScatterList;
import dev.verbena.soft.device.SoftCompletionQueue;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.device.SoftDomain;
import dev.verbena.soft.device.SoftSharedQueue;
import dev.verbena.soft.device.TagList;
import java.lang.foreign.MemorySegment;

/** The functions of shared receive queues with tag matching. */
final class TagFunctions {
  /** Creates a queue from a {@code struct ibv_srq_init_attr_ex}. */
  static long create(CStruct attr) {
    SoftDomain domain = Registry.at(attr.getLong("pd"), SoftDomain.class);
    SoftCompletionQueue completions = Registry.at(attr.getLong("cq"), SoftCompletionQueue.class);
    int tags = attr.getInt("tm_cap.max_num_tags");
    int operations = attr.getInt("tm_cap.max_ops");
    if (tags < 1 || tags > TagList.MAX_TAGS || operations < 0 || operations > SoftDevice.MAX_WR) {
      throw CallFailure.invalid(
          "max_num_tags is 1 to %d, not %d; max_ops at most %d, not %d"
              .formatted(TagList.MAX_TAGS, tags, SoftDevice.MAX_WR, operations));
    }
    return SharedQueueFunctions.create(domain, attr, null, completions, new TagList(tags));
  }

  /** Operations take effect at once. */
  public int post_srq_ops(long address, long first, long bad) {
    SoftSharedQueue queue = Registry.at(address, SoftSharedQueue.class);
    return queue.device.engine.locked(
        () -> {
          for (long at = first; at != 0; ) {
            MemorySegment operation = Memory.at(at, ibv_ops_wr.sizeof());
            int errno = queue.tags == null ? Errno.EINVAL : execute(queue, operation);
            if (errno != 0) {
              Memory.putLong(bad, at);
              return errno;
            }
            at = ibv_ops_wr.next(operation).address();
          }
          return 0;
        });
  }

  private static int execute(SoftSharedQueue queue, MemorySegment operation) {
    MemorySegment tm = ibv_ops_wr.tm(operation);
    int opcode = ibv_ops_wr.opcode(operation);
    boolean reports =
        opcode == rdma_h.IBV_WR_TAG_SYNC()
            || (ibv_ops_wr.flags(operation) & rdma_h.IBV_OPS_TM_SYNC()) != 0;
    if (opcode == rdma_h.IBV_WR_TAG_ADD()) {
      return add(queue, operation, tm, reports);
    }
    if (reports) {
      queue.tags.handled(ibv_ops_wr.tm.unexpected_cnt(tm));
    }
    if (opcode == rdma_h.IBV_WR_TAG_DEL()) {
      boolean removed = queue.tags.remove(ibv_ops_wr.tm.handle(tm));
      complete(
          queue,
          operation,
          rdma_h.IBV_WC_TM_DEL(),
          removed ? rdma_h.IBV_WC_SUCCESS() : rdma_h.IBV_WC_TM_ERR());
      return 0;
    }
    if (opcode != rdma_h.IBV_WR_TAG_SYNC()) {
      return Errno.EINVAL;
    }
    complete(queue, operation, rdma_h.IBV_WC_TM_SYNC(), rdma_h.IBV_WC_SUCCESS());
    return 0;
  }

  private static int add(
      SoftSharedQueue queue, MemorySegment operation, MemorySegment tm, boolean reports) {
    MemorySegment add = ibv_ops_wr.tm.add(tm);
    int elements = ibv_ops_wr.tm.add.num_sge(add);
    if (elements < 0 || elements > queue.requests.maxElements()) {
      return Errno.EINVAL;
    }
    if (queue.tags.isFull()) {
      return Errno.ENOMEM;
    }
    if (reports) {
      queue.tags.handled(ibv_ops_wr.tm.unexpected_cnt(tm));
    }
    ScatterList list = new ScatterList(elements);
    list.read(ibv_ops_wr.tm.add.sg_list(add).address(), elements);
    int handle =
        queue.tags.add(
            ibv_ops_wr.tm.add.tag(add),
            ibv_ops_wr.tm.add.mask(add),
            ibv_ops_wr.tm.add.recv_wr_id(add),
            list);
    ibv_ops_wr.tm.handle(tm, handle);
    complete(queue, operation, rdma_h.IBV_WC_TM_ADD(), rdma_h.IBV_WC_SUCCESS());
    return 0;
  }

  /** Completes an operation that is signaled or failed. */
  private static void complete(
      SoftSharedQueue queue, MemorySegment operation, int opcode, int status) {
    if (status == rdma_h.IBV_WC_SUCCESS()
        && (ibv_ops_wr.flags(operation) & rdma_h.IBV_OPS_SIGNALED()) == 0) {
      return;
    }
    Completion completion = new Completion();
    completion.owner = queue;
    completion.wrId = ibv_ops_wr.wr_id(operation);
    completion.opcode = opcode;
    completion.status = status;
    completion.flags = queue.tags.flags();
    queue.completionQueue.add(completion, false);
  }
}
