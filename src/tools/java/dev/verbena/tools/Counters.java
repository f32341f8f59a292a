package dev.verbena.tools;

import dev.verbena.verbs.Device;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** The counters of a device's first port, as the kernel shows them. */
final class Counters {
  private final String folder;
  private final Map<String, Long> then;

  private Counters(String folder) {
    this.folder = folder;
    this.then = read();
  }

  static Counters of(Device device) {
    return new Counters("/sys/class/infiniband/" + device.name() + "/ports/1/hw_counters");
  }

  private Map<String, Long> read() {
    Map<String, Long> counters = PortCounters.values(Machine.THIS, folder);
    counters.remove("lifespan"); // The time that the kernel caches values, not a counter.
    return counters;
  }

  /** Returns the changes since this object was created; empty if there are none. */
  Optional<String> sinceThen() {
    String changes =
        read().entrySet().stream()
            .filter(now -> now.getValue() > then.getOrDefault(now.getKey(), 0L))
            .map(
                now -> now.getKey() + " +" + (now.getValue() - then.getOrDefault(now.getKey(), 0L)))
            .collect(Collectors.joining(", "));
    return changes.isEmpty() ? Optional.empty() : Optional.of(changes);
  }
}
