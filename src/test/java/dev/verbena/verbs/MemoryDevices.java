package dev.verbena.verbs;

import dev.verbena.testing.MemoryProvider;

/** Gives tests of the floors above the device in memory. */
public final class MemoryDevices {
  private MemoryDevices() {}

  /** The one device of a provider. */
  @SuppressWarnings("exports") // Tests are in the module.
  public static Device of(MemoryProvider provider) {
    return Device.list(provider).getFirst();
  }
}
