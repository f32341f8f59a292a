package dev.verbena.cm;

import dev.verbena.Errno;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.jfr.FlightEvents;
import dev.verbena.raw.rdma_cm_event;
import dev.verbena.raw.rdma_conn_param;
import dev.verbena.raw.rdma_ud_param;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An event of an identifier ({@code struct rdma_cm_event}). It is a copy: the library acknowledges
 * the event of librdmacm ({@code rdma_ack_cm_event}) when it is read.
 */
public final class ConnectionEvent {
  private final int code;
  private final EventType type;
  private final ConnectionId id;
  private final @Nullable ConnectionId listener;
  private final int status;
  private final byte[] privateData;
  private final @Nullable ConnectionParameters connection;
  private final @Nullable DatagramParameters datagram;
  private final long argument;

  private ConnectionEvent(EventType type, ConnectionId id, int status) {
    this.code = type.code();
    this.type = type;
    this.id = id;
    this.listener = null;
    this.status = status;
    this.privateData = new byte[0];
    this.connection = null;
    this.datagram = null;
    this.argument = 0;
  }

  /** Copies the fields that are valid in an event of its type. */
  ConnectionEvent(MemorySegment event, ConnectionId id, @Nullable ConnectionId listener) {
    this.code = rdma_cm_event.event(event);
    this.type = EventType.of(code);
    this.id = id;
    this.listener = listener;
    this.status = rdma_cm_event.status(event);
    MemorySegment param = rdma_cm_event.param(event);
    MemorySegment conn = rdma_cm_event.param.conn(param);
    MemorySegment ud = rdma_cm_event.param.ud(param);
    boolean isDatagram = id.isDatagram();
    this.privateData =
        switch (type) {
          case CONNECT_REQUEST, ESTABLISHED, CONNECT_RESPONSE, UNREACHABLE, CONNECT_ERROR ->
              isDatagram ? datagramData(ud) : connectionData(conn);
          // librdmacm fills in the parameters of a connection also for datagram services.
          case REJECTED, DISCONNECTED -> connectionData(conn);
          default -> new byte[0];
        };
    this.connection =
        switch (type) {
          case CONNECT_REQUEST, ESTABLISHED, CONNECT_RESPONSE ->
              isDatagram ? null : ConnectionParameters.readFrom(conn);
          default -> null;
        };
    this.datagram =
        type == EventType.MULTICAST_JOIN || (type == EventType.ESTABLISHED && isDatagram)
            ? DatagramParameters.readFrom(ud)
            : null;
    this.argument =
        switch (type) {
          // The context of the group is in the place of the private data.
          case MULTICAST_JOIN, MULTICAST_ERROR -> rdma_ud_param.private_data(ud).address();
          case USER -> rdma_cm_event.param.arg(param);
          default -> 0;
        };
  }

  /** Records the event for JDK Flight Recorder if it sets up or ends a connection. */
  ConnectionEvent recorded() {
    switch (type) {
      case ESTABLISHED, CONNECT_RESPONSE -> FlightEvents.connected(id, id.queuePair().orElse(null));
      case DISCONNECTED,
          REJECTED,
          UNREACHABLE,
          CONNECT_ERROR,
          ADDR_ERROR,
          ROUTE_ERROR,
          DEVICE_REMOVAL ->
          FlightEvents.ended(id, type, status, description());
      default -> {}
    }
    return this;
  }

  /** Returns the event of a peer that gave up its request, which the kernel drops. */
  static ConnectionEvent givenUp(ConnectionId id) {
    return new ConnectionEvent(EventType.REJECTED, id, RejectReason.TIMEOUT.code());
  }

  private static byte[] connectionData(MemorySegment conn) {
    return bytes(rdma_conn_param.private_data(conn), rdma_conn_param.private_data_len(conn));
  }

  private static byte[] datagramData(MemorySegment ud) {
    return bytes(rdma_ud_param.private_data(ud), rdma_ud_param.private_data_len(ud));
  }

