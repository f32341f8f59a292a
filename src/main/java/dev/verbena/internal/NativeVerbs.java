package dev.verbena.internal;

import static dev.verbena.internal.ContextOp.Of.CONTEXT;
import static dev.verbena.internal.ContextOp.Of.FLOW;
import static dev.verbena.internal.ContextOp.Of.OBJECT;
import static dev.verbena.internal.ErrorConvention.ERRNO;
import static dev.verbena.internal.ErrorConvention.MINUS_ONE;
import static dev.verbena.internal.ErrorConvention.NEGATIVE;
import static dev.verbena.internal.ErrorConvention.NEGATIVE_ERRNO;
import static dev.verbena.internal.ErrorConvention.NEVER;
import static dev.verbena.internal.ErrorConvention.NULL;

/** The functions of {@link Verbs} in C. NativeFunctionsTest generates this class. */
final class NativeVerbs extends NativeFunctions implements Verbs {
  NativeVerbs(Library library) {
    super(library);
  }

  /** Loads the library. */
  static Library library() {
    return Library.of("libibverbs.so.1", "libibverbs1 and ibverbs-providers", "ibv_open_device");
  }

  @Override
  public long ibv_get_device_list(long numDevices) {
    return symbol("ibv_get_device_list", 0, NULL, numDevices);
  }

  @Override
  public void ibv_free_device_list(long list) {
    symbolOfObject("ibv_free_device_list", 0, NEVER, list);
  }

  @Override
  public long ibv_get_device_name(long device) {
    return symbolOfObject("ibv_get_device_name", 0, NULL, device);
  }

  @Override
  public long ibv_get_device_guid(long device) {
    return symbolOfObject("ibv_get_device_guid", 0, NEVER, device);
  }

  @Override
  public int ibv_get_device_index(long device) {
    return (int) symbolOfObject("ibv_get_device_index", 30, NEVER, device);
  }

  @Override
  public long ibv_open_device(long device) {
    return symbolOfObject("ibv_open_device", 0, NULL, device);
  }

  @Override
  public void ibv_close_device(long context) {
    symbolOfObject("ibv_close_device", 0, ERRNO, context);
  }

  @Override
  public long ibv_import_device(int commandFd) {
    return symbol("ibv_import_device", 31, NULL, commandFd);
  }

  @Override
  public void ibv_fork_init() {
    symbol("ibv_fork_init", 0, ERRNO);
  }

  @Override
  public int ibv_is_fork_initialized() {
    return (int) symbol("ibv_is_fork_initialized", 35, NEVER);
  }

  @Override
  public void ibv_query_device(long context, long deviceAttr) {
    symbolOfObject("ibv_query_device", 0, ERRNO, context, deviceAttr);
  }

  @Override
  public void ibv_query_port(long context, byte port, long compatPortAttr) {
    symbolOfObject("ibv_query_port", 0, ERRNO, context, port, compatPortAttr);
  }

  @Override
  public void ibv_query_port_speed(long context, int port, long speed) {
    symbolOfObject("ibv_query_port_speed", 62, ERRNO, context, port, speed);
  }

  @Override
  public void ibv_query_gid(long context, byte port, int index, long gid) {
    symbolOfObject("ibv_query_gid", 0, MINUS_ONE, context, port, index, gid);
  }

  @Override
  public void _ibv_query_gid_ex(
      long context, int port, int index, long entry, int flags, long entrySize) {
    symbolOfObject("_ibv_query_gid_ex", 32, ERRNO, context, port, index, entry, flags, entrySize);
  }

  @Override
  public long _ibv_query_gid_table(
      long context, long entries, long max, int flags, long entrySize) {
    return symbolOfObject(
        "_ibv_query_gid_table", 32, NEGATIVE_ERRNO, context, entries, max, flags, entrySize);
  }

  @Override
  public void ibv_query_pkey(long context, byte port, int index, long pkey) {
    symbolOfObject("ibv_query_pkey", 0, MINUS_ONE, context, port, index, pkey);
  }

  @Override
  public int ibv_get_pkey_index(long context, byte port, short pkey) {
    return (int) symbolOfObject("ibv_get_pkey_index", 20, MINUS_ONE, context, port, pkey);
  }

