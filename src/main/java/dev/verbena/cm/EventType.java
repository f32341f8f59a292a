package dev.verbena.cm;

import dev.verbena.internal.Memory;
import dev.verbena.internal.Provider;
import dev.verbena.raw.rdma_h;

/** What an event tells: {@code enum rdma_cm_event_type}. */
public enum EventType {
  /** The address is resolved and the identifier bound to a device. */
  ADDR_RESOLVED(rdma_h.RDMA_CM_EVENT_ADDR_RESOLVED(), "the address is resolved"),
  /** The address could not be resolved. */
  ADDR_ERROR(
      rdma_h.RDMA_CM_EVENT_ADDR_ERROR(),
      "no way to the address over an RDMA device: is it routed there, and does the host answer?"),
  /** The route is resolved. */
  ROUTE_RESOLVED(rdma_h.RDMA_CM_EVENT_ROUTE_RESOLVED(), "the route is resolved"),
  /** The route could not be resolved. */
  ROUTE_ERROR(rdma_h.RDMA_CM_EVENT_ROUTE_ERROR(), "no route to the address"),
  /** A peer wants to connect, or to look up a datagram service; the identifier is new. */
  CONNECT_REQUEST(rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST(), "a peer wants to connect"),
  /** The peer accepted; only for identifiers without a queue pair, which then establish. */
  CONNECT_RESPONSE(rdma_h.RDMA_CM_EVENT_CONNECT_RESPONSE(), "the peer accepts"),
  /** The connection could not be made. */
  CONNECT_ERROR(rdma_h.RDMA_CM_EVENT_CONNECT_ERROR(), "the connection could not be made"),
  /** The peer does not answer. */
  UNREACHABLE(rdma_h.RDMA_CM_EVENT_UNREACHABLE(), "the peer does not answer"),
  /** The peer, or its kernel, refused. */
  REJECTED(rdma_h.RDMA_CM_EVENT_REJECTED(), "refused"),
  /** The connection stands, or the datagram service was found. */
  ESTABLISHED(rdma_h.RDMA_CM_EVENT_ESTABLISHED(), "the connection stands"),
  /** The connection is no more; its work is flushed. */
  DISCONNECTED(rdma_h.RDMA_CM_EVENT_DISCONNECTED(), "the connection has ended"),
  /** The device is being removed: the identifier must be closed. */
  DEVICE_REMOVAL(rdma_h.RDMA_CM_EVENT_DEVICE_REMOVAL(), "the device is being removed"),
  /** The multicast group is joined. */
  MULTICAST_JOIN(rdma_h.RDMA_CM_EVENT_MULTICAST_JOIN(), "the multicast group is joined"),
  /** The multicast group could not be joined, or was lost. */
  MULTICAST_ERROR(
      rdma_h.RDMA_CM_EVENT_MULTICAST_ERROR(), "the multicast group is not, or no longer, joined"),
  /** The network device has another hardware address: a hint after a fail-over. */
  ADDR_CHANGE(rdma_h.RDMA_CM_EVENT_ADDR_CHANGE(), "the network device's hardware address changed"),
  /** The queue pair's time of waiting is over: it may be used again. */
  TIMEWAIT_EXIT(rdma_h.RDMA_CM_EVENT_TIMEWAIT_EXIT(), "the queue pair may be used again"),
  /** The name is resolved: the identifier has the addresses. */
  ADDRINFO_RESOLVED(rdma_h.RDMA_CM_EVENT_ADDRINFO_RESOLVED(), "the name is resolved"),
  /** The name could not be resolved. */
  ADDRINFO_ERROR(rdma_h.RDMA_CM_EVENT_ADDRINFO_ERROR(), "the name could not be resolved"),
  /** Something that the user wrote. */
  USER(rdma_h.RDMA_CM_EVENT_USER(), "an event of the user's"),
  /** A kind that is newer than this library. */
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

  /**
   * What the event means, in a few words.
   *
   * @return such as {@code the peer does not answer}
   */
  public String meaning() {
    return meaning;
  }

  /** Whether the event says that what was asked for did not come about. */
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
   * C's name of the event: {@code rdma_event_str}.
   *
   * @return such as {@code RDMA_CM_EVENT_ADDR_RESOLVED}; {@code UNKNOWN EVENT} where librdmacm is
   *     older than the event, or leaves it out
   */
  public String text() {
    return Memory.string(Provider.system().rdmacm().rdma_event_str(code));
  }
}
