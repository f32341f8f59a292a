package dev.verbena;

import java.io.Serial;

/**
 * A failure of an RDMA operation: the root of the exceptions of this library.
 *
 * <p>{@link VerbsException} is the failure of a call of libibverbs, librdmacm or the kernel; {@code
 * WorkRequestException} in {@code dev.verbena.verbs} a failed work request; {@code
 * ConnectionException} in {@code dev.verbena.cm} the failure of a connection, {@code
 * RequestFailedException} there that of the handler of a request; {@link RdmaTimeoutException} a
 * timeout of this library. Misuse that is detected before a call is made is an {@link
 * IllegalArgumentException} or {@link IllegalStateException} instead.
 */
public abstract class RdmaException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1;

  /**
   * Creates an exception.
   *
   * @param message the detail message
   */
  protected RdmaException(String message) {
    super(message);
  }

  /**
   * Creates an exception with a cause.
   *
   * @param message the detail message
   * @param cause the cause, or null
   */
  protected RdmaException(String message, Throwable cause) {
    super(message, cause);
  }

  /**
   * {@return whether the operation may succeed if it is tried again, if necessary on a new
   * connection: the failure is of the network, of the peer's process, or of a device that was lost,
   * and not of the arguments or the program} The peer may have received a request that failed: if
   * it is repeated, it may be processed twice. Each subclass lists its cases.
   */
  public boolean isTransient() {
    return false;
  }
}
