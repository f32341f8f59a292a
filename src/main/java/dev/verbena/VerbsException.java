package dev.verbena;

import java.io.Serial;

/**
 * The failure of a call of libibverbs, librdmacm or the kernel: the function, its errno, the
 * object, the cause and what to do.
 *
 * <p>Every failed call throws this exception, however the C function reports the failure (a NULL
 * pointer, a returned errno, a negative count, or -1). Misuse that is detected before the call is
 * an {@link IllegalArgumentException} or {@link IllegalStateException} instead.
 */
public final class VerbsException extends RdmaException {
  @Serial private static final long serialVersionUID = 1;

  /** The name of the C function. */
  private final String function;

  /** The Linux error number. */
  private final int errno;

  /** The object, the cause and advice; may be empty. */
  private final String details;

  /**
   * Creates an exception.
   *
   * @param function the name of the C function
   * @param errno the Linux error number
   */
  public VerbsException(String function, int errno) {
    this(function, errno, "");
  }

  /**
   * Creates an exception with details.
   *
   * @param function the name of the C function
   * @param errno the Linux error number
   * @param details the object, the cause and advice; may be empty
   */
  public VerbsException(String function, int errno, String details) {
    super(message(function, errno, details));
    this.function = function;
    this.errno = errno;
    this.details = details;
  }

  private static String message(String function, int errno, String details) {
    String failure =
        function + ": " + Errno.text(errno) + " (" + Errno.name(errno) + ", " + errno + ")";
    return details.isEmpty() ? failure : failure + ": " + details;
  }

  /**
   * {@return the name of the function that failed, of libibverbs or librdmacm, or of the system
   * call}
   */
  public String function() {
    return function;
  }

  /** {@return the Linux error number, which is positive: see {@link Errno}} */
  public int errno() {
    return errno;
  }

  /**
   * {@return what the message says besides the function and the error number: the object, the cause
   * and advice, or nothing}
   */
  public String details() {
    return details;
  }

  /**
   * {@return whether the device, the kernel or the installed libraries do not support the function
   * (EOPNOTSUPP, ENOTSUPP, ENOSYS, EPROTONOSUPPORT)}
   */
  public boolean isUnsupported() {
    return switch (errno) {
      case Errno.EOPNOTSUPP, Errno.ENOTSUPP, Errno.ENOSYS, Errno.EPROTONOSUPPORT -> true;
      default -> false;
    };
  }

  /**
   * {@return whether the call may succeed if it is repeated, after EAGAIN, EINTR, EIO, ENODEV,
   * EBUSY and errors of the network, such as ENETUNREACH and ETIMEDOUT}
   */
  @Override
  public boolean isTransient() {
    return switch (errno) {
      case Errno.EAGAIN,
          Errno.EINTR,
          Errno.EIO,
          Errno.ENODEV,
          Errno.EBUSY,
          Errno.ENETUNREACH,
          Errno.EHOSTUNREACH,
          Errno.ECONNREFUSED,
          Errno.ETIMEDOUT ->
          true;
      default -> false;
    };
  }
}
