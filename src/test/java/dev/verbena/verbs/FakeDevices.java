package dev.verbena.verbs;

import dev.verbena.fake.FakeProvider;

/** Gives tests of the floors above the device in memory. */
public final class FakeDevices {
  private FakeDevices() {}

  /** The one device of a provider. */
  @SuppressWarnings("exports") // Tests are in the module.
  public static Device of(FakeProvider provider) {
    return Device.list(provider).getFirst();
  }
}
