package dev.verbena.soft;

/** Error numbers of Linux that only the communication manager reports. */
final class CmErrno {
  static final int EISCONN = 106;
  static final int ECONNREFUSED = 111;

  /** ENOTSUPP of the kernel, which is no errno of the C library. */
  static final int ENOTSUPP = 524;

  private CmErrno() {}
}
