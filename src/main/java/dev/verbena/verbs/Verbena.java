package dev.verbena.verbs;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.NoDevice;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Providers;
import dev.verbena.internal.Verbs;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.Platform;
import dev.verbena.verbs.Verbena.Unsupported.Reason;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Checks whether this host can use RDMA. The checks can be called on any operating system.
 *
 * <p>No library is loaded before one of these methods is called.
 */
public final class Verbena {
  private Verbena() {}

  /**
   * Returns whether there is a device that can be opened.
   *
   * @return false if {@link #unsupportedReason} returns a reason
   */
  public static boolean isSupported() {
    return unsupportedReason().isEmpty();
  }

  /**
   * Returns the requirement that is missing. It is checked again at each call, as devices can be
   * added and removed.
   *
   * @return the requirement with advice; empty if nothing is missing
   */
  public static Optional<Unsupported> unsupportedReason() {
    return unsupportedReason(Platform.current(), Providers::system);
  }

  static Optional<Unsupported> unsupportedReason(Platform platform, Supplier<Provider> system) {
    try {
      return missing(platform, system);
    } catch (IllegalCallerException e) {
      return because(Reason.NATIVE_ACCESS, e.getMessage());
    } catch (UnsupportedOperationException | LinkageError e) {
      return because(Reason.ARCHITECTURE, "this JVM cannot call C: " + e);
    }
  }

  private static Optional<Unsupported> missing(Platform platform, Supplier<Provider> system) {
    Provider provider;
    try {
      provider = system.get();
    } catch (VerbsException | IllegalArgumentException | IllegalStateException e) {
      // A software device that is described wrongly, or cannot be created.
      return because(Reason.DEVICE, e.getMessage());
    }
    String unknown = platform.unsupportedReason();
    if (unknown != null && Providers.isNative(provider)) {
      return because(platform.isLinux() ? Reason.ARCHITECTURE : Reason.OPERATING_SYSTEM, unknown);
    }
    Verbs verbs;
    try {
      verbs = provider.verbs();
    } catch (VerbsException e) {
      return because(Reason.LIBRARY, e.getMessage() + "; " + NoDevice.REMEDY);
    }
    try {
      return hasDevice(verbs)
          ? Optional.empty()
          : because(
              Reason.DEVICE,
              "no RDMA device: load the driver of the network card; " + NoDevice.REMEDY);
    } catch (VerbsException e) {
      return switch (e.errno()) {
        case Errno.EOPNOTSUPP -> because(Reason.LIBRARY, e.getMessage());
        case Errno.ENOSYS ->
            because(
                Reason.KERNEL,
                e.getMessage() + ": load ib_uverbs (modprobe) and the driver; " + NoDevice.REMEDY);
        default -> because(Reason.KERNEL, e.getMessage());
      };
    }
  }

  private static boolean hasDevice(Verbs verbs) {
    long list = verbs.ibv_get_device_list(0);
    try {
      return Memory.getLong(list) != 0;
    } finally {
      verbs.ibv_free_device_list(list);
    }
  }

  private static Optional<Unsupported> because(Reason reason, String explanation) {
    return Optional.of(new Unsupported(reason, explanation));
  }

  /**
   * Returns the version of this library. It is read from a file beside this class, so it is known
   * in a run-time image and in a jar that contains other libraries as well; the jar's manifest has
   * the same value as {@code Implementation-Version}.
   *
   * @return the version, such as {@code 0.1.0}; {@code unknown} for classes that Maven did not
   *     build, whose folder has a file without the value
   */
  public static String version() {
    try (InputStream file = Verbena.class.getResourceAsStream("version")) {
      String version = file == null ? "" : new String(file.readAllBytes(), UTF_8).strip();
      return version.isEmpty() || version.startsWith("$") ? "unknown" : version;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Returns the rdma-core release of the installed libibverbs.
   *
   * @return the release, such as {@code 44.0}; empty if there is no library or its file name does
   *     not contain it
   */
  public static Optional<String> rdmaCoreRelease() {
    try {
      return Providers.system().release();
    } catch (RuntimeException | LinkageError e) {
      return Optional.empty(); // unsupportedReason() returns the reason.
    }
  }

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
}
