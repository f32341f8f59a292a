package dev.verbena.internal;

import static dev.verbena.internal.ErrorConvention.ADDRINFO;
import static dev.verbena.internal.ErrorConvention.MINUS_ONE;
import static dev.verbena.internal.ErrorConvention.NEVER;
import static dev.verbena.internal.ErrorConvention.NULL;

/** The functions of {@link Librdmacm} in C. NativeFunctionsTest generates this class. */
final class NativeLibrdmacm extends NativeFunctions implements Librdmacm {
  NativeLibrdmacm(Library library) {
    super(library);
  }

  /** Loads the library. */
  static Library library() {
    return Library.of("librdmacm.so.1", "librdmacm1 and ibverbs-providers", "rdma_create_id");
  }

  @Override
  public long rdma_create_event_channel() {
    return symbol("rdma_create_event_channel", 0, NULL);
  }

  @Override
  public void rdma_destroy_event_channel(long channel) {
    symbolOfObject("rdma_destroy_event_channel", 0, NEVER, channel);
  }

  @Override
  public void rdma_get_cm_event(long channel, long event) {
    symbolOfObject("rdma_get_cm_event", 0, MINUS_ONE, channel, event);
  }

  @Override
  public int rdma_ack_cm_event(long event) {
    return (int) symbolOfObject("rdma_ack_cm_event", 0, NEVER, event);
  }

  @Override
  public void rdma_write_cm_event(long id, int eventType, int status, long arg) {
    symbolOfObject("rdma_write_cm_event", 60, MINUS_ONE, id, eventType, status, arg);
  }

  @Override
  public long rdma_event_str(int eventType) {
    return symbol("rdma_event_str", 0, NEVER, eventType);
  }

  @Override
  public void rdma_create_id(long channel, long id, long context, int portSpace) {
    symbol("rdma_create_id", 0, MINUS_ONE, channel, id, context, portSpace);
  }

  @Override
  public void rdma_destroy_id(long id) {
    symbolOfObject("rdma_destroy_id", 0, MINUS_ONE, id);
  }

  @Override
  public void rdma_migrate_id(long id, long channel) {
    symbolOfObject("rdma_migrate_id", 0, MINUS_ONE, id, channel);
  }

  @Override
  public void rdma_set_option(long id, int level, int name, long value, long length) {
    symbolOfObject("rdma_set_option", 0, MINUS_ONE, id, level, name, value, length);
  }

  @Override
  public void rdma_create_ep(long id, long addrinfo, long pd, long qpInitAttr) {
    symbolOfObject("rdma_create_ep", 0, MINUS_ONE, id, addrinfo, pd, qpInitAttr);
  }

  @Override
  public void rdma_destroy_ep(long id) {
    symbolOfObject("rdma_destroy_ep", 0, NEVER, id);
  }

  @Override
  public short rdma_get_src_port(long id) {
    return (short) symbolOfObject("rdma_get_src_port", 0, NEVER, id);
  }

  @Override
  public short rdma_get_dst_port(long id) {
    return (short) symbolOfObject("rdma_get_dst_port", 0, NEVER, id);
  }

  @Override
  public void rdma_getaddrinfo(long node, long service, long hints, long result) {
    symbol("rdma_getaddrinfo", 0, ADDRINFO, node, service, hints, result);
  }

  @Override
  public void rdma_freeaddrinfo(long addrinfo) {
    symbol("rdma_freeaddrinfo", 0, NEVER, addrinfo);
  }

  @Override
  public void rdma_bind_addr(long id, long address) {
    symbolOfObject("rdma_bind_addr", 0, MINUS_ONE, id, address);
  }

  @Override
  public void rdma_resolve_addr(long id, long source, long destination, int timeoutMs) {
    symbolOfObject("rdma_resolve_addr", 0, MINUS_ONE, id, source, destination, timeoutMs);
  }

  @Override
  public void rdma_resolve_route(long id, int timeoutMs) {
    symbolOfObject("rdma_resolve_route", 0, MINUS_ONE, id, timeoutMs);
  }

  @Override
  public void rdma_resolve_addrinfo(long id, long node, long service, long hints) {
    symbolOfObject("rdma_resolve_addrinfo", 60, ADDRINFO, id, node, service, hints);
  }

