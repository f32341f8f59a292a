package dev.verbena.internal;

import static dev.verbena.internal.ContextOp.Of.CONTEXT;
import static dev.verbena.internal.ContextOp.Of.FLOW;
import static dev.verbena.internal.ErrorConvention.ERRNO;
import static dev.verbena.internal.ErrorConvention.NULL;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.calls.CompletionQueueCalls;
import dev.verbena.internal.calls.QueuePairCalls;
import dev.verbena.internal.foreign.Abi;
import dev.verbena.internal.foreign.Call;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_comp_cntr_caps;
import dev.verbena.raw.ibv_device_attr_ex;
import dev.verbena.raw.ibv_dm;
import dev.verbena.raw.ibv_gid_entry;
import dev.verbena.raw.ibv_mr;
import dev.verbena.raw.ibv_mw;
import dev.verbena.raw.ibv_mw_bind;
import dev.verbena.raw.ibv_mw_bind_info;
import dev.verbena.raw.ibv_port_attr;
import dev.verbena.raw.ibv_qp_init_attr_ex;
import dev.verbena.raw.ibv_query_device_ex_input;
import dev.verbena.raw.ibv_srq_init_attr_ex;
import dev.verbena.raw.ibv_wq;
import dev.verbena.raw.ibv_wq_init_attr;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.MemorySegment;

/**
 * The control verbs: the functions that libibverbs exports, and those that verbs.h defines inline.
 *
 * <p>There are two kinds of inline functions. Those that only call through a pointer of {@code
 * verbs_context} are declared in one line. Those with logic of their own are default methods with
 * the same logic. The functions of the data path are inline, too; they are methods of the object
 * that they work on: {@link QueuePairCalls}, {@link CompletionQueueCalls}, and their extended
 * forms.
 */
@SharedLibrary(
    soname = "libibverbs.so.1",
    packages = "libibverbs1 and ibverbs-providers",
    anchor = "ibv_open_device")
public interface Verbs extends Libibverbs {
  // Functions that call through a pointer of verbs_context
  @ContextOp(fails = ERRNO, since = 22)
  void ibv_advise_mr(long pd, int advice, int flags, long sgList, int numSge);

  @ContextOp(fails = NULL, of = CONTEXT, since = 18)
  long ibv_alloc_dm(long context, long attr);

  @ContextOp(fails = ERRNO, since = 18)
  void ibv_free_dm(long dm);

  @ContextOp(fails = NULL, since = 18)
  long ibv_reg_dm_mr(long pd, long dm, long dmOffset, long length, int access);

  @ContextOp(fails = NULL, since = 20)
  long ibv_alloc_null_mr(long pd);

  @ContextOp(fails = NULL, of = CONTEXT, since = 17)
  long ibv_alloc_parent_domain(long context, long attr);

  @ContextOp(fails = NULL, of = CONTEXT, since = 17)
  long ibv_alloc_td(long context, long initAttr);

  @ContextOp(fails = ERRNO, since = 17)
  void ibv_dealloc_td(long td);

  @ContextOp(fails = NULL, of = CONTEXT)
  long ibv_open_xrcd(long context, long xrcdInitAttr);

  @ContextOp(fails = ERRNO)
  void ibv_close_xrcd(long xrcd);

  @ContextOp(fails = NULL, of = CONTEXT)
  long ibv_create_cq_ex(long context, long cqAttr);

  @ContextOp(fails = ERRNO, since = 16)
  void ibv_modify_cq(long cq, long attr);

  @ContextOp(fails = NULL, of = CONTEXT)
  long ibv_open_qp(long context, long qpOpenAttr);

  @ContextOp(fails = ERRNO, since = 18)
  void ibv_modify_qp_rate_limit(long qp, long attr);

  @ContextOp(fails = ERRNO)
  void ibv_get_srq_num(long srq, long srqNum);

  @ContextOp(fails = ERRNO)
  void ibv_modify_wq(long wq, long wqAttr);

  @ContextOp(fails = ERRNO)
  void ibv_destroy_wq(long wq);

