package dev.verbena;

import java.io.Serial;

/**
 * A failure of an RDMA operation: the root of the exceptions of this library.
 *
 * <p>{@link VerbsException} is the failure of a call of libibverbs, librdmacm or the kernel; {@code
 * ConnectionException} in {@code dev.verbena.cm} the failure of a connection. Misuse that is
 * detected before a call is made is an {@link IllegalArgumentException} or {@link
 * IllegalStateException} instead.
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
}
