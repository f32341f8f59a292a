package dev.verbena.tools.command;

import dev.verbena.verbs.Device;
import dev.verbena.verbs.Verbena;
import dev.verbena.verbs.Verbena.Unsupported;
import java.util.List;

/** The devices of this host, for programs that need at least one. */
public final class HostDevices {
  private HostDevices() {}

  /** Returns the device with a name, or the first one for null and for the one over UDP. */
  public static Device orFirst(String name) {
    return name == null || UdpDevice.isDescribedBy(name) ? all().getFirst() : Device.named(name);
  }

  /** Returns all devices, at least one. */
  public static List<Device> all() {
    List<Device> devices = Device.list();
    if (devices.isEmpty()) {
      throw new UnsupportedOperationException(
          Verbena.unsupportedReason().map(Unsupported::explanation).orElse("no RDMA device"));
    }
    return devices;
  }
}
