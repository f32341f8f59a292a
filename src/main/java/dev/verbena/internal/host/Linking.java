package dev.verbena.internal.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;

/**
 * How calls of the data path are linked.
 *
 * <p>A call that is linked as critical takes a few nanoseconds less, because the thread remains in
 * the Java state; each safepoint waits until it returns. That suits providers that post and poll in
 * user space. It does not suit librxe and libsiw, whose doorbell is a system call, and crashes with
 * a provider that calls back into Java.
 *
 * <p>{@code -Ddev.verbena.linking=critical} or {@code =plain} selects it for all devices.
 */
public enum Linking {
  PLAIN,
  CRITICAL;

  /** Kernel drivers whose provider libraries ring the doorbell in user space. */
  private static final Set<String> USER_SPACE =
      Set.of(
          "bnxt_en",
          "cxgb4",
          "efa",
          "erdma",
          "hns3",
          "ice",
          "irdma",
          "ionic",
          "mana",
          "mlx4_core",
          "mlx5_core",
          "ib_mthca",
          "qede",
          "vmw_pvrdma");

  private static final String FORCED = System.getProperty("dev.verbena.linking", "");

  /**
   * Returns how calls of a device are linked.
   *
   * @param sysfsPath the directory of the device in sysfs; empty if it has none
   */
  public static Linking of(String sysfsPath) {
    return switch (FORCED) {
      case "" -> USER_SPACE.contains(driver(sysfsPath)) ? CRITICAL : PLAIN;
      case "critical" -> CRITICAL;
      case "plain" -> PLAIN;
      default ->
          throw new IllegalArgumentException(
              "dev.verbena.linking must be critical or plain: " + FORCED);
    };
  }

  /** Returns the kernel driver of the hardware of a device; empty for software devices. */
  public static String driver(String sysfsPath) {
    if (sysfsPath.isEmpty()) {
      return "";
    }
    Path link = Path.of(sysfsPath, "device", "driver");
    try {
      return Files.exists(link) ? link.toRealPath().getFileName().toString() : "";
    } catch (IOException e) {
      return ""; // Unreadable: use the mode that suits every provider.
    }
  }

  public boolean isCritical() {
    return this == CRITICAL;
  }
}
