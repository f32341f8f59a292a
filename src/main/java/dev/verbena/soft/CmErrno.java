package dev.verbena.soft;

/** Error numbers of Linux that only the communication manager reports. */
final class CmErrno {
  static final int EISCONN = 106;
  static final int ECONNREFUSED = 111;

  /** Not an errno of the C library; the kernel reports it. */
  static final int ENOTSUPP = 524;

  private CmErrno() {}
}
