package dev.verbena.s3;

import dev.verbena.verbs.Device;
import java.util.List;
import java.util.function.Supplier;

/** The RDMA devices of this host. */
final class Devices {
  private static volatile Supplier<List<Device>> source = Device::list;

  private Devices() {}

  /** Tests have others than those of the host. */
  static void use(Supplier<List<Device>> devices) {
    source = devices;
  }

  static List<Device> list() {
    return source.get();
  }
}
