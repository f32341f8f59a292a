package dev.verbena.cm;

import dev.verbena.RdmaException;
import java.io.Serial;
import org.jspecify.annotations.Nullable;

/**
 * The failure of a connection, as an event of RDMA CM reports it: an address or route that was not
 * resolved, a peer that does not answer or that rejects the connection, a removed device.
 */
public final class ConnectionException extends RdmaException {
  @Serial private static final long serialVersionUID = 1;

  private final transient @Nullable ConnectionEvent event;

  /**
   * Creates the exception of an event.
   *
   * @param doing the failed operation, such as {@code connecting to 10.9.0.2:7471}
   * @param event the event
   */
  public ConnectionException(String doing, ConnectionEvent event) {
    super(
        doing
            + ": "
            + event.description()
            + " ("
            + event.type()
            + ", status "
            + event.status()
            + ")");
    this.event = event;
  }

  /**
   * Returns the event, with its status and the private data of the peer.
   *
   * @return the event; null in a deserialized exception
   */
  public @Nullable ConnectionEvent event() {
    return event;
  }
}
