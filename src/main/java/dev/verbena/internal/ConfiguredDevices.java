package dev.verbena.internal;

import java.util.Optional;
import java.util.ServiceLoader;

/**
 * The software devices that the system property {@code dev.verbena.soft} or the environment
 * variable {@code VERBENA_SOFT} describes. If neither is set, no implementation is loaded.
 */
public abstract class ConfiguredDevices {
  private static final String PROPERTY = "dev.verbena.soft";
  private static final String VARIABLE = "VERBENA_SOFT";

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
   */
  static Optional<Provider> provider() {
    return Holder.PROVIDER;
  }

  private static final class Holder {
    static final Optional<Provider> PROVIDER = create();

    private static Optional<Provider> create() {
      String description = System.getProperty(PROPERTY, System.getenv(VARIABLE));
      if (description == null || description.isBlank() || description.equals("0")) {
        return Optional.empty();
      }
      return Optional.of(
          ServiceLoader.load(ConfiguredDevices.class, ConfiguredDevices.class.getClassLoader())
              .findFirst()
              .orElseThrow(() -> new IllegalStateException("no software devices are installed"))
              .create(description));
    }
  }
}