  @Override
  public void _ibv_query_comp_cntr_caps(long context, long caps, long capsSize) {
    symbolOfObject("_ibv_query_comp_cntr_caps", 65, ERRNO, context, caps, capsSize);
  }

  @Override
  public long ibv_alloc_pd(long context) {
    return symbolOfObject("ibv_alloc_pd", 0, NULL, context);
  }

  @Override
  public void ibv_dealloc_pd(long pd) {
    symbolOfObject("ibv_dealloc_pd", 0, ERRNO, pd);
  }

  @Override
  public long ibv_import_pd(long context, int handle) {
    return symbolOfObject("ibv_import_pd", 31, NULL, context, handle);
  }

  @Override
  public void ibv_unimport_pd(long pd) {
    symbolOfObject("ibv_unimport_pd", 31, NEVER, pd);
  }

  @Override
  public long ibv_reg_mr(long pd, long address, long length, int access) {
    return symbolOfObject("ibv_reg_mr", 0, NULL, pd, address, length, access);
  }

  @Override
  public long ibv_reg_mr_iova(long pd, long address, long length, long iova, int access) {
    return symbolOfObject("ibv_reg_mr_iova", 25, NULL, pd, address, length, iova, access);
  }

  @Override
  public long ibv_reg_mr_iova2(long pd, long address, long length, long iova, int access) {
    return symbolOfObject("ibv_reg_mr_iova2", 28, NULL, pd, address, length, iova, access);
  }

  @Override
  public long ibv_reg_dmabuf_mr(long pd, long offset, long length, long iova, int fd, int access) {
    return symbolOfObject("ibv_reg_dmabuf_mr", 34, NULL, pd, offset, length, iova, fd, access);
  }

  @Override
  public long ibv_reg_mr_ex(long pd, long mrInitAttr) {
    return symbolOfObject("ibv_reg_mr_ex", 59, NULL, pd, mrInitAttr);
  }

  @Override
  public int ibv_rereg_mr(long mr, int flags, long pd, long address, long length, int access) {
    return (int)
        symbolOfObject("ibv_rereg_mr", 0, NEGATIVE, mr, flags, pd, address, length, access);
  }

  @Override
  public void ibv_dereg_mr(long mr) {
    symbolOfObject("ibv_dereg_mr", 0, ERRNO, mr);
  }

  @Override
  public long ibv_import_mr(long pd, int handle) {
    return symbolOfObject("ibv_import_mr", 31, NULL, pd, handle);
  }

  @Override
  public void ibv_unimport_mr(long mr) {
    symbolOfObject("ibv_unimport_mr", 31, NEVER, mr);
  }

  @Override
  public long ibv_alloc_buf(long pd, long size, long buf) {
    return symbolOfObject("ibv_alloc_buf", 64, NULL, pd, size, buf);
  }

  @Override
  public void ibv_free_buf(long buf) {
    symbolOfObject("ibv_free_buf", 64, NEVER, buf);
  }

  @Override
  public long ibv_reg_buf_mr(long pd, long buf, long address, long length, int access) {
    return symbolOfObject("ibv_reg_buf_mr", 64, NULL, pd, buf, address, length, access);
  }

  @Override
  public int ibv_export_buf_dmabuf_fd(long buf) {
    return (int) symbolOfObject("ibv_export_buf_dmabuf_fd", 65, MINUS_ONE, buf);
  }

  @Override
  public long ibv_alloc_dmah(long context, long dmahInitAttr) {
    return symbolOfObject("ibv_alloc_dmah", 59, NULL, context, dmahInitAttr);
  }

  @Override
  public void ibv_dealloc_dmah(long dmah) {
    symbolOfObject("ibv_dealloc_dmah", 59, ERRNO, dmah);
  }

  @Override
  public long ibv_import_dm(long context, int handle) {
    return symbolOfObject("ibv_import_dm", 35, NULL, context, handle);
  }

  @Override
  public void ibv_unimport_dm(long dm) {
    symbolOfObject("ibv_unimport_dm", 35, NEVER, dm);
  }

  @Override
  public int ibv_dm_export_dmabuf_fd(long dm) {
    return (int) symbolOfObject("ibv_dm_export_dmabuf_fd", 62, MINUS_ONE, dm);
  }

