package dev.verbena.soft.device;

import dev.verbena.Errno;
import dev.verbena.VerbsException;

/**
 * The failures of the C functions of the software device. What finds out that a call fails need not
 * know which function was called: the call adds the name.
 */
public final class CallFailure {
  private static final String CALLED = "";

  private CallFailure() {}

  /** A failure of the function that is called. */
  public static VerbsException of(int errno) {
    return of(errno, "");
  }

  /** A failure of the function that is called, with the object, the cause or advice. */
  public static VerbsException of(int errno, String details) {
    return new VerbsException(CALLED, errno, details);
  }

  /** A failure with EINVAL. */
  public static VerbsException invalid(String details) {
    return of(Errno.EINVAL, details);
  }

  /** Throws EINVAL if an argument is wrong. */
  public static void invalidIf(boolean wrong, String details) {
    if (wrong) {
      throw invalid(details);
    }
  }

  /** Throws EOPNOTSUPP if the device lacks what is asked for. */
  public static void unsupportedIf(boolean lacks, String details) {
    if (lacks) {
      throw of(Errno.EOPNOTSUPP, details);
    }
  }

  /** A failure with the name of the function that was called, unless it has one already. */
  public static VerbsException in(String function, VerbsException failure) {
    if (!failure.function().equals(CALLED)) {
      return failure;
    }
    VerbsException named = new VerbsException(function, failure.errno(), failure.details());
    named.setStackTrace(failure.getStackTrace());
    for (Throwable suppressed : failure.getSuppressed()) {
      named.addSuppressed(suppressed instanceof VerbsException e ? in(function, e) : suppressed);
    }
    return named;
  }
}
