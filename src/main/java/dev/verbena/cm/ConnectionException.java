package dev.verbena.cm;

import dev.verbena.Errno;
import dev.verbena.RdmaException;
import java.io.Serial;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The failure of a connection, as an event of RDMA CM reports it: an address or route that was not
 * resolved, a peer that does not answer or that rejects the connection, a removed device.
 */
public final class ConnectionException extends RdmaException {
  @Serial private static final long serialVersionUID = 1;

  private final transient @Nullable ConnectionEvent event;

  /** Whether another connection may succeed. */
  private final boolean retry;

  /**
   * Creates the exception of an event.
   *
   * @param doing the failed operation, such as {@code connecting to 10.9.0.2:7471}
   * @param event the event
   */
  public ConnectionException(String doing, ConnectionEvent event) {
    this(doing, event, mayRetry(event));
  }

  /**
   * Creates the exception of an event that has ended an established connection.
   *
   * @param doing the failed operation
   * @param end the event
   * @return the exception, which is {@linkplain #isTransient() transient}
   */
  public static ConnectionException ended(String doing, ConnectionEvent end) {
    return new ConnectionException(doing, end, true);
  }

  private ConnectionException(String doing, ConnectionEvent event, boolean retry) {
    super(
        "%s: %s (%s, status %s)"
            .formatted(doing, event.description(), event.type(), event.status()));
    this.event = event;
    this.retry = retry;
  }

  private static boolean mayRetry(ConnectionEvent event) {
    return switch (event.type()) {
      case ADDR_ERROR, ROUTE_ERROR, UNREACHABLE, DISCONNECTED, DEVICE_REMOVAL, ADDR_CHANGE -> true;
      case REJECTED -> mayRetry(event.rejectReason(), event.status());
      default -> false;
    };
  }

  private static boolean mayRetry(Optional<RejectReason> reason, int status) {
    return switch (reason.orElse(RejectReason.UNKNOWN)) {
      case NO_QP, NO_RESOURCES, TIMEOUT, INVALID_SERVICE_ID, STALE_CONN -> true;
      case UNKNOWN -> status == -Errno.ECONNREFUSED; // iWARP reports an errno.
      default -> false;
    };
  }

  /**
   * {@return the event, with its status and the private data of the peer; null in a deserialized
   * exception}
   */
  public @Nullable ConnectionEvent event() {
    return event;
  }

  /**
   * {@return whether another connection may succeed: true if the peer cannot be reached, has no
   * listener, refuses for lack of resources, or has ended the connection, and if the device is
   * removed; false if the program of the peer rejects the connection, or does not accept its
   * parameters}
   */
  @Override
  public boolean isTransient() {
    return retry;
  }
}