  @Override
  public long ibv_create_comp_channel(long context) {
    return symbolOfObject("ibv_create_comp_channel", 0, NULL, context);
  }

  @Override
  public void ibv_destroy_comp_channel(long channel) {
    symbolOfObject("ibv_destroy_comp_channel", 0, ERRNO, channel);
  }

  @Override
  public long ibv_create_cq(long context, int cqe, long cqContext, long channel, int compVector) {
    return symbolOfObject("ibv_create_cq", 0, NULL, context, cqe, cqContext, channel, compVector);
  }

  @Override
  public void ibv_resize_cq(long cq, int cqe) {
    symbolOfObject("ibv_resize_cq", 0, ERRNO, cq, cqe);
  }

  @Override
  public void ibv_destroy_cq(long cq) {
    symbolOfObject("ibv_destroy_cq", 0, ERRNO, cq);
  }

  @Override
  public void ibv_get_cq_event(long channel, long cq, long cqContext) {
    symbolOfObject("ibv_get_cq_event", 0, MINUS_ONE, channel, cq, cqContext);
  }

  @Override
  public void ibv_ack_cq_events(long cq, int events) {
    symbolOfObject("ibv_ack_cq_events", 0, NEVER, cq, events);
  }

  @Override
  public long ibv_create_comp_cntr(long context, long compCntrInitAttr) {
    return symbolOfObject("ibv_create_comp_cntr", 65, NULL, context, compCntrInitAttr);
  }

  @Override
  public void ibv_destroy_comp_cntr(long compCntr) {
    symbolOfObject("ibv_destroy_comp_cntr", 65, ERRNO, compCntr);
  }

  @Override
  public void ibv_set_comp_cntr(long compCntr, long value) {
    symbolOfObject("ibv_set_comp_cntr", 65, ERRNO, compCntr, value);
  }

  @Override
  public void ibv_set_err_comp_cntr(long compCntr, long value) {
    symbolOfObject("ibv_set_err_comp_cntr", 65, ERRNO, compCntr, value);
  }

  @Override
  public void ibv_inc_comp_cntr(long compCntr, long amount) {
    symbolOfObject("ibv_inc_comp_cntr", 65, ERRNO, compCntr, amount);
  }

  @Override
  public void ibv_inc_err_comp_cntr(long compCntr, long amount) {
    symbolOfObject("ibv_inc_err_comp_cntr", 65, ERRNO, compCntr, amount);
  }

  @Override
  public void ibv_read_comp_cntr(long compCntr, long value) {
    symbolOfObject("ibv_read_comp_cntr", 65, ERRNO, compCntr, value);
  }

  @Override
  public void ibv_read_err_comp_cntr(long compCntr, long value) {
    symbolOfObject("ibv_read_err_comp_cntr", 65, ERRNO, compCntr, value);
  }

  @Override
  public long ibv_create_qp(long pd, long qpInitAttr) {
    return symbolOfObject("ibv_create_qp", 0, NULL, pd, qpInitAttr);
  }

  @Override
  public void ibv_modify_qp(long qp, long qpAttr, int mask) {
    symbolOfObject("ibv_modify_qp", 0, ERRNO, qp, qpAttr, mask);
  }

  @Override
  public void ibv_query_qp(long qp, long qpAttr, int mask, long qpInitAttr) {
    symbolOfObject("ibv_query_qp", 0, ERRNO, qp, qpAttr, mask, qpInitAttr);
  }

  @Override
  public void ibv_destroy_qp(long qp) {
    symbolOfObject("ibv_destroy_qp", 0, ERRNO, qp);
  }

  @Override
  public long ibv_qp_to_qp_ex(long qp) {
    return symbolOfObject("ibv_qp_to_qp_ex", 24, NEVER, qp);
  }

  @Override
  public int ibv_query_qp_data_in_order(long qp, int opcode, int flags) {
    return (int) symbolOfObject("ibv_query_qp_data_in_order", 36, NEVER, qp, opcode, flags);
  }

  @Override
  public void ibv_set_ece(long qp, long ece) {
    symbolOfObject("ibv_set_ece", 31, ERRNO, qp, ece);
  }