  private static byte[] bytes(MemorySegment pointer, byte length) {
    return pointer.address() == 0
        ? new byte[0]
        : Memory.at(pointer.address(), Byte.toUnsignedLong(length)).toArray(ValueLayout.JAVA_BYTE);
  }

  /** {@return the type of the event} */
  public EventType type() {
    return type;
  }

  /**
   * {@return the number of the type ({@code enum rdma_cm_event_type}), also if the type is {@link
   * EventType#UNKNOWN} to this library}
   */
  public int code() {
    return code;
  }

  /**
   * {@return the identifier that the event concerns; for a {@link EventType#CONNECT_REQUEST} a new
   * one, to be closed by the caller}
   */
  public ConnectionId id() {
    return id;
  }

  /** {@return the listening identifier of a {@link EventType#CONNECT_REQUEST}, otherwise empty} */
  public Optional<ConnectionId> listener() {
    return Optional.ofNullable(listener);
  }

  /**
   * {@return the status of the event: 0 for success; usually a negative errno, or -1 if librdmacm
   * itself failed; for {@link EventType#REJECTED}, and for {@link EventType#UNREACHABLE} of a
   * datagram service, the transport's code of the reason}
   */
  public int status() {
    return status;
  }

  /**
   * {@return the reason of a {@link EventType#REJECTED} over InfiniBand or RoCE, otherwise empty}
   */
  public Optional<RejectReason> rejectReason() {
    return type == EventType.REJECTED && status > 0
        ? Optional.of(RejectReason.of(status))
        : Optional.empty();
  }

  /**
   * {@return a copy of the private data of the peer, which the transport may have padded with
   * zeros; empty if there is none}
   */
  public byte[] privateData() {
    return privateData.clone();
  }

  /**
   * {@return the connection parameters of the peer, in a request, a response, or an established
   * connection; otherwise empty}
   */
  public Optional<ConnectionParameters> connection() {
    return Optional.ofNullable(connection);
  }

  /**
   * {@return the parameters to send to an established datagram service or a joined multicast group;
   * otherwise empty}
   */
  public Optional<DatagramParameters> datagram() {
    return Optional.ofNullable(datagram);
  }

  /**
   * {@return the argument of the event: for a multicast event the context of the join, for a {@link
   * EventType#USER} event the argument that was written; otherwise 0}
   */
  public long argument() {
    return argument;
  }

  /**
   * {@return whether the event reports a failure: an error, a rejection or the removal of the
   * device}
   */
  public boolean isFailure() {
    return type.isFailure() || (status != 0 && type != EventType.USER);
  }

  /**
   * {@return a description of the event and its status, for example {@code rejected: no listener on
   * the port}}
   */
  public String description() {
    if (status == 0 || type == EventType.USER) {
      return type.meaning();
    }
    return type.meaning() + ": " + reason();
  }

  private String reason() {
    Optional<RejectReason> rejected = rejectReason();
    if (rejected.isPresent()) {
      return rejected.get().meaning();
    }
    if (type == EventType.UNREACHABLE && status > 0) {
      return answerToLookup(status);
    }
    if (status == -1) {
      return "a call of librdmacm failed";
    }
    // Negative from the kernel, positive from librdmacm.
    int errno = Math.abs(status);
    String advice =
        type == EventType.ADDR_ERROR || type == EventType.ROUTE_ERROR
            ? AddressAdvice.on(errno, null)
            : "";
    return Errno.text(errno) + " (" + Errno.name(errno) + ")" + advice;
  }

  /**
   * Describes the status of InfiniBand's service ID resolution, by which datagram services are
   * found.
   */
  private static String answerToLookup(int status) {
    return switch (status) {
      case 1 -> "no datagram service listens on the port";
      case 2 -> "the datagram service rejects the request";
      case 3 -> "the datagram service has no queue pair";
      case 4 -> "the datagram service has another address";
      case 5 -> "the datagram service has another version";
      default -> "status " + status;
    };
  }

  @Override
  public String toString() {
    String name = type == EventType.UNKNOWN ? "event " + code : type.name();
    return name + " (status " + status + ") of " + id + ": " + description();
  }
}
