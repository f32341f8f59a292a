package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** What happened on a device beside the data path: {@code enum ibv_event_type}. */
public enum AsyncEventType implements Codes.Code {
  /** A completion queue overran; completions are lost, its queue pairs fail. Make it anew. */
  CQ_ERR(rdma_h.IBV_EVENT_CQ_ERR(), Concerns.COMPLETION_QUEUE, "CQ error"),
  /** A queue pair failed and reports no more completions. Reset it. */
  QP_FATAL(rdma_h.IBV_EVENT_QP_FATAL(), Concerns.QUEUE_PAIR, "local work queue catastrophic error"),
  /** A peer sent an opcode that the queue pair did not expect, which is now in error. Reset it. */
  QP_REQ_ERR(
      rdma_h.IBV_EVENT_QP_REQ_ERR(), Concerns.QUEUE_PAIR, "invalid request local work queue error"),
  /** A peer's request violated access rights; the queue pair is now in error. Reset it. */
  QP_ACCESS_ERR(
      rdma_h.IBV_EVENT_QP_ACCESS_ERR(),
      Concerns.QUEUE_PAIR,
      "local access violation work queue error"),
  /** The first packet reached a queue pair that is ready to receive but not yet to send. */
  COMM_EST(rdma_h.IBV_EVENT_COMM_EST(), Concerns.QUEUE_PAIR, "communication established"),
  /** A queue pair that is to drain has sent what it had begun; see in which state it is now. */
  SQ_DRAINED(rdma_h.IBV_EVENT_SQ_DRAINED(), Concerns.QUEUE_PAIR, "send queue drained"),
  /** The alternate path is now the path; another alternate may be loaded. */
  PATH_MIG(rdma_h.IBV_EVENT_PATH_MIG(), Concerns.QUEUE_PAIR, "path migrated"),
  /** The alternate path could not be taken. */
  PATH_MIG_ERR(
      rdma_h.IBV_EVENT_PATH_MIG_ERR(), Concerns.QUEUE_PAIR, "path migration request error"),
  /** The device is unusable; even destroying objects may fail. */
  DEVICE_FATAL(rdma_h.IBV_EVENT_DEVICE_FATAL(), Concerns.DEVICE, "local catastrophic error"),
  /** A port became active. */
  PORT_ACTIVE(rdma_h.IBV_EVENT_PORT_ACTIVE(), Concerns.PORT, "port active"),
  /** A port is no longer active; queue pairs stay, but their retries may run out. */
  PORT_ERR(rdma_h.IBV_EVENT_PORT_ERR(), Concerns.PORT, "port error"),
  /** The port has another LID; what was queried of the port is stale. */
  LID_CHANGE(rdma_h.IBV_EVENT_LID_CHANGE(), Concerns.PORT, "LID change"),
  /** The port's table of partition keys changed. */
  PKEY_CHANGE(rdma_h.IBV_EVENT_PKEY_CHANGE(), Concerns.PORT, "P_Key change"),
  /** Another subnet manager took over; join multicast groups again. */
  SM_CHANGE(rdma_h.IBV_EVENT_SM_CHANGE(), Concerns.PORT, "SM change"),
  /** A shared receive queue failed, and its queue pairs with it. */
  SRQ_ERR(rdma_h.IBV_EVENT_SRQ_ERR(), Concerns.SHARED_RECEIVE_QUEUE, "SRQ catastrophic error"),
  /** Fewer receives than the limit are left; post more and set the limit again. */
  SRQ_LIMIT_REACHED(
      rdma_h.IBV_EVENT_SRQ_LIMIT_REACHED(), Concerns.SHARED_RECEIVE_QUEUE, "SRQ limit reached"),
  /** A failed queue pair takes nothing more from its shared receive queue. */
  QP_LAST_WQE_REACHED(
      rdma_h.IBV_EVENT_QP_LAST_WQE_REACHED(), Concerns.QUEUE_PAIR, "last WQE reached"),
  /** The subnet manager asks to register anew what was registered with it. */
  CLIENT_REREGISTER(rdma_h.IBV_EVENT_CLIENT_REREGISTER(), Concerns.PORT, "client reregistration"),
  /** The port's GID table changed. */
  GID_CHANGE(rdma_h.IBV_EVENT_GID_CHANGE(), Concerns.PORT, "GID table change"),
  /** A work queue failed. */
  WQ_FATAL(rdma_h.IBV_EVENT_WQ_FATAL(), Concerns.WORK_QUEUE, "WQ fatal"),
  /** The port's speed changed. */
  DEVICE_SPEED_CHANGE(
      rdma_h.IBV_EVENT_DEVICE_SPEED_CHANGE(), Concerns.PORT, "Device link speed change"),
  /** A kind of event that is newer than this library. */
  UNKNOWN(-1, Concerns.DEVICE, "unknown");

  /** What an event is about. */
  enum Concerns {
    COMPLETION_QUEUE,
    QUEUE_PAIR,
    SHARED_RECEIVE_QUEUE,
    WORK_QUEUE,
    PORT,
    DEVICE
  }

  private final int code;
  private final Concerns concerns;
  private final String text;

  AsyncEventType(int code, Concerns concerns, String text) {
    this.code = code;
    this.concerns = concerns;
    this.text = text;
  }

  @Override
  public int code() {
    return code;
  }

  Concerns concerns() {
    return concerns;
  }

  /**
   * What {@code ibv_event_type_str} says.
   *
   * @return the text of rdma-core
   */
  public String text() {
    return text;
  }
}