  @Override
  public void ibv_query_ece(long qp, long ece) {
    symbolOfObject("ibv_query_ece", 31, ERRNO, qp, ece);
  }

  @Override
  public void ibv_qp_attach_comp_cntr(long qp, long compCntr, long attr) {
    symbolOfObject("ibv_qp_attach_comp_cntr", 65, ERRNO, qp, compCntr, attr);
  }

  @Override
  public void ibv_attach_mcast(long qp, long gid, short lid) {
    symbolOfObject("ibv_attach_mcast", 0, ERRNO, qp, gid, lid);
  }

  @Override
  public void ibv_detach_mcast(long qp, long gid, short lid) {
    symbolOfObject("ibv_detach_mcast", 0, ERRNO, qp, gid, lid);
  }

  @Override
  public long ibv_create_srq(long pd, long srqInitAttr) {
    return symbolOfObject("ibv_create_srq", 0, NULL, pd, srqInitAttr);
  }

  @Override
  public void ibv_modify_srq(long srq, long srqAttr, int mask) {
    symbolOfObject("ibv_modify_srq", 0, ERRNO, srq, srqAttr, mask);
  }

  @Override
  public void ibv_query_srq(long srq, long srqAttr) {
    symbolOfObject("ibv_query_srq", 0, ERRNO, srq, srqAttr);
  }

  @Override
  public void ibv_destroy_srq(long srq) {
    symbolOfObject("ibv_destroy_srq", 0, ERRNO, srq);
  }

  @Override
  public long ibv_create_ah(long pd, long ahAttr) {
    return symbolOfObject("ibv_create_ah", 0, NULL, pd, ahAttr);
  }

  @Override
  public long ibv_create_ah_from_wc(long pd, long wc, long grh, byte port) {
    return symbolOfObject("ibv_create_ah_from_wc", 0, NULL, pd, wc, grh, port);
  }

  @Override
  public void ibv_init_ah_from_wc(long context, byte port, long wc, long grh, long ahAttr) {
    symbolOfObject("ibv_init_ah_from_wc", 0, MINUS_ONE, context, port, wc, grh, ahAttr);
  }

  @Override
  public void ibv_destroy_ah(long ah) {
    symbolOfObject("ibv_destroy_ah", 0, ERRNO, ah);
  }

  @Override
  public void ibv_resolve_eth_l2_from_gid(long context, long ahAttr, long ethMac, long vid) {
    symbolOfObject("ibv_resolve_eth_l2_from_gid", 0, ERRNO, context, ahAttr, ethMac, vid);
  }

  @Override
  public void ibv_get_async_event(long context, long event) {
    symbolOfObject("ibv_get_async_event", 0, MINUS_ONE, context, event);
  }

  @Override
  public void ibv_ack_async_event(long event) {
    symbolOfObject("ibv_ack_async_event", 0, NEVER, event);
  }

  @Override
  public long ibv_node_type_str(int nodeType) {
    return symbol("ibv_node_type_str", 0, NEVER, nodeType);
  }

  @Override
  public long ibv_port_state_str(int portState) {
    return symbol("ibv_port_state_str", 0, NEVER, portState);
  }

  @Override
  public long ibv_event_type_str(int eventType) {
    return symbol("ibv_event_type_str", 0, NEVER, eventType);
  }

  @Override
  public long ibv_wc_status_str(int status) {
    return symbol("ibv_wc_status_str", 0, NEVER, status);
  }

  @Override
  public int ibv_rate_to_mult(int rate) {
    return (int) symbol("ibv_rate_to_mult", 0, NEVER, rate);
  }

  @Override
  public int mult_to_ibv_rate(int mult) {
    return (int) symbol("mult_to_ibv_rate", 0, NEVER, mult);
  }

  @Override
  public int ibv_rate_to_mbps(int rate) {
    return (int) symbol("ibv_rate_to_mbps", 0, NEVER, rate);
  }

  @Override
  public int mbps_to_ibv_rate(int mbps) {
    return (int) symbol("mbps_to_ibv_rate", 0, NEVER, mbps);
  }

  @Override
  public void ibv_advise_mr(long pd, int advice, int flags, long sgList, int numSge) {
    op("ibv_advise_mr", OBJECT, "advise_mr", 22, ERRNO, pd, advice, flags, sgList, numSge);
  }

