package dev.verbena.soft.functions;

import dev.verbena.VerbsException;
import dev.verbena.internal.Verbs;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_pd;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_qp_init_attr;
import dev.verbena.raw.ibv_qp_init_attr_ex;
import dev.verbena.raw.ibv_srq_init_attr;
import dev.verbena.raw.ibv_srq_init_attr_ex;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.cm.CmHandle;
import dev.verbena.soft.cm.CmManager;
import dev.verbena.soft.cm.CmQueues;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Queue pairs and shared receive queues of identifiers. */
final class CmQueueFunctions {
  private final CmManager manager;
  private final CmQueues queues;
  private final Verbs verbs;

  CmQueueFunctions(CmManager manager, CmQueues queues) {
    this.manager = manager;
    this.queues = queues;
    this.verbs = manager.verbs();
  }

  // Queue pairs

  public void rdma_create_qp(long id, long domain, long attributes) {
    CmHandle handle = manager.handle(id);
    createQueuePair(
        handle,
        domain,
        attributes,
        CStruct.at(attributes, ibv_qp_init_attr.layout()).getInt("qp_type"));
  }

  /** Creates a queue pair with a {@code struct ibv_qp_init_attr}. */
  void createQueuePair(CmHandle handle, long domain, long attributes, int type) {
    long size = ibv_qp_init_attr.sizeof();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment extended = ibv_qp_init_attr_ex.allocate(arena);
      MemorySegment given = Memory.at(attributes, size);
      extended.asSlice(0, size).copyFrom(given);
      ibv_qp_init_attr_ex.qp_type(extended, type);
      ibv_qp_init_attr_ex.comp_mask(extended, rdma_h.IBV_QP_INIT_ATTR_PD());
      ibv_qp_init_attr_ex.pd(
          extended, MemorySegment.ofAddress(domain == 0 ? handle.struct.getLong("pd") : domain));
      rdma_create_qp_ex(handle.address(), extended.address());
      given.copyFrom(extended.asSlice(0, size));
    }
  }

  public void rdma_create_qp_ex(long id, long attributes) {
    CmHandle handle = manager.handle(id);
    CStruct struct = handle.struct;
    CStruct asked = CStruct.at(attributes, ibv_qp_init_attr_ex.layout());
    CallFailure.invalidIf(struct.getLong("qp") != 0, "it has a queue pair");
    if (lacks(asked, rdma_h.IBV_QP_INIT_ATTR_PD(), "pd")) {
      add(asked, rdma_h.IBV_QP_INIT_ATTR_PD(), "pd", struct.getLong("pd"));
    } else if (CStruct.at(asked.getLong("pd"), ibv_pd.layout()).getLong("context")
        != struct.getLong("verbs")) {
      throw CallFailure.invalid("the domain is of another context");
    }
    requireSame(struct, asked, "recv_cq");
    requireSame(struct, asked, "send_cq");
    if (handle.id.queuePairType == rdma_h.IBV_QPT_XRC_RECV()
        && lacks(asked, rdma_h.IBV_QP_INIT_ATTR_XRCD(), "xrcd")) {
      add(asked, rdma_h.IBV_QP_INIT_ATTR_XRCD(), "xrcd", handle.device.xrcDomain());
    }
    try {
      createCompletionQueue(handle, asked, "recv", asked.getInt("cap.max_recv_wr"));
      createCompletionQueue(handle, asked, "send", asked.getInt("cap.max_send_wr"));
      if (asked.getLong("srq") == 0) {
        asked.putLong("srq", struct.getLong("srq"));
      }
      long queuePair = verbs.ibv_create_qp_ex(struct.getLong("verbs"), attributes);
      try {
        queues.prepare(handle, queuePair);
      } catch (VerbsException e) {
        verbs.ibv_destroy_qp(queuePair);
        throw e;
      }
      struct
          .putLong("pd", CStruct.at(queuePair, ibv_qp.layout()).getLong("pd"))
          .putLong("qp", queuePair);
    } catch (VerbsException e) {
      destroyCompletionQueues(handle);
      throw e;
    }
  }

  private static boolean lacks(CStruct asked, int bit, String field) {
    return (asked.getInt("comp_mask") & bit) == 0 || asked.getLong(field) == 0;
  }

  private static void add(CStruct asked, int bit, String field, long value) {
    CStruct _ = asked.putLong(field, value).putInt("comp_mask", asked.getInt("comp_mask") | bit);
  }

  private static void requireSame(CStruct struct, CStruct asked, String field) {
    long own = struct.getLong(field);
    long given = asked.getLong(field);
    CallFailure.invalidIf(
        own != 0 && given != 0 && own != given, field + " is not the identifier's");
  }

  /** Creates a completion queue with a channel, unless one was given or is there. */
  private void createCompletionQueue(
      CmHandle handle, CStruct asked, String direction, int entries) {
    String queue = direction + "_cq";
    if (asked.getLong(queue) != 0) {
      return;
    }
    if (handle.struct.getLong(queue) == 0 && entries > 0) {
      createCompletionQueue(handle, direction, entries);
    }
    asked.putLong(queue, handle.struct.getLong(queue));
  }

  private void createCompletionQueue(CmHandle handle, String direction, int entries) {
    CStruct struct = handle.struct;
    long context = struct.getLong("verbs");
    struct.putLong(direction + "_cq_channel", verbs.ibv_create_comp_channel(context));
    struct.putLong(
        direction + "_cq",
        verbs.ibv_create_cq(
            context, entries, handle.address(), struct.getLong(direction + "_cq_channel"), 0));
  }

  private void destroyCompletionQueues(CmHandle handle) {
    CStruct struct = handle.struct;
    if (handle.id.queuePairType == rdma_h.IBV_QPT_XRC_RECV() && struct.getLong("srq") != 0) {
      return;
    }
    for (String direction : new String[] {"recv", "send"}) {
      long queue = struct.getLong(direction + "_cq");
      if (queue != 0) {
        verbs.ibv_destroy_cq(queue);
        struct.putLong(direction + "_cq", 0);
      }
      long channel = struct.getLong(direction + "_cq_channel");
      if (channel != 0) {
        verbs.ibv_destroy_comp_channel(channel);
        struct.putLong(direction + "_cq_channel", 0);
      }
    }
  }

  public void rdma_destroy_qp(long id) {
    CmHandle handle = manager.handle(id);
    verbs.ibv_destroy_qp(handle.struct.getLong("qp"));
    handle.struct.putLong("qp", 0);
    destroyCompletionQueues(handle);
  }

  // Shared receive queues

  public void rdma_create_srq(long id, long domain, long attributes) {
    CmHandle handle = manager.handle(id);
    long size = ibv_srq_init_attr.sizeof();
    boolean xrc = handle.id.queuePairType == rdma_h.IBV_QPT_XRC_RECV();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment extended = ibv_srq_init_attr_ex.allocate(arena);
      MemorySegment given = Memory.at(attributes, size);
      extended.asSlice(0, size).copyFrom(given);
      ibv_srq_init_attr_ex.comp_mask(
          extended, rdma_h.IBV_SRQ_INIT_ATTR_TYPE() | rdma_h.IBV_SRQ_INIT_ATTR_PD());
      ibv_srq_init_attr_ex.srq_type(
          extended, xrc ? rdma_h.IBV_SRQT_XRC() : rdma_h.IBV_SRQT_BASIC());
      ibv_srq_init_attr_ex.pd(extended, MemorySegment.ofAddress(domain));
      rdma_create_srq_ex(id, extended.address());
      given.copyFrom(extended.asSlice(0, size));
    }
  }

  public void rdma_create_srq_ex(long id, long attributes) {
    CmHandle handle = manager.handle(id);
    CStruct struct = handle.struct;
    CStruct asked = CStruct.at(attributes, ibv_srq_init_attr_ex.layout());
    CallFailure.invalidIf(
        (asked.getInt("comp_mask") & rdma_h.IBV_SRQ_INIT_ATTR_TYPE()) == 0,
        "comp_mask lacks IBV_SRQ_INIT_ATTR_TYPE");
    if (lacks(asked, rdma_h.IBV_SRQ_INIT_ATTR_PD(), "pd")) {
      add(asked, rdma_h.IBV_SRQ_INIT_ATTR_PD(), "pd", struct.getLong("pd"));
    }
    try {
      if (asked.getInt("srq_type") == rdma_h.IBV_SRQT_XRC()) {
        addXrc(handle, asked);
      }
      struct.putLong("srq", verbs.ibv_create_srq_ex(struct.getLong("verbs"), attributes));
    } catch (VerbsException e) {
      destroyCompletionQueues(handle);
      throw e;
    }
  }

  private void addXrc(CmHandle handle, CStruct asked) {
    if (lacks(asked, rdma_h.IBV_SRQ_INIT_ATTR_XRCD(), "xrcd")) {
      add(asked, rdma_h.IBV_SRQ_INIT_ATTR_XRCD(), "xrcd", handle.device.xrcDomain());
    }
    if (lacks(asked, rdma_h.IBV_SRQ_INIT_ATTR_CQ(), "cq")) {
      createCompletionQueue(handle, "recv", asked.getInt("attr.max_wr"));
      add(asked, rdma_h.IBV_SRQ_INIT_ATTR_CQ(), "cq", handle.struct.getLong("recv_cq"));
    }
  }

  public void rdma_destroy_srq(long id) {
    CmHandle handle = manager.handle(id);
    verbs.ibv_destroy_srq(handle.struct.getLong("srq"));
    handle.struct.putLong("srq", 0);
    destroyCompletionQueues(handle);
  }
}