  @ContextOp(fails = NULL, of = CONTEXT)
  long ibv_create_rwq_ind_table(long context, long initAttr);

  @ContextOp(fails = ERRNO)
  void ibv_destroy_rwq_ind_table(long rwqIndTable);

  @ContextOp(fails = NULL, field = "ibv_create_flow")
  long ibv_create_flow(long qp, long flowAttr);

  @ContextOp(fails = ERRNO, field = "ibv_destroy_flow", of = FLOW)
  void ibv_destroy_flow(long flow);

  @ContextOp(fails = NULL, of = CONTEXT, since = 18)
  long ibv_create_flow_action_esp(long context, long esp);

  @ContextOp(fails = ERRNO, since = 18)
  void ibv_modify_flow_action_esp(long action, long esp);

  @ContextOp(fails = ERRNO, since = 18)
  void ibv_destroy_flow_action(long action);

  @ContextOp(fails = NULL, of = CONTEXT, since = 19)
  long ibv_create_counters(long context, long initAttr);

  @ContextOp(fails = ERRNO, since = 19)
  void ibv_destroy_counters(long counters);

  @ContextOp(fails = ERRNO, since = 19)
  void ibv_attach_counters_point_flow(long counters, long attr, long flow);

  @ContextOp(fails = ERRNO, since = 19)
  void ibv_read_counters(long counters, long values, int numCounters, int flags);

  @ContextOp(fails = ERRNO, field = "query_rt_values", of = CONTEXT)
  void ibv_query_rt_values_ex(long context, long values);

  @ContextOp(fails = NULL, field = "ops.alloc_mw")
  long ibv_alloc_mw(long pd, int type);

  @ContextOp(fails = ERRNO, field = "ops.dealloc_mw")
  void ibv_dealloc_mw(long mw);

  // Pointers that are called by the functions below
  @ContextOp(fails = ERRNO, field = "ops.bind_mw")
  void bind_mw(long qp, long mw, long mwBind);

  @ContextOp(fails = ERRNO, of = CONTEXT, since = 22)
  void query_port(long context, byte port, long portAttr, long size);

  @ContextOp(fails = ERRNO, of = CONTEXT)
  void query_device_ex(long context, long input, long attr, long size);

  @ContextOp(fails = NULL, of = CONTEXT)
  long create_qp_ex(long context, long qpInitAttrEx);

  @ContextOp(fails = NULL, of = CONTEXT)
  long create_srq_ex(long context, long srqInitAttrEx);

  @ContextOp(fails = NULL, of = CONTEXT)
  long create_wq(long context, long wqInitAttr);

  // Functions with logic of their own

  /**
   * The function that the macro {@code ibv_query_port} calls: an old library fills the old part of
   * the struct.
   */
  default void ___ibv_query_port(long context, byte port, long portAttr) {
    long size = ibv_port_attr.sizeof();
    if (ExtendedContext.provides(context, "query_port")) {
      query_port(context, port, portAttr, size);
    } else {
      Memory.at(portAttr, size).fill((byte) 0);
      ibv_query_port(context, port, portAttr);
    }
  }

  /** The sized form of {@code _ibv_query_gid_ex}. */
  default void ibv_query_gid_ex(long context, int port, int index, long entry, int flags) {
    _ibv_query_gid_ex(context, port, index, entry, flags, ibv_gid_entry.sizeof());
  }

  /** The sized form of {@code _ibv_query_gid_table}. */
  default long ibv_query_gid_table(long context, long entries, long max, int flags) {
    return _ibv_query_gid_table(context, entries, max, flags, ibv_gid_entry.sizeof());
  }

  /** The sized form of {@code _ibv_query_comp_cntr_caps}. */
  default void ibv_query_comp_cntr_caps(long context, long caps) {
    _ibv_query_comp_cntr_caps(context, caps, ibv_comp_cntr_caps.sizeof());
  }