  @Override
  public long ibv_alloc_dm(long context, long attr) {
    return op("ibv_alloc_dm", CONTEXT, "alloc_dm", 18, NULL, context, attr);
  }

  @Override
  public void ibv_free_dm(long dm) {
    op("ibv_free_dm", OBJECT, "free_dm", 18, ERRNO, dm);
  }

  @Override
  public long ibv_reg_dm_mr(long pd, long dm, long dmOffset, long length, int access) {
    return op("ibv_reg_dm_mr", OBJECT, "reg_dm_mr", 18, NULL, pd, dm, dmOffset, length, access);
  }

  @Override
  public long ibv_alloc_null_mr(long pd) {
    return op("ibv_alloc_null_mr", OBJECT, "alloc_null_mr", 20, NULL, pd);
  }

  @Override
  public long ibv_alloc_parent_domain(long context, long attr) {
    return op("ibv_alloc_parent_domain", CONTEXT, "alloc_parent_domain", 17, NULL, context, attr);
  }

  @Override
  public long ibv_alloc_td(long context, long initAttr) {
    return op("ibv_alloc_td", CONTEXT, "alloc_td", 17, NULL, context, initAttr);
  }

  @Override
  public void ibv_dealloc_td(long td) {
    op("ibv_dealloc_td", OBJECT, "dealloc_td", 17, ERRNO, td);
  }

  @Override
  public long ibv_open_xrcd(long context, long xrcdInitAttr) {
    return op("ibv_open_xrcd", CONTEXT, "open_xrcd", 0, NULL, context, xrcdInitAttr);
  }

  @Override
  public void ibv_close_xrcd(long xrcd) {
    op("ibv_close_xrcd", OBJECT, "close_xrcd", 0, ERRNO, xrcd);
  }

  @Override
  public long ibv_create_cq_ex(long context, long cqAttr) {
    return op("ibv_create_cq_ex", CONTEXT, "create_cq_ex", 0, NULL, context, cqAttr);
  }

  @Override
  public void ibv_modify_cq(long cq, long attr) {
    op("ibv_modify_cq", OBJECT, "modify_cq", 16, ERRNO, cq, attr);
  }

  @Override
  public long ibv_open_qp(long context, long qpOpenAttr) {
    return op("ibv_open_qp", CONTEXT, "open_qp", 0, NULL, context, qpOpenAttr);
  }

  @Override
  public void ibv_modify_qp_rate_limit(long qp, long attr) {
    op("ibv_modify_qp_rate_limit", OBJECT, "modify_qp_rate_limit", 18, ERRNO, qp, attr);
  }

  @Override
  public void ibv_get_srq_num(long srq, long srqNum) {
    op("ibv_get_srq_num", OBJECT, "get_srq_num", 0, ERRNO, srq, srqNum);
  }

  @Override
  public void ibv_modify_wq(long wq, long wqAttr) {
    op("ibv_modify_wq", OBJECT, "modify_wq", 0, ERRNO, wq, wqAttr);
  }

  @Override
  public void ibv_destroy_wq(long wq) {
    op("ibv_destroy_wq", OBJECT, "destroy_wq", 0, ERRNO, wq);
  }

  @Override
  public long ibv_create_rwq_ind_table(long context, long initAttr) {
    return op(
        "ibv_create_rwq_ind_table", CONTEXT, "create_rwq_ind_table", 0, NULL, context, initAttr);
  }

  @Override
  public void ibv_destroy_rwq_ind_table(long rwqIndTable) {
    op("ibv_destroy_rwq_ind_table", OBJECT, "destroy_rwq_ind_table", 0, ERRNO, rwqIndTable);
  }

  @Override
  public long ibv_create_flow(long qp, long flowAttr) {
    return op("ibv_create_flow", OBJECT, "ibv_create_flow", 0, NULL, qp, flowAttr);
  }

  @Override
  public void ibv_destroy_flow(long flow) {
    op("ibv_destroy_flow", FLOW, "ibv_destroy_flow", 0, ERRNO, flow);
  }

