package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_rwq_ind_table_init_attr;
import dev.verbena.raw.ibv_wq;
import dev.verbena.raw.ibv_wq_attr;
import dev.verbena.raw.ibv_wq_init_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftCompletionQueue;
import dev.verbena.soft.device.SoftContext;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.device.SoftDomain;
import dev.verbena.soft.device.SoftReceiveQueue;
import dev.verbena.soft.transport.SoftIndirectionTable;
import dev.verbena.soft.transport.SoftWorkQueue;

/** Work queues and receive indirection tables. */
final class WorkQueueFunctions {
  static final int MAX_TABLE = 512;

  private static final int FLAGS =
      rdma_h.IBV_WQ_FLAGS_CVLAN_STRIPPING()
          | rdma_h.IBV_WQ_FLAGS_SCATTER_FCS()
          | rdma_h.IBV_WQ_FLAGS_DELAY_DROP()
          | rdma_h.IBV_WQ_FLAGS_PCI_WRITE_END_PADDING();

  private static SoftWorkQueue queue(long address) {
    return Registry.at(address, SoftWorkQueue.class);
  }

  public long create_wq(long context, long attributes) {
    SoftContext owner = Registry.at(context, SoftContext.class);
    CStruct attr = CStruct.at(attributes, ibv_wq_init_attr.layout());
    SoftDomain domain = Registry.at(attr.getLong("pd"), SoftDomain.class);
    SoftCompletionQueue completions = Registry.at(attr.getLong("cq"), SoftCompletionQueue.class);
    int requests = attr.getInt("max_wr");
    int elements = attr.getInt("max_sge");
    if (attr.getInt("wq_type") != rdma_h.IBV_WQT_RQ()
        || requests < 1
        || requests > SoftDevice.MAX_WR
        || elements < 1
        || elements > SoftDevice.MAX_SGE) {
      throw CallFailure.invalid(
          "max_wr is 1 to %d, not %d; max_sge is 1 to %d, not %d"
              .formatted(SoftDevice.MAX_WR, requests, SoftDevice.MAX_SGE, elements));
    }
    boolean hasFlags = (attr.getInt("comp_mask") & rdma_h.IBV_WQ_INIT_ATTR_FLAGS()) != 0;
    int flags = hasFlags ? attr.getInt("create_flags") : 0;
    CallFailure.unsupportedIf(
        (flags & ~FLAGS) != 0, "create_flags 0x" + Integer.toHexString(flags));
    return Registry.create(
        owner.device,
        () -> {
          int number = owner.device.newNumber();
          CStruct struct =
              domain
                  .struct(ibv_wq.layout())
                  .putLong("cq", completions.address())
                  .putInt("wq_num", number)
                  .putInt("wq_type", rdma_h.IBV_WQT_RQ())
                  .putLong("post_recv", Pointers.to("post_wq_recv").address());
          SoftWorkQueue made =
              new SoftWorkQueue(
                  domain, struct, completions, new SoftReceiveQueue(requests, elements), number);
          made.flags(flags);
          return made;
        });
  }

  public int modify_wq(long address, long attributes) {
    SoftWorkQueue queue = queue(address);
    CStruct attr = CStruct.at(attributes, ibv_wq_attr.layout());
    return queue.device.engine.locked(() -> modify(queue, attr, attr.getInt("attr_mask")));
  }

  private static int modify(SoftWorkQueue queue, CStruct attr, int mask) {
    int current =
        (mask & rdma_h.IBV_WQ_ATTR_CURR_STATE()) != 0 ? attr.getInt("curr_wq_state") : queue.state;
    int next = (mask & rdma_h.IBV_WQ_ATTR_STATE()) != 0 ? attr.getInt("wq_state") : current;
    int flags = (mask & rdma_h.IBV_WQ_ATTR_FLAGS()) != 0 ? attr.getInt("flags") : 0;
    int flagsMask = (mask & rdma_h.IBV_WQ_ATTR_FLAGS()) != 0 ? attr.getInt("flags_mask") : 0;
    if (current != queue.state || !isTransition(current, next)) {
      return Errno.EINVAL;
    }
    if (((flags | flagsMask) & ~FLAGS) != 0) {
      return Errno.EOPNOTSUPP;
    }
    queue.flags((flags & flagsMask) | (queue.flags() & ~flagsMask));
    if (next != current) {
      queue.modify(next);
    }
    return 0;
  }

  private static boolean isTransition(int from, int to) {
    return from == to
        || to == rdma_h.IBV_WQS_RESET()
        || (to == rdma_h.IBV_WQS_RDY() && from == rdma_h.IBV_WQS_RESET())
        || (to == rdma_h.IBV_WQS_ERR() && from == rdma_h.IBV_WQS_RDY());
  }

  public int destroy_wq(long address) {
    Registry.destroy(address, SoftWorkQueue.class);
    return 0;
  }

  public int post_wq_recv(long address, long wr, long badWr) {
    SoftWorkQueue queue = SoftWorkQueue.at(address);
    if (queue == null || queue.state == rdma_h.IBV_WQS_RESET()) {
      return ListPosting.refuse(Errno.EINVAL, wr, badWr);
    }
    int errno = ListPosting.receive(queue.device, queue.receives, wr, badWr);
    if (queue.state == rdma_h.IBV_WQS_ERR()) {
      queue.device.engine.locked(queue::flush);
    }
    return errno;
  }

  public long create_rwq_ind_table(long context, long attributes) {
    SoftContext owner = Registry.at(context, SoftContext.class);
    CStruct attr = CStruct.at(attributes, ibv_rwq_ind_table_init_attr.layout());
    int logarithm = attr.getInt("log_ind_tbl_size");
    CallFailure.invalidIf(
        logarithm < 0 || 1L << logarithm > MAX_TABLE || attr.getInt("comp_mask") != 0,
        "a table has at most " + MAX_TABLE + " entries");
    SoftWorkQueue[] queues = new SoftWorkQueue[1 << logarithm];
    for (int i = 0; i < queues.length; i++) {
      queues[i] = queue(Memory.getLong(attr.getLong("ind_tbl") + (long) i * Long.BYTES));
    }
    return Registry.create(owner.device, () -> new SoftIndirectionTable(owner, queues));
  }

  public int destroy_rwq_ind_table(long address) {
    Registry.destroy(address, SoftIndirectionTable.class);
    return 0;
  }
}