  /**
   * Calls {@code ibv_query_device} if the provider or the kernel does not support the extended
   * query.
   */
  default void ibv_query_device_ex(long context, long input, long attr) {
    if (input != 0
        && ibv_query_device_ex_input.comp_mask(Memory.at(input, ibv_query_device_ex_input.sizeof()))
            != 0) {
      throw new VerbsException("ibv_query_device_ex", Errno.EINVAL, "comp_mask must be 0");
    }
    long size = ibv_device_attr_ex.sizeof();
    if (ExtendedContext.provides(context, "query_device_ex")) {
      try {
        query_device_ex(context, input, attr, size);
        return;
      } catch (VerbsException e) {
        if (!e.isUnsupported()) {
          throw e;
        }
      }
    }
    Memory.at(attr, size).fill((byte) 0);
    ibv_query_device(context, attr + ibv_device_attr_ex.orig_attr$offset());
  }

  /**
   * The function that the macro {@code ibv_reg_mr} calls: optional access flags require the newer
   * function.
   */
  default long __ibv_reg_mr(long pd, long address, long length, int access) {
    return (access & rdma_h.IBV_ACCESS_OPTIONAL_RANGE()) == 0
        ? ibv_reg_mr(pd, address, length, access)
        : ibv_reg_mr_iova2(pd, address, length, address, access);
  }

  /** The function that the macro {@code ibv_reg_mr_iova} calls. */
  default long __ibv_reg_mr_iova(long pd, long address, long length, long iova, int access) {
    return (access & rdma_h.IBV_ACCESS_OPTIONAL_RANGE()) == 0
        ? ibv_reg_mr_iova(pd, address, length, iova, access)
        : ibv_reg_mr_iova2(pd, address, length, iova, access);
  }

  /** Binds a memory window of type 1, after the checks of the header. */
  default void ibv_bind_mw(long qp, long mw, long mwBind) {
    var window = Memory.at(mw, ibv_mw.sizeof());
    var info = ibv_mw_bind.bind_info(Memory.at(mwBind, ibv_mw_bind.sizeof()));
    long mr = ibv_mw_bind_info.mr(info).address();
    if (ibv_mw.type(window) != rdma_h.IBV_MW_TYPE_1()) {
      throw new VerbsException(
          "ibv_bind_mw", Errno.EINVAL, "memory window is not of type 1 (IBV_MW_TYPE_1)");
    }
    if (mr == 0 && (ibv_mw_bind_info.addr(info) != 0 || ibv_mw_bind_info.length(info) != 0)) {
      throw new VerbsException("ibv_bind_mw", Errno.EINVAL, "address without a memory region");
    }
    if (mr != 0 && !ibv_mw.pd(window).equals(ibv_mr.pd(Memory.at(mr, ibv_mr.sizeof())))) {
      throw new VerbsException(
          "ibv_bind_mw",
          Errno.EPERM,
          "memory window and memory region are of different protection domains");
    }
    bind_mw(qp, mw, mwBind);
  }

  /** Calls {@code ibv_create_qp} if only the protection domain is set. */
  default long ibv_create_qp_ex(long context, long qpInitAttrEx) {
    var attr = Memory.at(qpInitAttrEx, ibv_qp_init_attr_ex.sizeof());
    return ibv_qp_init_attr_ex.comp_mask(attr) == rdma_h.IBV_QP_INIT_ATTR_PD()
        ? ibv_create_qp(ibv_qp_init_attr_ex.pd(attr).address(), qpInitAttrEx)
        : create_qp_ex(context, qpInitAttrEx);
  }

  /** Calls {@code ibv_create_srq} for a basic queue. */
  default long ibv_create_srq_ex(long context, long srqInitAttrEx) {
    var attr = Memory.at(srqInitAttrEx, ibv_srq_init_attr_ex.sizeof());
    int mask = ibv_srq_init_attr_ex.comp_mask(attr);
    int pd = rdma_h.IBV_SRQ_INIT_ATTR_PD();
    int type = rdma_h.IBV_SRQ_INIT_ATTR_TYPE();
    boolean basic =
        (mask & ~(pd | type)) == 0
            && (mask & pd) != 0
            && ((mask & type) == 0
                || ibv_srq_init_attr_ex.srq_type(attr) == rdma_h.IBV_SRQT_BASIC());
    return basic
        ? ibv_create_srq(ibv_srq_init_attr_ex.pd(attr).address(), srqInitAttrEx)
        : create_srq_ex(context, srqInitAttrEx);
  }

