package dev.verbena.internal;

/** The ways in which C functions say that they failed. */
public enum Fails {
  /** Cannot fail, or what it returns is an answer in any case. */
  NEVER,
  /** NULL, and the reason in errno. */
  NULL,
  /** The reason itself is returned, 0 is success; -1 from old providers means: see errno. */
  ERRNO,
  /** -1, and the reason in errno. */
  MINUS_ONE,
  /** Any negative number, and the reason in errno. */
  NEGATIVE,
  /** The reason itself is returned with its sign turned. */
  NEGATIVE_ERRNO;

  /** Whether a result means failure. */
  boolean failed(long result) {
    return switch (this) {
      case NEVER -> false;
      case NULL -> result == 0;
      case ERRNO -> result != 0;
      case MINUS_ONE -> result == -1;
      case NEGATIVE, NEGATIVE_ERRNO -> result < 0;
    };
  }

  /** Whether the reason for a failure lies in errno; it is worth nothing after a success. */
  boolean leavesErrno(long result) {
    return switch (this) {
      case NULL, MINUS_ONE, NEGATIVE -> true;
      case ERRNO -> result == -1;
      case NEVER, NEGATIVE_ERRNO -> false;
    };
  }
}
