package dev.verbena.internal;

import static dev.verbena.internal.ErrorConvention.ADDRINFO;
import static dev.verbena.internal.ErrorConvention.MINUS_ONE;
import static dev.verbena.internal.ErrorConvention.NEVER;
import static dev.verbena.internal.ErrorConvention.NULL;

/**
 * The functions that librdmacm exports: one line for each symbol, with its C name, as in {@link
 * Libibverbs}.
 */
@SharedLibrary(
    soname = "librdmacm.so.1",
    packages = "librdmacm1 and ibverbs-providers",
    anchor = "rdma_create_id")
public interface Librdmacm {
  // Event channels and events
  @Symbol(fails = NULL)
  long rdma_create_event_channel();

  @Symbol(fails = NEVER)
  void rdma_destroy_event_channel(long channel);

  @Symbol(fails = MINUS_ONE)
  void rdma_get_cm_event(long channel, long event);

  @Symbol(fails = NEVER) // It fails without an event only.
  int rdma_ack_cm_event(long event);

  @Symbol(fails = MINUS_ONE, since = 60)
  void rdma_write_cm_event(long id, int eventType, int status, long arg);

  @Symbol(fails = NEVER)
  long rdma_event_str(int eventType);

  // Identifiers
  @Symbol(fails = MINUS_ONE, nullable = true)
  void rdma_create_id(long channel, long id, long context, int portSpace);

  @Symbol(fails = MINUS_ONE)
  void rdma_destroy_id(long id);

  @Symbol(fails = MINUS_ONE)
  void rdma_migrate_id(long id, long channel);

  @Symbol(fails = MINUS_ONE)
  void rdma_set_option(long id, int level, int name, long value, long length);

  @Symbol(fails = MINUS_ONE)
  void rdma_create_ep(long id, long addrinfo, long pd, long qpInitAttr);

  @Symbol(fails = NEVER)
  void rdma_destroy_ep(long id);

  @Symbol(fails = NEVER)
  short rdma_get_src_port(long id);

  @Symbol(fails = NEVER)
  short rdma_get_dst_port(long id);

  // Addresses and routes
  @Symbol(fails = ADDRINFO, nullable = true)
  void rdma_getaddrinfo(long node, long service, long hints, long result);

  @Symbol(fails = NEVER, nullable = true)
  void rdma_freeaddrinfo(long addrinfo);

  @Symbol(fails = MINUS_ONE)
  void rdma_bind_addr(long id, long address);

  @Symbol(fails = MINUS_ONE)
  void rdma_resolve_addr(long id, long source, long destination, int timeoutMs);

  @Symbol(fails = MINUS_ONE)
  void rdma_resolve_route(long id, int timeoutMs);

  @Symbol(fails = ADDRINFO, since = 60)
  void rdma_resolve_addrinfo(long id, long node, long service, long hints);

  @Symbol(fails = MINUS_ONE, since = 60)
  void rdma_query_addrinfo(long id, long result);

  // Connections
  @Symbol(fails = MINUS_ONE)
  void rdma_listen(long id, int backlog);

  @Symbol(fails = MINUS_ONE)
  void rdma_get_request(long listener, long id);

  @Symbol(fails = MINUS_ONE)
  void rdma_connect(long id, long connParam);

  @Symbol(fails = MINUS_ONE)
  void rdma_accept(long id, long connParam);

  @Symbol(fails = MINUS_ONE)
  void rdma_reject(long id, long privateData, byte length);

  @Symbol(fails = MINUS_ONE, since = 31)
  void rdma_reject_ece(long id, long privateData, byte length);

  @Symbol(fails = MINUS_ONE, since = 23)
  void rdma_establish(long id);

  @Symbol(fails = MINUS_ONE)
  void rdma_notify(long id, int eventType);

  @Symbol(fails = MINUS_ONE)
  void rdma_disconnect(long id);

  @Symbol(fails = MINUS_ONE, since = 31)
  void rdma_set_local_ece(long id, long ece);

  @Symbol(fails = MINUS_ONE, since = 31)
  void rdma_get_remote_ece(long id, long ece);

  // Queue pairs and shared receive queues of an identifier
  @Symbol(fails = MINUS_ONE)
  void rdma_create_qp(long id, long pd, long qpInitAttr);

  @Symbol(fails = MINUS_ONE)
  void rdma_create_qp_ex(long id, long qpInitAttrEx);

  @Symbol(fails = NEVER)
  void rdma_destroy_qp(long id);

  @Symbol(fails = MINUS_ONE, since = 23)
  void rdma_init_qp_attr(long id, long qpAttr, long mask);

  @Symbol(fails = MINUS_ONE)
  void rdma_create_srq(long id, long pd, long srqInitAttr);

  @Symbol(fails = MINUS_ONE)
  void rdma_create_srq_ex(long id, long srqInitAttrEx);

  @Symbol(fails = NEVER)
  void rdma_destroy_srq(long id);

  // Multicast
  @Symbol(fails = MINUS_ONE)
  void rdma_join_multicast(long id, long address, long context);

  @Symbol(fails = MINUS_ONE, since = 16)
  void rdma_join_multicast_ex(long id, long joinAttrEx, long context);

  @Symbol(fails = MINUS_ONE)
  void rdma_leave_multicast(long id, long address);

  // Devices
  @Symbol(fails = NULL, nullable = true)
  long rdma_get_devices(long numDevices);

  @Symbol(fails = NEVER)
  void rdma_free_devices(long list);
}