  @Override
  public long ibv_create_flow_action_esp(long context, long esp) {
    return op(
        "ibv_create_flow_action_esp", CONTEXT, "create_flow_action_esp", 18, NULL, context, esp);
  }

  @Override
  public void ibv_modify_flow_action_esp(long action, long esp) {
    op("ibv_modify_flow_action_esp", OBJECT, "modify_flow_action_esp", 18, ERRNO, action, esp);
  }

  @Override
  public void ibv_destroy_flow_action(long action) {
    op("ibv_destroy_flow_action", OBJECT, "destroy_flow_action", 18, ERRNO, action);
  }

  @Override
  public long ibv_create_counters(long context, long initAttr) {
    return op("ibv_create_counters", CONTEXT, "create_counters", 19, NULL, context, initAttr);
  }

  @Override
  public void ibv_destroy_counters(long counters) {
    op("ibv_destroy_counters", OBJECT, "destroy_counters", 19, ERRNO, counters);
  }

  @Override
  public void ibv_attach_counters_point_flow(long counters, long attr, long flow) {
    op(
        "ibv_attach_counters_point_flow",
        OBJECT,
        "attach_counters_point_flow",
        19,
        ERRNO,
        counters,
        attr,
        flow);
  }

  @Override
  public void ibv_read_counters(long counters, long values, int numCounters, int flags) {
    op(
        "ibv_read_counters",
        OBJECT,
        "read_counters",
        19,
        ERRNO,
        counters,
        values,
        numCounters,
        flags);
  }

  @Override
  public void ibv_query_rt_values_ex(long context, long values) {
    op("ibv_query_rt_values_ex", CONTEXT, "query_rt_values", 0, ERRNO, context, values);
  }

  @Override
  public long ibv_alloc_mw(long pd, int type) {
    return op("ibv_alloc_mw", OBJECT, "ops.alloc_mw", 0, NULL, pd, type);
  }

  @Override
  public void ibv_dealloc_mw(long mw) {
    op("ibv_dealloc_mw", OBJECT, "ops.dealloc_mw", 0, ERRNO, mw);
  }

  @Override
  public void bind_mw(long qp, long mw, long mwBind) {
    op("bind_mw", OBJECT, "ops.bind_mw", 0, ERRNO, qp, mw, mwBind);
  }

  @Override
  public void query_port(long context, byte port, long portAttr, long size) {
    op("query_port", CONTEXT, "query_port", 22, ERRNO, context, port, portAttr, size);
  }

  @Override
  public void query_device_ex(long context, long input, long attr, long size) {
    op("query_device_ex", CONTEXT, "query_device_ex", 0, ERRNO, context, input, attr, size);
  }

  @Override
  public long create_qp_ex(long context, long qpInitAttrEx) {
    return op("create_qp_ex", CONTEXT, "create_qp_ex", 0, NULL, context, qpInitAttrEx);
  }

  @Override
  public long create_srq_ex(long context, long srqInitAttrEx) {
    return op("create_srq_ex", CONTEXT, "create_srq_ex", 0, NULL, context, srqInitAttrEx);
  }

  @Override
  public long create_wq(long context, long wqInitAttr) {
    return op("create_wq", CONTEXT, "create_wq", 0, NULL, context, wqInitAttr);
  }

  @Override
  public void ___ibv_query_port(long context, byte port, long portAttr) {
    requireFirst("___ibv_query_port", context, port, portAttr);
    Verbs.super.___ibv_query_port(context, port, portAttr);
    returned("___ibv_query_port", 0, context, port, portAttr);
  }

  @Override
  public void ibv_query_gid_ex(long context, int port, int index, long entry, int flags) {
    requireFirst("ibv_query_gid_ex", context, port, index, entry, flags);
    Verbs.super.ibv_query_gid_ex(context, port, index, entry, flags);
    returned("ibv_query_gid_ex", 0, context, port, index, entry, flags);
  }

  @Override
  public long ibv_query_gid_table(long context, long entries, long max, int flags) {
    requireFirst("ibv_query_gid_table", context, entries, max, flags);
    return returned(
        "ibv_query_gid_table",
        Verbs.super.ibv_query_gid_table(context, entries, max, flags),
        context,
        entries,
        max,
        flags);
  }

