package dev.verbena.tools;

import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.Verbena;
import java.io.IOException;
import java.nio.file.Files;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The device and the host of a report, before addresses and names are removed. */
final class Inventory {
  /** What is stored, for people to read before it is. */
  static final List<String> STORED =
      List.of(
          "device: name, firmware, vendor and part number, attributes, ports, MTU, link, GID table",
          "driver and its version, kernel, rdma-core and provider library, JDK",
          "processor, number of processors, NUMA node of the device, processors of this process",
          "findings of verbena doctor: huge pages, locked memory and others",
          "what works on the device, and times",
          "GUIDs, MAC and IP addresses as salted hashes; the salt is not stored",
          "not stored: names of host and user, paths");

  private final Machine machine;

  Inventory(Machine machine) {
    this.machine = machine;
  }

  Map<String, Object> of(Device device) {
    Map<String, Object> tree = new LinkedHashMap<>();
    tree.put("device", device.name());
    host(tree);
    String folder = "/sys/class/infiniband/" + device.name() + "/device/";
    tree.put("driver", driver(folder));
    tree.put("driver_version", line(folder + "driver/module/version"));
    tree.put(
        "numa_node_of_device", device.numaNode().isPresent() ? device.numaNode().getAsInt() : -1);
    try (Context context = device.open()) {
      Map<String, Object> attributes = DeviceReport.of(context);
      tree.put("firmware", "" + attributes.get("fw_ver"));
      tree.put("provider", context.providerLibrary().orElse("none"));
      tree.put("direct_data_path", context.directObstacle().orElse("possible"));
      tree.put("attributes", attributes);
    }
    return tree;
  }

  private void host(Map<String, Object> tree) {
    tree.put("kernel", line("/proc/sys/kernel/osrelease"));
    tree.put("rdma_core", Verbena.rdmaCoreRelease().orElse("none"));
    tree.put("jdk", Runtime.version() + " of " + System.getProperty("java.vendor"));
    tree.put("architecture", System.getProperty("os.arch"));
    tree.put("processor", field("/proc/cpuinfo", "model name"));
    tree.put("processors", Runtime.getRuntime().availableProcessors());
    tree.put("processors_of_process", field("/proc/self/status", "Cpus_allowed_list"));
    tree.put("huge_page_size", field("/proc/meminfo", "Hugepagesize"));
    tree.put("huge_pages_free", field("/proc/meminfo", "HugePages_Free"));
  }

  private String line(String path) {
    return machine.firstLine(path).orElse("unknown");
  }

  private String field(String path, String name) {
    return machine.field(path, name).orElse("unknown");
  }

  private String driver(String folder) {
    try {
      return Files.readSymbolicLink(machine.path(folder + "driver")).getFileName().toString();
    } catch (IOException e) {
      return "unknown";
    }
  }

  /** Returns the kind of a device, for readers who compare reports. */
  String kind(Device device, boolean overUdp) {
    if (device.sysfsPath().isEmpty()) {
      return overUdp ? "software device over UDP" : "software device in process";
    }
    if (System.getenv("VERBENA_NIC_INCLUDE") != null) {
      return "emulated NIC";
    }
    return machine.has("/sys/class/infiniband/" + device.name() + "/parent")
        ? "Soft-RoCE"
        : "device of the host";
  }
}
