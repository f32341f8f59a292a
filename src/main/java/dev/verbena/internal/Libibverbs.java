package dev.verbena.internal;

import static dev.verbena.internal.ErrorConvention.ERRNO;
import static dev.verbena.internal.ErrorConvention.MINUS_ONE;
import static dev.verbena.internal.ErrorConvention.NEGATIVE;
import static dev.verbena.internal.ErrorConvention.NEGATIVE_ERRNO;
import static dev.verbena.internal.ErrorConvention.NEVER;
import static dev.verbena.internal.ErrorConvention.NULL;

/**
 * The functions that libibverbs exports: one line for each symbol, with its C name.
 *
 * <p>Pointers and sizes are {@code long}, 32-bit numbers and enums {@code int}; {@code __be}
 * numbers are in memory order. A call that fails by its error convention throws {@link
 * dev.verbena.VerbsException}; a function that only returns success or failure is {@code void}.
 */
public interface Libibverbs {
  // Devices
  @Symbol(fails = NULL, nullable = true)
  long ibv_get_device_list(long numDevices);

  @Symbol(fails = NEVER)
  void ibv_free_device_list(long list);

  @Symbol(fails = NULL)
  long ibv_get_device_name(long device);

  @Symbol(fails = NEVER)
  long ibv_get_device_guid(long device);

  @Symbol(fails = NEVER, since = 30)
  int ibv_get_device_index(long device);

  @Symbol(fails = NULL)
  long ibv_open_device(long device);

  @Symbol(fails = ERRNO)
  void ibv_close_device(long context);

  @Symbol(fails = NULL, since = 31)
  long ibv_import_device(int commandFd);

  @Symbol(fails = ERRNO)
  void ibv_fork_init();

  @Symbol(fails = NEVER, since = 35)
  int ibv_is_fork_initialized();

  // Queries
  @Symbol(fails = ERRNO)
  void ibv_query_device(long context, long deviceAttr);

  @Symbol(fails = ERRNO)
  void ibv_query_port(long context, byte port, long compatPortAttr);

  @Symbol(fails = ERRNO, since = 62)
  void ibv_query_port_speed(long context, int port, long speed);

  @Symbol(fails = MINUS_ONE)
  void ibv_query_gid(long context, byte port, int index, long gid);

  @Symbol(fails = ERRNO, since = 32)
  void _ibv_query_gid_ex(long context, int port, int index, long entry, int flags, long entrySize);

  @Symbol(fails = NEGATIVE_ERRNO, since = 32)
  long _ibv_query_gid_table(long context, long entries, long max, int flags, long entrySize);

  @Symbol(fails = MINUS_ONE)
  void ibv_query_pkey(long context, byte port, int index, long pkey);

  @Symbol(fails = MINUS_ONE, since = 20)
  int ibv_get_pkey_index(long context, byte port, short pkey);

  @Symbol(fails = ERRNO, since = 65)
  void _ibv_query_comp_cntr_caps(long context, long caps, long capsSize);

  // Protection domains and memory
  @Symbol(fails = NULL)
  long ibv_alloc_pd(long context);

  @Symbol(fails = ERRNO)
  void ibv_dealloc_pd(long pd);

  @Symbol(fails = NULL, since = 31)
  long ibv_import_pd(long context, int handle);

  @Symbol(fails = NEVER, since = 31)
  void ibv_unimport_pd(long pd);

  @Symbol(fails = NULL)
  long ibv_reg_mr(long pd, long address, long length, int access);

  @Symbol(fails = NULL, since = 25)
  long ibv_reg_mr_iova(long pd, long address, long length, long iova, int access);

  @Symbol(fails = NULL, since = 28)
  long ibv_reg_mr_iova2(long pd, long address, long length, long iova, int access);

  @Symbol(fails = NULL, since = 34)
  long ibv_reg_dmabuf_mr(long pd, long offset, long length, long iova, int fd, int access);

  @Symbol(fails = NULL, since = 59)
  long ibv_reg_mr_ex(long pd, long mrInitAttr);

  @Symbol(fails = NEGATIVE)
  int ibv_rereg_mr(long mr, int flags, long pd, long address, long length, int access);

  @Symbol(fails = ERRNO)
  void ibv_dereg_mr(long mr);

  @Symbol(fails = NULL, since = 31)
  long ibv_import_mr(long pd, int handle);

  @Symbol(fails = NEVER, since = 31)
  void ibv_unimport_mr(long mr);

  @Symbol(fails = NULL, since = 64)
  long ibv_alloc_buf(long pd, long size, long buf);

  @Symbol(fails = NEVER, since = 64)
  void ibv_free_buf(long buf);

  @Symbol(fails = NULL, since = 64)
  long ibv_reg_buf_mr(long pd, long buf, long address, long length, int access);

  @Symbol(fails = MINUS_ONE, since = 65)
  int ibv_export_buf_dmabuf_fd(long buf);

  @Symbol(fails = NULL, since = 59)
  long ibv_alloc_dmah(long context, long dmahInitAttr);

  @Symbol(fails = ERRNO, since = 59)
  void ibv_dealloc_dmah(long dmah);

  @Symbol(fails = NULL, since = 35)
  long ibv_import_dm(long context, int handle);

