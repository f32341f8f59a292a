package dev.verbena.fuzz;

import dev.verbena.testing.RdmaResources;
import dev.verbena.testing.Rig;
import dev.verbena.verbs.Device;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;

/** The devices of the lab; the kernel keeps account. */
final class RealTarget implements Target {
  private static final Map<String, Integer> BEFORE = RdmaResources.now();

  @Override
  public List<Device> devices() {
    return List.of(Rig.a(), Rig.b());
  }

  @Override
  public List<InetAddress> addresses() {
    return List.of(Rig.addressA(), Rig.addressB());
  }

  @Override
  public void close() throws InterruptedException {
    RdmaResources.requireNoMoreThan(BEFORE);
  }
}
