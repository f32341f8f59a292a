package dev.verbena.messages;

import dev.verbena.RdmaException;
import java.io.Serial;

/** The failure of a request in the {@link RequestServer.Handler} of the server, or its refusal. */
public final class RequestFailedException extends RdmaException {
  @Serial private static final long serialVersionUID = 1;

  /** Whether the same request may succeed later. */
  private final boolean isTransient;

  /**
   * Creates an exception; a handler that throws it makes the client's call throw the same.
   *
   * @param message the message of what the handler threw
   * @param isTransient whether the same request may succeed later
   */
  public RequestFailedException(String message, boolean isTransient) {
    super(message);
    this.isTransient = isTransient;
  }

  /** {@return whether the same request may succeed later, which was not executed} */
  @Override
  public boolean isTransient() {
    return isTransient;
  }
}