  @Override
  public void rdma_query_addrinfo(long id, long result) {
    symbolOfObject("rdma_query_addrinfo", 60, MINUS_ONE, id, result);
  }

  @Override
  public void rdma_listen(long id, int backlog) {
    symbolOfObject("rdma_listen", 0, MINUS_ONE, id, backlog);
  }

  @Override
  public void rdma_get_request(long listener, long id) {
    symbolOfObject("rdma_get_request", 0, MINUS_ONE, listener, id);
  }

  @Override
  public void rdma_connect(long id, long connParam) {
    symbolOfObject("rdma_connect", 0, MINUS_ONE, id, connParam);
  }

  @Override
  public void rdma_accept(long id, long connParam) {
    symbolOfObject("rdma_accept", 0, MINUS_ONE, id, connParam);
  }

  @Override
  public void rdma_reject(long id, long privateData, byte length) {
    symbolOfObject("rdma_reject", 0, MINUS_ONE, id, privateData, length);
  }

  @Override
  public void rdma_reject_ece(long id, long privateData, byte length) {
    symbolOfObject("rdma_reject_ece", 31, MINUS_ONE, id, privateData, length);
  }

  @Override
  public void rdma_establish(long id) {
    symbolOfObject("rdma_establish", 23, MINUS_ONE, id);
  }

  @Override
  public void rdma_notify(long id, int eventType) {
    symbolOfObject("rdma_notify", 0, MINUS_ONE, id, eventType);
  }

  @Override
  public void rdma_disconnect(long id) {
    symbolOfObject("rdma_disconnect", 0, MINUS_ONE, id);
  }

  @Override
  public void rdma_set_local_ece(long id, long ece) {
    symbolOfObject("rdma_set_local_ece", 31, MINUS_ONE, id, ece);
  }

  @Override
  public void rdma_get_remote_ece(long id, long ece) {
    symbolOfObject("rdma_get_remote_ece", 31, MINUS_ONE, id, ece);
  }

  @Override
  public void rdma_create_qp(long id, long pd, long qpInitAttr) {
    symbolOfObject("rdma_create_qp", 0, MINUS_ONE, id, pd, qpInitAttr);
  }

  @Override
  public void rdma_create_qp_ex(long id, long qpInitAttrEx) {
    symbolOfObject("rdma_create_qp_ex", 0, MINUS_ONE, id, qpInitAttrEx);
  }

  @Override
  public void rdma_destroy_qp(long id) {
    symbolOfObject("rdma_destroy_qp", 0, NEVER, id);
  }

  @Override
  public void rdma_init_qp_attr(long id, long qpAttr, long mask) {
    symbolOfObject("rdma_init_qp_attr", 23, MINUS_ONE, id, qpAttr, mask);
  }

  @Override
  public void rdma_create_srq(long id, long pd, long srqInitAttr) {
    symbolOfObject("rdma_create_srq", 0, MINUS_ONE, id, pd, srqInitAttr);
  }

  @Override
  public void rdma_create_srq_ex(long id, long srqInitAttrEx) {
    symbolOfObject("rdma_create_srq_ex", 0, MINUS_ONE, id, srqInitAttrEx);
  }

  @Override
  public void rdma_destroy_srq(long id) {
    symbolOfObject("rdma_destroy_srq", 0, NEVER, id);
  }

  @Override
  public void rdma_join_multicast(long id, long address, long context) {
    symbolOfObject("rdma_join_multicast", 0, MINUS_ONE, id, address, context);
  }

  @Override
  public void rdma_join_multicast_ex(long id, long joinAttrEx, long context) {
    symbolOfObject("rdma_join_multicast_ex", 16, MINUS_ONE, id, joinAttrEx, context);
  }

  @Override
  public void rdma_leave_multicast(long id, long address) {
    symbolOfObject("rdma_leave_multicast", 0, MINUS_ONE, id, address);
  }

  @Override
  public long rdma_get_devices(long numDevices) {
    return symbol("rdma_get_devices", 0, NULL, numDevices);
  }

  @Override
  public void rdma_free_devices(long list) {
    symbolOfObject("rdma_free_devices", 0, NEVER, list);
  }
}
