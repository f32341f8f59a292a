package dev.verbena.verbs;

/**
 * The reason why verbs cannot be used on this host.
 *
 * @param reason the requirement that is missing
 * @param explanation a description with advice
 */
public record Unsupported(Reason reason, String explanation) {

  /** The requirements, in the order in which they are checked. */
  public enum Reason {
    /** The operating system is not Linux. */
    OPERATING_SYSTEM,
    /** The processor architecture is not supported, or the JVM cannot call native functions. */
    ARCHITECTURE,
    /** Native access is not enabled for this library. */
    NATIVE_ACCESS,
    /** libibverbs is not installed, or the configured file is not this library. */
    LIBRARY,
    /** The kernel has no RDMA support loaded, or the process may not use it. */
    KERNEL,
    /** There is no RDMA device. */
    DEVICE
  }

  @Override
  public String toString() {
    return explanation;
  }
}
