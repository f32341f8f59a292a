package dev.verbena.internal;

import dev.verbena.VerbsException;
import java.util.Optional;
import java.util.ServiceLoader;

/**
 * The software devices that the system property {@code dev.verbena.soft} or the environment
 * variable {@code VERBENA_SOFT} describes. If neither is set, no implementation is loaded.
 */
public abstract class ConfiguredDevices {
  private static final String PROPERTY = "dev.verbena.soft";
  private static final String VARIABLE = "VERBENA_SOFT";

  private static final System.Logger LOG = System.getLogger("dev.verbena");

  private static boolean asked;
  private static Optional<Provider> provider = Optional.empty();

  /** For implementations, which a {@link ServiceLoader} finds. */
  protected ConfiguredDevices() {}

  /**
   * Creates the devices.
   *
   * @param description the value of the property or the variable
   * @throws IllegalArgumentException if the description is wrong
   * @return the provider of the devices
   */
  protected abstract Provider create(String description);

  /**
   * Returns the provider of the configured devices, created at the first call; empty if there are
   * none.
   *
   * @throws IllegalArgumentException if the description is wrong
   * @throws VerbsException if a device cannot be created; the next call tries again
   */
  static synchronized Optional<Provider> provider() {
    if (!asked) {
      String description = System.getProperty(PROPERTY, System.getenv(VARIABLE));
      if (description != null && !description.isBlank() && !description.equals("0")) {
        provider = Optional.of(installed().create(description.strip()));
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

  private static ConfiguredDevices installed() {
    return ServiceLoader.load(ConfiguredDevices.class, ConfiguredDevices.class.getClassLoader())
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("no software devices are installed"));
  }
}
