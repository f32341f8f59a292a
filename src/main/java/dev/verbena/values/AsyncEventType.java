package dev.verbena.values;

import dev.verbena.NativeConstant;
import dev.verbena.raw.rdma_h;

/** The type of an asynchronous event: {@code enum ibv_event_type}. */
public enum AsyncEventType implements NativeConstant {
  /**
   * A completion queue overran: completions are lost and its queue pairs fail. Create a new queue.
   */
  CQ_ERR(rdma_h.IBV_EVENT_CQ_ERR(), Concerns.COMPLETION_QUEUE, "CQ error"),
  /** A queue pair failed and generates no more completions. Reset it. */
  QP_FATAL(rdma_h.IBV_EVENT_QP_FATAL(), Concerns.QUEUE_PAIR, "local work queue catastrophic error"),
  /** The queue pair received an invalid request and is in state ERR. Reset it. */
  QP_REQ_ERR(
      rdma_h.IBV_EVENT_QP_REQ_ERR(), Concerns.QUEUE_PAIR, "invalid request local work queue error"),
  /**
   * The queue pair received a request that violates the access rights and is in state ERR. Reset
   * it.
   */
  QP_ACCESS_ERR(
      rdma_h.IBV_EVENT_QP_ACCESS_ERR(),
      Concerns.QUEUE_PAIR,
      "local access violation work queue error"),
  /** A queue pair in state RTR received its first packet. */
  COMM_EST(rdma_h.IBV_EVENT_COMM_EST(), Concerns.QUEUE_PAIR, "communication established"),
  /** The send queue is drained; query the state of the queue pair. */
  SQ_DRAINED(rdma_h.IBV_EVENT_SQ_DRAINED(), Concerns.QUEUE_PAIR, "send queue drained"),
  /** The connection migrated to the alternate path; another alternate path may be loaded. */
  PATH_MIG(rdma_h.IBV_EVENT_PATH_MIG(), Concerns.QUEUE_PAIR, "path migrated"),
  /** The connection could not migrate to the alternate path. */
  PATH_MIG_ERR(
      rdma_h.IBV_EVENT_PATH_MIG_ERR(), Concerns.QUEUE_PAIR, "path migration request error"),
  /** The device is unusable; even destroying objects may fail. */
  DEVICE_FATAL(rdma_h.IBV_EVENT_DEVICE_FATAL(), Concerns.DEVICE, "local catastrophic error"),
  /** A port became active. */
  PORT_ACTIVE(rdma_h.IBV_EVENT_PORT_ACTIVE(), Concerns.PORT, "port active"),
  /** A port is no longer active; queue pairs remain, but their retry counts may be exceeded. */
  PORT_ERR(rdma_h.IBV_EVENT_PORT_ERR(), Concerns.PORT, "port error"),
  /** The LID of the port changed; queried attributes of the port are outdated. */
  LID_CHANGE(rdma_h.IBV_EVENT_LID_CHANGE(), Concerns.PORT, "LID change"),
  /** The P_Key table of the port changed. */
  PKEY_CHANGE(rdma_h.IBV_EVENT_PKEY_CHANGE(), Concerns.PORT, "P_Key change"),
  /** The subnet manager changed; join multicast groups again. */
  SM_CHANGE(rdma_h.IBV_EVENT_SM_CHANGE(), Concerns.PORT, "SM change"),
  /** A shared receive queue failed, and with it its queue pairs. */
  SRQ_ERR(rdma_h.IBV_EVENT_SRQ_ERR(), Concerns.SHARED_RECEIVE_QUEUE, "SRQ catastrophic error"),
  /**
   * The number of outstanding receive requests fell below the limit; post more and set the limit
   * again.
   */
  SRQ_LIMIT_REACHED(
      rdma_h.IBV_EVENT_SRQ_LIMIT_REACHED(), Concerns.SHARED_RECEIVE_QUEUE, "SRQ limit reached"),
  /** A queue pair in state ERR consumes no more requests of its shared receive queue. */
  QP_LAST_WQE_REACHED(
      rdma_h.IBV_EVENT_QP_LAST_WQE_REACHED(), Concerns.QUEUE_PAIR, "last WQE reached"),
  /** The subnet manager requests that clients register again. */
  CLIENT_REREGISTER(rdma_h.IBV_EVENT_CLIENT_REREGISTER(), Concerns.PORT, "client reregistration"),
  /** The GID table of the port changed. */
  GID_CHANGE(rdma_h.IBV_EVENT_GID_CHANGE(), Concerns.PORT, "GID table change"),
  /** A work queue failed. */
  WQ_FATAL(rdma_h.IBV_EVENT_WQ_FATAL(), Concerns.WORK_QUEUE, "WQ fatal"),
  /** The speed of one or more ports of the device changed; query each of them. */
  DEVICE_SPEED_CHANGE(
      rdma_h.IBV_EVENT_DEVICE_SPEED_CHANGE(), Concerns.DEVICE, "Device link speed change"),
  /** An event type that this library does not know. */
  UNKNOWN(-1, Concerns.DEVICE, "unknown");

  /** The kind of object that an event concerns. */
  public enum Concerns {
    /** A completion queue. */
    COMPLETION_QUEUE,
    /** A queue pair. */
    QUEUE_PAIR,
    /** A shared receive queue. */
    SHARED_RECEIVE_QUEUE,
    /** A work queue. */
    WORK_QUEUE,
    /** A port of the device. */
    PORT,
    /** The device. */
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

  /** {@return the kind of object that the event concerns} */
  public Concerns concerns() {
    return concerns;
  }

  /** {@return rdma-core's description of the event type: {@code ibv_event_type_str}} */
  public String text() {
    return text;
  }
}
