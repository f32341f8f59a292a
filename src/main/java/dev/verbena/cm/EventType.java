package dev.verbena.cm;

import dev.verbena.internal.Providers;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.rdma_h;

/**
 * The type of an event: {@code enum rdma_cm_event_type}, whose constants have the prefix {@code
 * RDMA_CM_EVENT_}.
 */
public enum EventType {
  /** The address is resolved, and the identifier is bound to a device. */
  ADDR_RESOLVED(rdma_h.RDMA_CM_EVENT_ADDR_RESOLVED(), "the address is resolved"),
  /** The address could not be resolved. */
  ADDR_ERROR(
      rdma_h.RDMA_CM_EVENT_ADDR_ERROR(),
      "the address cannot be reached over an RDMA device: check the route and that the host"
          + " answers"),
  /** The route is resolved. */
  ROUTE_RESOLVED(rdma_h.RDMA_CM_EVENT_ROUTE_RESOLVED(), "the route is resolved"),
  /** The route could not be resolved. */
  ROUTE_ERROR(rdma_h.RDMA_CM_EVENT_ROUTE_ERROR(), "no route to the address"),
  /** A connection request of a peer, or a request for a datagram service; its identifier is new. */
  CONNECT_REQUEST(rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST(), "a peer requests a connection"),
  /**
   * The peer accepted the connection; only for identifiers without a queue pair, which must call
   * {@link ForeignQueuePair#establish()}.
   */
  CONNECT_RESPONSE(rdma_h.RDMA_CM_EVENT_CONNECT_RESPONSE(), "the peer accepts the connection"),
  /** The connection could not be established. */
  CONNECT_ERROR(rdma_h.RDMA_CM_EVENT_CONNECT_ERROR(), "the connection could not be established"),
  /** The peer does not answer. */
  UNREACHABLE(rdma_h.RDMA_CM_EVENT_UNREACHABLE(), "the peer does not answer"),
  /**
   * The peer or its kernel rejected the connection. After {@link #ESTABLISHED}: the peer has ended
   * before it received the last message of the handshake (RTU).
   */
  REJECTED(rdma_h.RDMA_CM_EVENT_REJECTED(), "rejected"),
  /** The connection is established, or the datagram service is resolved. */
  ESTABLISHED(rdma_h.RDMA_CM_EVENT_ESTABLISHED(), "the connection is established"),
  /**
   * The connection has ended. {@link ConnectionId#disconnect()} flushes the requests of the queue
   * pair.
   */
  DISCONNECTED(rdma_h.RDMA_CM_EVENT_DISCONNECTED(), "the connection has ended"),
  /** The device is being removed: the identifier must be closed. */
  DEVICE_REMOVAL(rdma_h.RDMA_CM_EVENT_DEVICE_REMOVAL(), "the device is being removed"),
  /** The multicast group is joined. */
  MULTICAST_JOIN(rdma_h.RDMA_CM_EVENT_MULTICAST_JOIN(), "the multicast group is joined"),
  /** Joining the multicast group failed, or the membership was lost. */
  MULTICAST_ERROR(
      rdma_h.RDMA_CM_EVENT_MULTICAST_ERROR(),
      "the multicast group could not be joined, or the membership was lost"),
  /**
   * The hardware address of the network device changed, for example after a fail-over of a bond.
   */
  ADDR_CHANGE(rdma_h.RDMA_CM_EVENT_ADDR_CHANGE(), "the network device's hardware address changed"),
  /** The queue pair has left the timewait state: it may be used again. */
  TIMEWAIT_EXIT(rdma_h.RDMA_CM_EVENT_TIMEWAIT_EXIT(), "the queue pair may be used again"),
  /** The name is resolved: the identifier has the addresses. */
  ADDRINFO_RESOLVED(rdma_h.RDMA_CM_EVENT_ADDRINFO_RESOLVED(), "the name is resolved"),
  /** The name could not be resolved. */
  ADDRINFO_ERROR(rdma_h.RDMA_CM_EVENT_ADDRINFO_ERROR(), "the name could not be resolved"),
  /** A user event: {@link ConnectionId#writeEvent}. */
  USER(rdma_h.RDMA_CM_EVENT_USER(), "a user event"),
  /** A type that is newer than this library. */
  UNKNOWN(-1, "unknown to this library");

  private final int code;
  private final String meaning;

  EventType(int code, String meaning) {
    this.code = code;
    this.meaning = meaning;
  }

  static EventType of(int code) {
    for (EventType type : values()) {
      if (type.code == code) {
        return type;
      }
    }
    return UNKNOWN;
  }

  int code() {
    return code;
  }

  /** {@return a short description of the type, for example {@code the peer does not answer}} */
  public String meaning() {
    return meaning;
  }

  /** Returns whether the event reports a failure. */
  boolean isFailure() {
    return switch (this) {
      case ADDR_ERROR,
          ROUTE_ERROR,
          CONNECT_ERROR,
          UNREACHABLE,
          REJECTED,
          MULTICAST_ERROR,
          ADDRINFO_ERROR,
          DEVICE_REMOVAL ->
          true;
      default -> false;
    };
  }

  /**
   * {@return the name of the constant in C ({@code rdma_event_str}), for example {@code
   * RDMA_CM_EVENT_ADDR_RESOLVED}; {@code UNKNOWN EVENT} if librdmacm has no name for it}
   */
  public String text() {
    return Memory.string(Providers.system().rdmacm().rdma_event_str(code));
  }
}
