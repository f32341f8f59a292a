package dev.verbena.soft.cm;

/** Error numbers of Linux that only the communication manager reports. */
public final class CmErrno {
  static final int EISCONN = 106;
  public static final int ECONNREFUSED = 111;

  /** ENOTSUPP of the kernel, which is no errno of the C library. */
  static final int ENOTSUPP = 524;

  private CmErrno() {}
}
