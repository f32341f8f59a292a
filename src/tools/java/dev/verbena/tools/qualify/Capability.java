package dev.verbena.tools.qualify;

import dev.verbena.attributes.DeviceAttributes;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Something that a device may be able to do, and how to try it.
 *
 * @param name its name in reports
 * @param announced whether the attributes of a device announce it; null if no attribute does
 * @param trial tries it
 */
record Capability(
    String name, Function<DeviceAttributes, @Nullable Boolean> announced, Trial trial) {
  /** Tries a capability; any exception is the result. */
  interface Trial {
    void run(Bench bench) throws Exception;
  }

  /** Returns a capability that no attribute announces. */
  static Capability of(String name, Trial trial) {
    return new Capability(name, _ -> null, trial);
  }

  static Capability announcedBy(
      Function<DeviceAttributes, @Nullable Boolean> announced, String name, Trial trial) {
    return new Capability(name, announced, trial);
  }
}
