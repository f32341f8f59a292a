package dev.verbena.internal.foreign;

import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * The platform: operating system, processor architecture, address size, byte order.
 *
 * <p>It requires neither a library nor native access.
 *
 * @param os the value of {@code os.name}
 * @param arch the value of {@code os.arch}
 * @param addressBits the size of an address in bits
 * @param order the byte order
 */
public record Platform(String os, String arch, long addressBits, ByteOrder order) {
  private static final Platform CURRENT =
      new Platform(
          System.getProperty("os.name", "an unknown system"),
          System.getProperty("os.arch", "an unknown processor"),
          ValueLayout.ADDRESS.byteSize() * Byte.SIZE,
          ByteOrder.nativeOrder());

  /** Returns the platform of this JVM. */
  public static Platform current() {
    return CURRENT;
  }

  /**
   * Throws unless this platform is supported: the struct layouts of this library are tested for it.
   *
   * @throws UnsupportedOperationException with the requirement and the actual platform
   */
  public void requireSupported() {
    String reason = unsupportedReason();
    if (reason != null) {
      throw new UnsupportedOperationException(reason);
    }
  }

  /** Returns the reason why this platform is not supported, or null if it is. */
  public String unsupportedReason() {
    return isLinux() && (isX86() || isAarch64()) && hasLayouts()
        ? null
        : "Verbena needs Linux on x86-64 or aarch64, 64-bit and little-endian; this is "
            + this
            + (hasLayouts() ? ", where the software devices of one JVM work" : "");
  }

  /**
   * Throws unless the software devices of one JVM, which need no operating system of their own,
   * work on this platform.
   *
   * @throws UnsupportedOperationException with the requirement and the actual platform
   */
  public void requireLayouts() {
    if (!hasLayouts()) {
      throw new UnsupportedOperationException(
          "software devices need a 64-bit and little-endian platform; this is " + this);
    }
  }

  /** The sizes and the byte order of the numbers in the C structs. */
  private boolean hasLayouts() {
    return addressBits == 64 && order == ByteOrder.LITTLE_ENDIAN;
  }

  @Override
  public String toString() {
    return "%s on %s, %d-bit and %s"
        .formatted(
            os,
            arch,
            addressBits,
            order == ByteOrder.LITTLE_ENDIAN ? "little-endian" : "big-endian");
  }

  public boolean isLinux() {
    return os.equals("Linux");
  }

  /** Returns whether the processor is a 64-bit Arm. */
  public boolean isAarch64() {
    return arch.equals("aarch64");
  }

  public boolean isX86() {
    return arch.equals("amd64") || arch.equals("x86_64");
  }
}
