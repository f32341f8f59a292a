package dev.verbena.messages;

import dev.verbena.RdmaException;
import java.io.Serial;

/** The failure of a request in the {@link RequestServer.Handler} of the server. */
public final class RequestFailedException extends RdmaException {
  @Serial private static final long serialVersionUID = 1;

  /**
   * Creates an exception.
   *
   * @param message the message of what the handler threw
   */
  public RequestFailedException(String message) {
    super(message);
  }
}
