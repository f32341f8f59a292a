package dev.verbena.tools;

import dev.verbena.verbs.Device;
import java.util.List;

/** The devices of this machine, of which programs that need one cannot do without. */
final class Devices {
  private Devices() {}

  /** The device of a name, or the first one where that is null. */
  static Device orFirst(String name) {
    return name == null ? all().getFirst() : Device.named(name);
  }

  /** All devices, of which there is at least one. */
  static List<Device> all() {
    List<Device> devices = Device.list();
    if (devices.isEmpty()) {
      throw new UnsupportedOperationException("no RDMA device; verbena doctor tells more");
    }
    return devices;
  }
}
