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

  /** The C function's name. */
  private final String function;

  /** The Linux error number. */
  private final int errno;

  /** What failed, why, and what to do; may be empty. */
  private final String details;

  /**
   * A failure of a C function.
   *
   * @param function the C function's name
   * @param errno the Linux error number it reported
   */
  public VerbsException(String function, int errno) {
    this(function, errno, "", null);
  }

  /**
   * A failure of a C function, with what is known about its cause.
   *
   * @param function the C function's name
   * @param errno the Linux error number it reported
   * @param details what failed, why, and what to do; may be empty
   */
  public VerbsException(String function, int errno, String details) {
    this(function, errno, details, null);
  }

  private VerbsException(String function, int errno, String details, Throwable cause) {
    super(message(function, errno, details), cause);
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
   * The same failure, said with more knowledge of what was being done.
   *
   * @param explanation which object, which argument, what to do
   * @return an exception with the explanation first, caused by this one
   */
  public VerbsException explained(String explanation) {
    String all = details.isEmpty() ? explanation : explanation + "; " + details;
    return new VerbsException(function, errno, all, this);
  }

  /**
   * The C function that failed.
   *
   * @return the name of a function of libibverbs or librdmacm, or of a system call
   */
  public String function() {
    return function;
  }

  /**
   * The Linux error number that the function reported.
   *
   * @return a positive number; {@link Errno} knows its name and text
   */
  public int errno() {
    return errno;
  }

  /**
   * Whether the device, the kernel or the installed libraries lack the function altogether.
   *
   * @return true for EOPNOTSUPP, ENOTSUPP and ENOSYS
   */
  public boolean isUnsupported() {
    return errno == Errno.EOPNOTSUPP || errno == Errno.ENOTSUPP || errno == Errno.ENOSYS;
  }
}
