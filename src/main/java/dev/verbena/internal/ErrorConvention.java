package dev.verbena.internal;

import dev.verbena.Errno;
import dev.verbena.VerbsException;

/** The conventions by which C functions report failure. */
public enum ErrorConvention {
  /** Does not fail: each returned value is a result. */
  NEVER,
  /** Returns NULL and sets errno. */
  NULL,
  /**
   * Returns the errno, or 0 for success. Old providers return -1 and set errno; {@code
   * ibv_resolve_eth_l2_from_gid} returns the negative errno.
   */
  ERRNO,
  /** Returns -1 and sets errno. */
  MINUS_ONE,
  /** Returns -1 and sets errno; any other value is a 64-bit result. */
  LONG_MINUS_ONE,
  /** Returns a code of {@code enum ibv_rereg_mr_err_code} and sets errno. */
  NEGATIVE,
  /** Returns the negative errno; 0 and positive values are results. */
  NEGATIVE_ERRNO,
  /** Returns -1 and sets errno, or returns a code of getaddrinfo(3), or sets errno to that code. */
  ADDRINFO;

  /**
   * Returns the result in a register. Functions whose result tells only success or failure return
   * {@code int}: C defines no more than half of the register.
   */
  long result(long register) {
    return switch (this) {
      case NEVER, NULL, NEGATIVE_ERRNO, LONG_MINUS_ONE -> register;
      case ERRNO, MINUS_ONE, NEGATIVE, ADDRINFO -> (int) register;
    };
  }

  /** Returns whether a result is a failure. */
  boolean failed(long result) {
    return switch (this) {
      case NEVER -> false;
      case NULL -> result == 0;
      case ERRNO, ADDRINFO -> result != 0;
      case MINUS_ONE, LONG_MINUS_ONE -> result == -1;
      case NEGATIVE, NEGATIVE_ERRNO -> result < 0;
    };
  }

  /**
   * Returns the exception of a result.
   *
   * @param function the C function's name
   * @param result the returned value
   * @param errno the value of errno; ignored if the result is the errno
   */
  public RuntimeException failure(String function, long result, int errno) {
    boolean inErrno =
        switch (this) {
          case NULL, MINUS_ONE, LONG_MINUS_ONE, NEGATIVE -> true;
          case ERRNO, ADDRINFO -> result == -1;
          case NEVER, NEGATIVE_ERRNO -> false;
        };
    if (this == ADDRINFO && !inErrno && result < 0) {
      return AddressInfoError.failure(function, (int) result, errno);
    }
    if (this == ADDRINFO && errno < 0) { // rdma_resolve_addrinfo assigns the code to errno.
      return AddressInfoError.failure(function, errno, 0);
    }
    if (this == NEGATIVE) {
      return new ReregistrationFailure(function, (int) result, errno);
    }
    int reason = inErrno ? errno : (int) Math.abs(result);
    if (reason == Errno.EMFILE) {
      return new VerbsException(
          function,
          reason,
          "this process has no more file descriptors: raise its limit (RLIMIT_NOFILE, ulimit -n)");
    }
    // Without an errno the message would otherwise be "Success".
    return new VerbsException(function, reason == 0 ? Errno.EIO : reason);
  }
}
