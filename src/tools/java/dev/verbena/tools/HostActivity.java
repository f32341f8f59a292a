package dev.verbena.tools;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/**
 * What the devices of a host did within an interval.
 *
 * @param ports the ports at its end
 * @param before the ports at its begin
 * @param seconds its length
 * @param queuePairs the queue pairs at its end
 * @param connections the identifiers of RDMA CM at its end
 */
record HostActivity(
    List<PortCounters> ports,
    List<PortCounters> before,
    double seconds,
    RdmaResource queuePairs,
    RdmaResource connections) {

  /** Returns the rate of something; empty if the driver does not count it, or the port is new. */
  OptionalDouble perSecond(PortCounters port, Flow flow) {
    Long now = port.traffic().get(flow);
    return before.stream()
        .filter(earlier -> earlier.name().equals(port.name()))
        .filter(earlier -> now != null && earlier.traffic().containsKey(flow))
        .mapToDouble(earlier -> (now - earlier.traffic().get(flow)) / seconds)
        .findAny();
  }

  /** Returns all of it for JSON; null for what is not known. */
  Map<String, Object> tree() {
    Map<String, Object> tree = new LinkedHashMap<>();
    tree.put("seconds", seconds);
    tree.put("ports", ports.stream().map(this::tree).toList());
    tree.put("queue_pairs", queuePairs.problem().isEmpty() ? queuePairs.objects() : null);
    tree.put("connections", connections.problem().isEmpty() ? connections.objects() : null);
    return tree;
  }

  private Map<String, Object> tree(PortCounters port) {
    Map<String, Object> tree = new LinkedHashMap<>();
    tree.put("device", port.device());
    tree.put("port", port.number());
    tree.put("state", port.state());
    tree.put("rate", port.rate());
    for (Flow flow : Flow.values()) {
      OptionalDouble rate = perSecond(port, flow);
      tree.put(flow.rate(), rate.isEmpty() ? null : rate.getAsDouble());
    }
    return tree;
  }
}
