package dev.verbena.cm;

import java.io.Serial;

/**
 * An event that says that what was asked for did not come about: an address or route without
 * resolution, a peer that does not answer or refuses, a device that is removed.
 */
public final class ConnectionException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1;

  private final transient ConnectionEvent event;

  /**
   * The failure that an event reports.
   *
   * @param doing what was being done, such as {@code connecting to 10.9.0.2:7471}
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
   * The event, with its status and what the peer sent along.
   *
   * @return the event; null in an exception that was serialised
   */
  public ConnectionEvent event() {
    return event;
  }
}