  @Override
  public void ibv_query_comp_cntr_caps(long context, long caps) {
    requireFirst("ibv_query_comp_cntr_caps", context, caps);
    Verbs.super.ibv_query_comp_cntr_caps(context, caps);
    returned("ibv_query_comp_cntr_caps", 0, context, caps);
  }

  @Override
  public void ibv_query_device_ex(long context, long input, long attr) {
    requireFirst("ibv_query_device_ex", context, input, attr);
    Verbs.super.ibv_query_device_ex(context, input, attr);
    returned("ibv_query_device_ex", 0, context, input, attr);
  }

  @Override
  public long __ibv_reg_mr(long pd, long address, long length, int access) {
    requireFirst("__ibv_reg_mr", pd, address, length, access);
    return returned(
        "__ibv_reg_mr",
        Verbs.super.__ibv_reg_mr(pd, address, length, access),
        pd,
        address,
        length,
        access);
  }

  @Override
  public long __ibv_reg_mr_iova(long pd, long address, long length, long iova, int access) {
    requireFirst("__ibv_reg_mr_iova", pd, address, length, iova, access);
    return returned(
        "__ibv_reg_mr_iova",
        Verbs.super.__ibv_reg_mr_iova(pd, address, length, iova, access),
        pd,
        address,
        length,
        iova,
        access);
  }

  @Override
  public void ibv_bind_mw(long qp, long mw, long mwBind) {
    requireFirst("ibv_bind_mw", qp, mw, mwBind);
    Verbs.super.ibv_bind_mw(qp, mw, mwBind);
    returned("ibv_bind_mw", 0, qp, mw, mwBind);
  }

  @Override
  public long ibv_create_qp_ex(long context, long qpInitAttrEx) {
    requireFirst("ibv_create_qp_ex", context, qpInitAttrEx);
    return returned(
        "ibv_create_qp_ex",
        Verbs.super.ibv_create_qp_ex(context, qpInitAttrEx),
        context,
        qpInitAttrEx);
  }

  @Override
  public long ibv_create_srq_ex(long context, long srqInitAttrEx) {
    requireFirst("ibv_create_srq_ex", context, srqInitAttrEx);
    return returned(
        "ibv_create_srq_ex",
        Verbs.super.ibv_create_srq_ex(context, srqInitAttrEx),
        context,
        srqInitAttrEx);
  }

  @Override
  public long ibv_create_wq(long context, long wqInitAttr) {
    requireFirst("ibv_create_wq", context, wqInitAttr);
    return returned(
        "ibv_create_wq", Verbs.super.ibv_create_wq(context, wqInitAttr), context, wqInitAttr);
  }

  @Override
  public int ibv_post_srq_ops(long srq, long op, long badOp) {
    requireFirst("ibv_post_srq_ops", srq, op, badOp);
    return (int)
        returned("ibv_post_srq_ops", Verbs.super.ibv_post_srq_ops(srq, op, badOp), srq, op, badOp);
  }

  @Override
  public int ibv_post_wq_recv(long wq, long recvWr, long badRecvWr) {
    requireFirst("ibv_post_wq_recv", wq, recvWr, badRecvWr);
    return (int)
        returned(
            "ibv_post_wq_recv",
            Verbs.super.ibv_post_wq_recv(wq, recvWr, badRecvWr),
            wq,
            recvWr,
            badRecvWr);
  }

  @Override
  public int ibv_memcpy_to_dm(long dm, long dmOffset, long hostAddress, long length) {
    requireFirst("ibv_memcpy_to_dm", dm, dmOffset, hostAddress, length);
    return (int)
        returned(
            "ibv_memcpy_to_dm",
            Verbs.super.ibv_memcpy_to_dm(dm, dmOffset, hostAddress, length),
            dm,
            dmOffset,
            hostAddress,
            length);
  }

  @Override
  public int ibv_memcpy_from_dm(long hostAddress, long dm, long dmOffset, long length) {
    requireFirst("ibv_memcpy_from_dm", hostAddress, dm, dmOffset, length);
    return (int)
        returned(
            "ibv_memcpy_from_dm",
            Verbs.super.ibv_memcpy_from_dm(hostAddress, dm, dmOffset, length),
            hostAddress,
            dm,
            dmOffset,
            length);
  }
}
