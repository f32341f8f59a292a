package dev.verbena.verbs;

import dev.verbena.address.AddressVector;
import dev.verbena.address.Gid;
import dev.verbena.address.GlobalRoute;
import dev.verbena.fake.FakeProvider;
import java.net.InetAddress;

/** Gives tests of the floors above the device in memory. */
public final class FakeDevices {
  private FakeDevices() {}

  /** A path from port 1 to port 2 of the device. */
  static final AddressVector PATH =
      AddressVector.global(1, new GlobalRoute(Gid.of(InetAddress.ofLiteral("10.0.0.2")), 1));

  /** The one device of a provider. */
  @SuppressWarnings("exports") // Tests are in the module.
  public static Device of(FakeProvider provider) {
    return Device.list(provider).getFirst();
  }
}
