package dev.verbena.verbs;

/**
 * Why verbs cannot be used on this machine.
 *
 * @param reason what is missing
 * @param explanation the same in words, with what to do about it
 */
public record Unsupported(Reason reason, String explanation) {

  /** What can be missing, in the order in which it is looked for. */
  public enum Reason {
    /** The operating system is not Linux. */
    OPERATING_SYSTEM,
    /** The processor is none of those whose struct layouts are known, or the JVM cannot call C. */
    ARCHITECTURE,
    /** The JVM was not allowed to call C. */
    NATIVE_ACCESS,
    /** The C library is not installed, or the file named is not it. */
    LIBRARY,
    /** The kernel has no RDMA support loaded, or does not let this process use it. */
    KERNEL,
    /** All is there except a device. */
    DEVICE
  }

  @Override
  public String toString() {
    return explanation;
  }
}
