package dev.verbena.tools;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The state of a port and its traffic so far, as {@code /sys/class/infiniband} shows them. */
record PortCounters(
    String device, String number, String state, String rate, Map<Flow, Long> traffic) {
  static final String DEVICES = "/sys/class/infiniband";

  /** Returns the ports of all devices of a host. */
  static List<PortCounters> read(Machine machine) {
    List<PortCounters> ports = new ArrayList<>();
    for (String device : machine.names(DEVICES)) {
      String folder = DEVICES + "/" + device + "/ports";
      for (String port : machine.names(folder)) {
        ports.add(read(machine, device, port, folder + "/" + port));
      }
    }
    return ports;
  }

  private static PortCounters read(Machine machine, String device, String port, String folder) {
    Map<String, Long> values = values(machine, folder + "/hw_counters");
    values.putAll(values(machine, folder + "/counters"));
    Map<Flow, Long> traffic = new EnumMap<>(Flow.class);
    for (Flow flow : Flow.values()) {
      flow.of(values).ifPresent(value -> traffic.put(flow, value));
    }
    // The kernel writes "4: ACTIVE".
    String state = machine.firstLine(folder + "/state").orElse("-").replaceFirst("^\\d+: ", "");
    return new PortCounters(
        device, port, state, machine.firstLine(folder + "/rate").orElse("-"), traffic);
  }

  /** Returns the counters in a folder, by name. */
  static Map<String, Long> values(Machine machine, String folder) {
    Map<String, Long> values = new LinkedHashMap<>();
    for (String counter : machine.names(folder)) {
      machine
          .firstLine(folder + "/" + counter)
          .filter(text -> text.matches("\\d{1,20}"))
          .ifPresent(text -> values.put(counter, Long.parseUnsignedLong(text)));
    }
    return values;
  }

  /** Returns the name that the program rdma gives the port. */
  String name() {
    return device + "/" + number;
  }
}
