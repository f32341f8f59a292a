import dev.verbena.attributes.Counter;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import java.util.HashSet;
import java.util.Set;

/**
 * Prints the counters of all devices and ports in the text format of Prometheus.
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar Metrics.java}
 */
public class Metrics {
  public static void main(String[] args) {
    Set<String> described = new HashSet<>();
    for (Device device : Device.list()) {
      try (Context context = device.open()) {
        for (Counter counter : context.statistics().counters()) {
          System.out.print(text(device.name(), counter, described));
        }
      }
    }
    if (described.isEmpty()) {
      System.out.println("# this host has no device with counters");
    }
  }

  /** Returns the line of a counter, and before the first of its name what it means. */
  static String text(String device, Counter counter, Set<String> described) {
    String name = "rdma_" + counter.name() + "_total";
    String port = counter.port().isPresent() ? ",port=\"" + counter.port().getAsInt() + "\"" : "";
    String line =
        "%s{device=\"%s\"%s,source=\"%s\"} %s\n"
            .formatted(name, device, port, counter.group(), Long.toUnsignedString(counter.value()));
    boolean isFirst = described.add(name) && !counter.description().isEmpty();
    return isFirst
        ? "# HELP %s %s (%s)\n# TYPE %s counter\n%s"
            .formatted(name, counter.description(), counter.unit(), name, line)
        : line;
  }
}
