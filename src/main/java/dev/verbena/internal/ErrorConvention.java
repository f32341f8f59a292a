package dev.verbena.internal;

import dev.verbena.Errno;
import dev.verbena.VerbsException;

/** The ways in which C functions say that they failed. */
public enum ErrorConvention {
  /** Cannot fail, or what it returns is an answer in any case. */
  NEVER,
  /** NULL, and the reason in errno. */
  NULL,
  /**
   * The reason itself is returned, and 0 for success. Old providers return -1 and set errno, and
   * {@code ibv_resolve_eth_l2_from_gid} turns the sign.
   */
  ERRNO,
  /** -1, and the reason in errno. */
  MINUS_ONE,
  /** A code of {@code enum ibv_rereg_mr_err_code}, and the reason in errno. */
  NEGATIVE,
  /** The reason itself is returned with its sign turned; 0 and more are answers. */
  NEGATIVE_ERRNO,
  /** -1, and the reason in errno; or a code of getaddrinfo(3). */
  ADDRINFO;

  /** Whether a result means failure. */
  boolean failed(long result) {
    return switch (this) {
      case NEVER -> false;
      case NULL -> result == 0;
      case ERRNO, ADDRINFO -> result != 0;
      case MINUS_ONE -> result == -1;
      case NEGATIVE, NEGATIVE_ERRNO -> result < 0;
    };
  }

  /**
   * The failure that a result stands for.
   *
   * @param function the C function's name
   * @param result what it returned
   * @param errno what it left in errno: worth nothing where the result itself is the reason
   */
  VerbsException failure(String function, long result, int errno) {
    boolean inErrno =
        switch (this) {
          case NULL, MINUS_ONE, NEGATIVE -> true;
          case ERRNO, ADDRINFO -> result == -1;
          case NEVER, NEGATIVE_ERRNO -> false;
        };
    if (this == ADDRINFO && !inErrno && result < 0) {
      return AddressInfoError.failure(function, (int) result, errno);
    }
    if (this == NEGATIVE) {
      return ReregistrationError.failure(function, (int) result, errno);
    }
    int reason = inErrno ? errno : (int) Math.abs(result);
    // A function that fails without a reason would otherwise read "Success".
    return new VerbsException(function, reason == 0 ? Errno.EIO : reason);
  }
}