  /** Creates the queue and sets the fields that the header sets after the provider. */
  default long ibv_create_wq(long context, long wqInitAttr) {
    long wq = create_wq(context, wqInitAttr);
    var queue = Memory.at(wq, Abi.current().sizeOf(ibv_wq.layout()));
    ibv_wq.wq_context(
        queue, ibv_wq_init_attr.wq_context(Memory.at(wqInitAttr, ibv_wq_init_attr.sizeof())));
    // events_completed, and the result of pthread_mutex_init and pthread_cond_init: zeros on Linux.
    queue
        .asSlice(ibv_wq.mutex$offset())
        .asSlice(0, Abi.current().offsetOf(ibv_wq.layout(), "comp_mask") - ibv_wq.mutex$offset())
        .fill((byte) 0);
    return wq;
  }

  /** Posts tag-matching operations; EOPNOTSUPP if the provider does not support them. */
  default int ibv_post_srq_ops(long srq, long op, long badOp) {
    long context = Memory.getLong(srq);
    if (ExtendedContext.provides(context, "post_srq_ops")) {
      return (int)
          Call.plain(
              ExtendedContext.pointer(context, "post_srq_ops", "ibv_post_srq_ops"), srq, op, badOp);
    }
    Memory.putLong(badOp, op);
    return Errno.EOPNOTSUPP;
  }

  /** Posts receive requests to a work queue, through a pointer of the queue. */
  default int ibv_post_wq_recv(long wq, long recvWr, long badRecvWr) {
    MemorySegment post = Memory.function(wq + ibv_wq.post_recv$offset(), "ibv_post_wq_recv");
    return (int) Call.plain(post, wq, recvWr, badRecvWr);
  }

  /** Copies to device memory, through a pointer of the memory object. */
  default int ibv_memcpy_to_dm(long dm, long dmOffset, long hostAddress, long length) {
    MemorySegment copy = Memory.function(dm + ibv_dm.memcpy_to_dm$offset(), "ibv_memcpy_to_dm");
    return (int) Call.plain(copy, dm, dmOffset, hostAddress, length);
  }

  /** Copies from device memory, through a pointer of the memory object. */
  default int ibv_memcpy_from_dm(long hostAddress, long dm, long dmOffset, long length) {
    MemorySegment copy = Memory.function(dm + ibv_dm.memcpy_from_dm$offset(), "ibv_memcpy_from_dm");
    return (int) Call.plain(copy, hostAddress, dm, dmOffset, length);
  }

  /** Returns the {@code verbs_context} around a context, or 0 if an old library created it. */
  static long verbs_get_ctx(long context) {
    return ExtendedContext.around(context);
  }

  /** Returns the plain queue: the extended struct begins with it. */
  static long ibv_cq_ex_to_cq(long cqEx) {
    return cqEx;
  }

  /** Returns the next key: only the lowest 8 bits are under the control of the user. */
  static int ibv_inc_rkey(int rkey) {
    return (rkey & ~0xff) | ((rkey + 1) & 0xff);
  }

  /**
   * Returns whether a mask as in {@code ibv_rss_caps} or {@code ibv_odp_caps} contains a queue pair
   * type.
   */
  static boolean ibv_is_qpt_supported(int caps, int qpType) {
    return (caps & (1 << qpType)) != 0;
  }

  /** Returns the UDP source port that RoCE v2 derives from a flow label. */
  static int ibv_flow_label_to_udp_sport(int flowLabel) {
    return ((flowLabel & 0x3fff) ^ ((flowLabel & 0xfc000) >>> 14)) | 0xc000;
  }

  /** Returns the text of an opcode. verbs.h declares the function, but no release exports it. */
  static String ibv_wr_opcode_str(int opcode) {
    return WorkRequestOpcodes.text(opcode);
  }
}
