package dev.verbena.tools;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
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
    Map<String, Long> values = new HashMap<>();
    for (String kind : List.of("/hw_counters", "/counters")) {
      for (String counter : machine.names(folder + kind)) {
        machine
            .firstLine(folder + kind + "/" + counter)
            .filter(text -> text.matches("\\d{1,20}"))
            .ifPresent(text -> values.put(counter, Long.parseUnsignedLong(text)));
      }
    }
    Map<Flow, Long> traffic = new EnumMap<>(Flow.class);
    for (Flow flow : Flow.values()) {
      flow.of(values).ifPresent(value -> traffic.put(flow, value));
    }
    // The kernel writes "4: ACTIVE".
    String state = machine.firstLine(folder + "/state").orElse("-").replaceFirst("^\\d+: ", "");
    return new PortCounters(
        device, port, state, machine.firstLine(folder + "/rate").orElse("-"), traffic);
  }

  /** Returns the name that the program rdma gives the port. */
  String name() {
    return device + "/" + number;
  }
}
