package dev.verbena.tools;

import dev.verbena.tools.output.Table;
import dev.verbena.tools.output.Units;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;

/** Prints the activity of a host as tables of ports, queue pairs and connections. */
final class HostTables {
  private final HostActivity activity;
  private final int rows;
  private final PrintWriter out;

  /** With the largest number of queue pairs, and of connections, to print. */
  HostTables(HostActivity activity, int rows, PrintWriter out) {
    this.activity = activity;
    this.rows = rows;
    this.out = out;
  }

  void print() {
    ports();
    print(
        "queue pairs",
        activity.queuePairs(),
        List.of("port", "QPN", "type", "state", "remote QPN", "process"),
        List.of("link", "lqpn", "type", "state", "rqpn"));
    print(
        "connections",
        activity.connections(),
        List.of("port", "QPN", "state", "from", "to", "process"),
        List.of("link", "lqpn", "state", "src-addr", "dst-addr"));
  }

  private void ports() {
    Table table =
        new Table(
            List.of(
                "port", "state", "rate", "received", "sent", "packets received", "packets sent"));
    for (PortCounters port : activity.ports()) {
      table.row(
          List.of(
              port.name(),
              port.state(),
              port.rate(),
              bytes(activity.perSecond(port, Flow.RECEIVED_BYTES)),
              bytes(activity.perSecond(port, Flow.SENT_BYTES)),
              packets(activity.perSecond(port, Flow.RECEIVED_PACKETS)),
              packets(activity.perSecond(port, Flow.SENT_PACKETS))));
    }
    table.print(out);
  }

  private static String bytes(OptionalDouble rate) {
    return rate.isEmpty() ? "-" : Units.bytes((long) rate.getAsDouble()) + "/s";
  }

  private static String packets(OptionalDouble rate) {
    return rate.isEmpty() ? "-" : String.format(Locale.ROOT, "%.0f/s", rate.getAsDouble());
  }

  private void print(String title, RdmaResource resource, List<String> titles, List<String> words) {
    List<Map<String, String>> objects = resource.objects();
    out.println();
    if (!resource.problem().isEmpty()) {
      out.println(title + " not shown: " + resource.problem());
      return;
    }
    if (objects.isEmpty()) {
      out.println("no " + title);
      return;
    }
    Table table = new Table(titles);
    for (Map<String, String> object : objects.subList(0, Math.min(rows, objects.size()))) {
      List<String> cells = new ArrayList<>();
      for (String word : words) {
        cells.add(object.getOrDefault(word, "-"));
      }
      cells.add(process(object));
      table.row(cells);
    }
    table.print(out);
    if (objects.size() > rows) {
      out.println(objects.size() - rows + " more " + title + ": --rows, --json");
    }
  }

  /** Returns the number and name of a process; objects of the kernel have a name only. */
  private static String process(Map<String, String> object) {
    return (object.getOrDefault("pid", "") + " " + object.getOrDefault("comm", "")).strip();
  }
}
