package dev.verbena.cm;

import dev.verbena.Errno;
import dev.verbena.internal.Memory;
import dev.verbena.raw.rdma_cm_event;
import dev.verbena.raw.rdma_conn_param;
import dev.verbena.raw.rdma_ud_param;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;

/**
 * Something that happened to an identifier: {@code struct rdma_cm_event}, copied before C was told
 * that it was read, so that it may be kept for ever.
 */
public final class ConnectionEvent {
  private final EventType type;
  private final ConnectionId id;
  private final ConnectionId listener;
  private final int status;
  private final byte[] privateData;
  private final ConnectionParameters connection;
  private final DatagramParameters datagram;
  private final long argument;

  private ConnectionEvent(
      EventType type,
      ConnectionId id,
      ConnectionId listener,
      int status,
      byte[] privateData,
      ConnectionParameters connection,
      DatagramParameters datagram,
      long argument) {
    this.type = type;
    this.id = id;
    this.listener = listener;
    this.status = status;
    this.privateData = privateData;
    this.connection = connection;
    this.datagram = datagram;
    this.argument = argument;
  }

  /** Copies everything that is valid in an event of its type. */
  static ConnectionEvent copy(MemorySegment event, ConnectionId id, ConnectionId listener) {
    EventType type = EventType.of(rdma_cm_event.event(event));
    int status = rdma_cm_event.status(event);
    MemorySegment param = rdma_cm_event.param(event);
    MemorySegment conn = rdma_cm_event.param.conn(param);
    MemorySegment ud = rdma_cm_event.param.ud(param);
    boolean datagrams = id.isDatagram();
    return switch (type) {
      case CONNECT_REQUEST, ESTABLISHED, CONNECT_RESPONSE ->
          datagrams
              ? new ConnectionEvent(
                  type,
                  id,
                  listener,
                  status,
                  datagramData(ud),
                  null,
                  type == EventType.ESTABLISHED ? DatagramParameters.readFrom(ud) : null,
                  0)
              : new ConnectionEvent(
                  type,
                  id,
                  listener,
                  status,
                  connectionData(conn),
                  ConnectionParameters.readFrom(conn),
                  null,
                  0);
      // librdmacm takes a refusal for a connection's, whatever it is of.
      case REJECTED, DISCONNECTED -> data(type, id, status, connectionData(conn));
      case UNREACHABLE, CONNECT_ERROR ->
          data(type, id, status, datagrams ? datagramData(ud) : connectionData(conn));
      // The group's context stands where others have private data.
      case MULTICAST_JOIN ->
          new ConnectionEvent(
              type,
              id,
              listener,
              status,
              new byte[0],
              null,
              DatagramParameters.readFrom(ud),
              rdma_ud_param.private_data(ud).address());
      case MULTICAST_ERROR ->
          new ConnectionEvent(
              type,
              id,
              listener,
              status,
              new byte[0],
              null,
              null,
              rdma_ud_param.private_data(ud).address());
      case USER ->
          new ConnectionEvent(
              type, id, listener, status, new byte[0], null, null, rdma_cm_event.param.arg(param));
      default -> data(type, id, status, new byte[0]);
    };
  }

  private static ConnectionEvent data(EventType type, ConnectionId id, int status, byte[] data) {
    return new ConnectionEvent(type, id, null, status, data, null, null, 0);
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

  /**
   * What happened.
   *
   * @return the type
   */
  public EventType type() {
    return type;
  }

  /**
   * Whom it happened to.
   *
   * @return the identifier; of a {@link EventType#CONNECT_REQUEST}, a new one, to be closed
   */
  public ConnectionId id() {
    return id;
  }

  /**
   * Who was asked.
   *
   * @return the listening identifier of a {@link EventType#CONNECT_REQUEST}, otherwise empty
   */
  public Optional<ConnectionId> listener() {
    return Optional.ofNullable(listener);
  }

  /**
   * Why it happened, in C's numbers.
   *
   * @return 0 for success; mostly the negative of an errno, or -1 where librdmacm itself failed; of
   *     {@link EventType#REJECTED}, and of {@link EventType#UNREACHABLE} in answer to a lookup, the
   *     transport's number for the reason
   */
  public int status() {
    return status;
  }

  /**
   * Why the peer refused.
   *
   * @return the reason of a {@link EventType#REJECTED} that came over InfiniBand or RoCE, otherwise
   *     empty
   */
  public Optional<RejectReason> rejectReason() {
    return type == EventType.REJECTED && status > 0
        ? Optional.of(RejectReason.of(status))
        : Optional.empty();
  }

  /**
   * What the peer sent along.
   *
   * @return a copy of the bytes, which the transport may have padded with zeros; empty if there are
   *     none
   */
  public byte[] privateData() {
    return privateData.clone();
  }

  /**
   * What the peer asks for or agreed to.
   *
   * @return the parameters of a request, a response, or an established connection; otherwise empty
   */
  public Optional<ConnectionParameters> connection() {
    return Optional.ofNullable(connection);
  }

  /**
   * How to reach a service or group.
   *
   * @return the parameters of an established datagram service or of a joined multicast group;
   *     otherwise empty
   */
  public Optional<DatagramParameters> datagram() {
    return Optional.ofNullable(datagram);
  }

  /**
   * The user's number in the event.
   *
   * @return of a multicast event the context of the join, of a {@link EventType#USER} event what
   *     was written; otherwise 0
   */
  public long argument() {
    return argument;
  }

  /**
   * Whether what was asked for did not come about.
   *
   * @return true for errors, refusals and the removal of the device
   */
  public boolean isFailure() {
    return type.isFailure() || (status != 0 && type != EventType.USER);
  }

  /**
   * What happened and why, in words.
   *
   * @return such as {@code refused: nobody listens on that port}
   */
  public String description() {
    if (status == 0 || type == EventType.USER) {
      return type.meaning();
    }
    return type.meaning() + ": " + reason();
  }

  private String reason() {
    Optional<RejectReason> refusal = rejectReason();
    if (refusal.isPresent()) {
      return refusal.get().meaning();
    }
    if (type == EventType.UNREACHABLE && status > 0) {
      return answerToLookup(status);
    }
    if (status == -1) {
      return "librdmacm could not take the next step";
    }
    // The kernel's are negative, librdmacm's are not.
    int errno = Math.abs(status);
    String advice =
        type == EventType.ADDR_ERROR || type == EventType.ROUTE_ERROR
            ? AddressAdvice.on(errno, null)
            : "";
    return Errno.text(errno) + " (" + Errno.name(errno) + ")" + advice;
  }

  /** The status of InfiniBand's service ID resolution, by which datagram services are found. */
  private static String answerToLookup(int status) {
    return switch (status) {
      case 1 -> "no datagram service listens on that port";
      case 2 -> "the datagram service refuses";
      case 3 -> "the datagram service has no queue pair";
      case 4 -> "the datagram service is elsewhere";
      case 5 -> "the datagram service speaks another version";
      default -> "status " + status;
    };
  }

  @Override
  public String toString() {
    return type + " (status " + status + ") of " + id + ": " + description();
  }
}
