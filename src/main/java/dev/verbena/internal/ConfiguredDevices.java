package dev.verbena.internal;

import dev.verbena.VerbsException;
import java.util.Optional;
import java.util.function.Function;

/**
 * The software devices that the system property {@code dev.verbena.soft} or the environment
 * variable {@code VERBENA_SOFT} describes. If neither is set, no class of theirs is loaded.
 */
public final class ConfiguredDevices {
  private static final String PROPERTY = "dev.verbena.soft";
  private static final String VARIABLE = "VERBENA_SOFT";

  private static final System.Logger LOG = System.getLogger("dev.verbena");

  /** Creates the devices; found by its name, as this package does not use that one. */
  private static final String CREATOR = "dev.verbena.soft.DescribedDevices";

  private static volatile Function<String, Provider> creator;

  private static boolean asked;
  private static Optional<Provider> provider = Optional.empty();

  private ConfiguredDevices() {}

  /**
   * Registers what creates the devices.
   *
   * @param function returns the provider of the devices that the property or the variable
   *     describes; throws {@link IllegalArgumentException} if the description is wrong
   */
  public static void setCreator(Function<String, Provider> function) {
    creator = function;
  }

  /**
   * Returns the provider of the configured devices, created at the first call; empty if there are
   * none.
   *
   * @throws IllegalArgumentException if the description is wrong
   * @throws VerbsException if a device cannot be created; the next call tries again
   */
  static synchronized Optional<Provider> provider() {
    if (!asked) {
      String description = description();
      if (!description.equals("0")) {
        provider = Optional.of(creator().apply(description));
        LOG.log(
            System.Logger.Level.INFO,
            "software devices come before the RDMA devices of this host: {0}={1}",
            System.getProperty(PROPERTY) == null
                ? "environment variable " + VARIABLE
                : "system property " + PROPERTY,
            description);
      }
      asked = true;
    }
    return provider;
  }

  /** Returns what the property or the variable describes; 0 if it is nothing. */
  static String description() {
    String text = System.getProperty(PROPERTY, System.getenv(VARIABLE));
    return text == null || text.isBlank() ? "0" : text.strip();
  }

  private static Function<String, Provider> creator() {
    try {
      Class<?> _ = Class.forName(CREATOR);
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException("no software devices are installed", e);
    }
    return creator;
  }
}
