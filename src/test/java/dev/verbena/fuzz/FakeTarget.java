package dev.verbena.fuzz;

import dev.verbena.fake.FakeProvider;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.FakeDevices;
import java.net.InetAddress;
import java.util.List;

/** The fake device, which keeps account of everything itself. */
final class FakeTarget implements Target {
  private final FakeProvider provider = new FakeProvider();

  @Override
  public List<Device> devices() {
    return List.of(FakeDevices.of(provider));
  }

  @Override
  public List<InetAddress> addresses() {
    return List.of();
  }

  /** Throws what is left open, and what went wrong behind a function pointer. */
  @Override
  public void close() {
    provider.close();
  }
}
