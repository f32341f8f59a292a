package dev.verbena.internal;

import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * The kind of machine that runs: operating system, processor, width of an address, byte order.
 *
 * <p>Asking needs neither a library nor native access.
 *
 * @param os as {@code os.name} has it
 * @param arch as {@code os.arch} has it
 * @param addressBits the width of an address
 * @param order the byte order
 */
public record Platform(String os, String arch, long addressBits, ByteOrder order) {
  private static final Platform CURRENT =
      new Platform(
          System.getProperty("os.name", "an unknown system"),
          System.getProperty("os.arch", "an unknown processor"),
          ValueLayout.ADDRESS.byteSize() * Byte.SIZE,
          ByteOrder.nativeOrder());

  /**
   * The running machine.
   *
   * @return what this JVM runs on
   */
  public static Platform current() {
    return CURRENT;
  }

  /**
   * Throws unless the struct layouts that this library uses are proven for this platform.
   *
   * @throws UnsupportedOperationException saying what is needed and what was found
   */
  public void requireSupported() {
    String reason = unsupportedReason();
    if (reason != null) {
      throw new UnsupportedOperationException(reason);
    }
  }

  /**
   * Why this platform is not supported.
   *
   * @return the reason, or null where it is supported
   */
  public String unsupportedReason() {
    boolean supported =
        isLinux()
            && (isX86() || isAarch64())
            && addressBits == 64
            && order == ByteOrder.LITTLE_ENDIAN;
    return supported
        ? null
        : ("Verbena needs Linux on x86-64 or aarch64, 64-bit and little-endian;"
                + " this is %s on %s, %d-bit and %s")
            .formatted(
                os,
                arch,
                addressBits,
                order == ByteOrder.LITTLE_ENDIAN ? "little-endian" : "big-endian");
  }

  /**
   * Whether the operating system is Linux.
   *
   * @return true on Linux
   */
  public boolean isLinux() {
    return os.equals("Linux");
  }

  /**
   * Whether the processor is a 64-bit Arm.
   *
   * @return true on aarch64
   */
  public boolean isAarch64() {
    return arch.equals("aarch64");
  }

  private boolean isX86() {
    return arch.equals("amd64") || arch.equals("x86_64");
  }
}
