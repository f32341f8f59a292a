package dev.verbena.fuzz;

import dev.verbena.testing.Rig;
import dev.verbena.verbs.Device;
import java.net.InetAddress;
import java.util.List;

/**
 * The two devices of the emulated NIC, which has no RDMA CM and no kernel that lists objects: what
 * a context still has makes closing it fail.
 */
final class NicTarget implements Target {
  @Override
  public List<Device> devices() {
    return List.of(Rig.a(), Rig.b());
  }

  @Override
  public List<InetAddress> addresses() {
    return List.of();
  }

  @Override
  public void close() {}
}
