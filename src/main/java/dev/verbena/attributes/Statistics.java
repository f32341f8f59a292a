package dev.verbena.attributes;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.TreeMap;

/**
 * The counters of a device and of its ports at one time, as the kernel shows them below {@code
 * /sys/class/infiniband}, and what connections of this JVM count. Which counters a device has
 * depends on its driver; a software device counts for all of its ports.
 *
 * {@snippet :
 * Statistics before = context.statistics();
 * run();
 * Statistics change = context.statistics().since(before);
 * System.out.println(change.messages().get("client_requests"));
 * }
 *
 * <p>{@link #counters} lists them for metrics, with their meanings. See the manual page {@code
 * rdma-statistic(8)}.
 *
 * <p>A counter that a driver, the kernel or this library adds is a further entry of a map.
 *
 * @param device the counters of the whole device ({@code hw_counters}), by name; mostly empty, but
 *     for software devices
 * @param ports the counters of each port, in the order of the port numbers
 * @param messages the sums of the counters of all connections of {@code dev.verbena.messages} that
 *     this JVM has had over devices of this name, by name; empty before the first one
 */
public record Statistics(Map<String, Long> device, List<OfPort> ports, Map<String, Long> messages) {
  /**
   * Copies the arguments.
   *
   * @param device the counters of the whole device
   * @param ports the counters of each port
   * @param messages the counters of connections
   */
  public Statistics {
    device = copy(device);
    ports = List.copyOf(ports);
    messages = copy(messages);
  }

  /**
   * The counters of a port.
   *
   * @param port the port, counted from 1
   * @param counters the counters that the InfiniBand specification defines ({@code counters}), by
   *     name
   * @param hardware the counters of the driver ({@code hw_counters}), by name
   */
  public record OfPort(int port, Map<String, Long> counters, Map<String, Long> hardware) {
    /**
     * Copies the arguments.
     *
     * @param port the port
     * @param counters the counters that the specification defines
     * @param hardware the counters of the driver
     */
    public OfPort {
      counters = copy(counters);
      hardware = copy(hardware);
    }

    private OfPort since(OfPort earlier) {
      return new OfPort(
          port, difference(counters, earlier.counters), difference(hardware, earlier.hardware));
    }
  }

  /**
   * {@return all counters with their units and meanings, those of the device, then those of each
   * port and those of connections, for programs that export metrics}
   */
  public List<Counter> counters() {
    List<Counter> all = new ArrayList<>();
    add(all, OptionalInt.empty(), "hw_counters", device);
    for (OfPort port : ports) {
      add(all, OptionalInt.of(port.port), "counters", port.counters);
      add(all, OptionalInt.of(port.port), "hw_counters", port.hardware);
    }
    add(all, OptionalInt.empty(), "messages", messages);
    return List.copyOf(all);
  }

  private static void add(
      List<Counter> all, OptionalInt port, String group, Map<String, Long> counters) {
    counters.forEach((name, value) -> all.add(new Counter(port, group, name, value)));
  }

  /**
   * {@return for each counter the difference to an earlier time; ports and counters that are new
   * count from 0}
   *
   * @param earlier the counters of the same device at that time
   */
  public Statistics since(Statistics earlier) {
    return new Statistics(
        difference(device, earlier.device),
        ports.stream()
            .map(
                port ->
                    earlier.ports.stream()
                        .filter(other -> other.port == port.port)
                        .findAny()
                        .map(port::since)
                        .orElse(port))
            .toList(),
        difference(messages, earlier.messages));
  }

  private static Map<String, Long> difference(Map<String, Long> now, Map<String, Long> earlier) {
    Map<String, Long> changes = new TreeMap<>();
    now.forEach((name, value) -> changes.put(name, value - earlier.getOrDefault(name, 0L)));
    return changes;
  }

  private static Map<String, Long> copy(Map<String, Long> counters) {
    return Collections.unmodifiableMap(new TreeMap<>(counters));
  }
}
