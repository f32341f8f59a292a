package dev.verbena.verbs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;

/**
 * How calls of the data path are linked.
 *
 * <p>A call linked as critical costs a few nanoseconds less, because the JVM is not told that the
 * thread is in C; in turn every safepoint waits until it is back. That is right for providers that
 * post and poll in user space. It is wrong for rxe and siw, whose doorbell is a system call, and
 * fatal for a provider that calls back into Java.
 *
 * <p>{@code -Ddev.verbena.linking=critical} or {@code =plain} decides for all devices.
 */
enum Linking {
  PLAIN,
  CRITICAL;

  /** Kernel drivers whose providers ring the doorbell in user space. */
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

  static Linking of(Device device) {
    return switch (FORCED) {
      case "" -> USER_SPACE.contains(driver(device)) ? CRITICAL : PLAIN;
      case "critical" -> CRITICAL;
      case "plain" -> PLAIN;
      default ->
          throw new IllegalArgumentException(
              "dev.verbena.linking is critical or plain, not " + FORCED);
    };
  }

  /** The kernel driver of the hardware under a device; software devices have none. */
  private static String driver(Device device) {
    if (device.sysfsPath().isEmpty()) {
      return "";
    }
    Path link = Path.of(device.sysfsPath(), "device", "driver");
    try {
      return Files.exists(link) ? link.toRealPath().getFileName().toString() : "";
    } catch (IOException e) {
      return ""; // Unreadable: then the mode that is right for every provider.
    }
  }

  boolean isCritical() {
    return this == CRITICAL;
  }
}
