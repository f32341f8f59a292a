package dev.verbena.aeron;

/** Says why an address has no RDMA device. */
final class NoDeviceException extends RuntimeException {
  private static final long serialVersionUID = 1;

  NoDeviceException(String message) {
    super(message);
  }

  NoDeviceException(String message, Throwable cause) {
    super(message, cause);
  }
}