  @Symbol(fails = NEVER, since = 35)
  void ibv_unimport_dm(long dm);

  @Symbol(fails = MINUS_ONE, since = 62)
  int ibv_dm_export_dmabuf_fd(long dm);

  // Completion queues, channels, counters
  @Symbol(fails = NULL)
  long ibv_create_comp_channel(long context);

  @Symbol(fails = ERRNO)
  void ibv_destroy_comp_channel(long channel);

  @Symbol(fails = NULL)
  long ibv_create_cq(long context, int cqe, long cqContext, long channel, int compVector);

  @Symbol(fails = ERRNO)
  void ibv_resize_cq(long cq, int cqe);

  @Symbol(fails = ERRNO)
  void ibv_destroy_cq(long cq);

  @Symbol(fails = MINUS_ONE)
  void ibv_get_cq_event(long channel, long cq, long cqContext);

  @Symbol(fails = NEVER)
  void ibv_ack_cq_events(long cq, int events);

  @Symbol(fails = NULL, since = 65)
  long ibv_create_comp_cntr(long context, long compCntrInitAttr);

  @Symbol(fails = ERRNO, since = 65)
  void ibv_destroy_comp_cntr(long compCntr);

  @Symbol(fails = ERRNO, since = 65)
  void ibv_set_comp_cntr(long compCntr, long value);

  @Symbol(fails = ERRNO, since = 65)
  void ibv_set_err_comp_cntr(long compCntr, long value);

  @Symbol(fails = ERRNO, since = 65)
  void ibv_inc_comp_cntr(long compCntr, long amount);

  @Symbol(fails = ERRNO, since = 65)
  void ibv_inc_err_comp_cntr(long compCntr, long amount);

  @Symbol(fails = ERRNO, since = 65)
  void ibv_read_comp_cntr(long compCntr, long value);

  @Symbol(fails = ERRNO, since = 65)
  void ibv_read_err_comp_cntr(long compCntr, long value);

  // Queue pairs
  @Symbol(fails = NULL)
  long ibv_create_qp(long pd, long qpInitAttr);

  @Symbol(fails = ERRNO)
  void ibv_modify_qp(long qp, long qpAttr, int mask);

  @Symbol(fails = ERRNO)
  void ibv_query_qp(long qp, long qpAttr, int mask, long qpInitAttr);

  @Symbol(fails = ERRNO)
  void ibv_destroy_qp(long qp);

  @Symbol(fails = NEVER, since = 24)
  long ibv_qp_to_qp_ex(long qp);

  @Symbol(fails = NEVER, since = 36)
  int ibv_query_qp_data_in_order(long qp, int opcode, int flags);

  @Symbol(fails = ERRNO, since = 31)
  void ibv_set_ece(long qp, long ece);

  @Symbol(fails = ERRNO, since = 31)
  void ibv_query_ece(long qp, long ece);

  @Symbol(fails = ERRNO, since = 65)
  void ibv_qp_attach_comp_cntr(long qp, long compCntr, long attr);

  @Symbol(fails = ERRNO)
  void ibv_attach_mcast(long qp, long gid, short lid);

  @Symbol(fails = ERRNO)
  void ibv_detach_mcast(long qp, long gid, short lid);

  // Shared receive queues
  @Symbol(fails = NULL)
  long ibv_create_srq(long pd, long srqInitAttr);

  @Symbol(fails = ERRNO)
  void ibv_modify_srq(long srq, long srqAttr, int mask);

  @Symbol(fails = ERRNO)
  void ibv_query_srq(long srq, long srqAttr);

  @Symbol(fails = ERRNO)
  void ibv_destroy_srq(long srq);

  // Address handles
  @Symbol(fails = NULL)
  long ibv_create_ah(long pd, long ahAttr);

  @Symbol(fails = NULL)
  long ibv_create_ah_from_wc(long pd, long wc, long grh, byte port);

  @Symbol(fails = MINUS_ONE)
  void ibv_init_ah_from_wc(long context, byte port, long wc, long grh, long ahAttr);

  @Symbol(fails = ERRNO)
  void ibv_destroy_ah(long ah);

  @Symbol(fails = ERRNO)
  void ibv_resolve_eth_l2_from_gid(long context, long ahAttr, long ethMac, long vid);

  // Asynchronous events
  @Symbol(fails = MINUS_ONE)
  void ibv_get_async_event(long context, long event);

  @Symbol(fails = NEVER)
  void ibv_ack_async_event(long event);

  // Texts and rates
  @Symbol(fails = NEVER)
  long ibv_node_type_str(int nodeType);

  @Symbol(fails = NEVER)
  long ibv_port_state_str(int portState);

  @Symbol(fails = NEVER)
  long ibv_event_type_str(int eventType);

  @Symbol(fails = NEVER)
  long ibv_wc_status_str(int status);

  @Symbol(fails = NEVER)
  int ibv_rate_to_mult(int rate);

  @Symbol(fails = NEVER)
  int mult_to_ibv_rate(int mult);

  @Symbol(fails = NEVER)
  int ibv_rate_to_mbps(int rate);

  @Symbol(fails = NEVER)
  int mbps_to_ibv_rate(int mbps);
}
