package dev.verbena.tools;

import dev.verbena.tools.output.Chart;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The bandwidth of one size.
 *
 * @param size the number of bytes of a message
 * @param count the number of messages that were measured, in one direction
 * @param messagesPerSecond the message rate; the sum of both directions if there are two
 * @param overTime the bandwidth of this end over time: seconds and MiB/s
 */
record PerfRate(int size, int count, double messagesPerSecond, List<double[]> overTime) {
  PerfRate(int size, Rates rates) {
    this(size, rates.done(), rates.perSecond(), rates.points());
  }

  /** Returns the sum of both directions. */
  PerfRate plus(double otherPerSecond) {
    return new PerfRate(size, count, messagesPerSecond + otherPerSecond, overTime);
  }

  double bytesPerSecond() {
    return messagesPerSecond * size;
  }

  double mebibytesPerSecond() {
    return bytesPerSecond() / (1 << 20);
  }

  private Map<String, Object> tree() {
    Map<String, Object> tree = new LinkedHashMap<>();
    tree.put("size", size);
    tree.put("count", count);
    tree.put("bytes_per_second", bytesPerSecond());
    tree.put("messages_per_second", messagesPerSecond);
    return tree;
  }

  /** Returns the result, as it is written. */
  PerfResult result(PerfTask task) {
    Map<String, String> cells = new LinkedHashMap<>();
    cells.put("bytes", "" + size);
    cells.put("count", "" + count);
    cells.put("MiB/s", String.format(Locale.ROOT, "%.2f", mebibytesPerSecond()));
    cells.put("messages/s", String.format(Locale.ROOT, "%.0f", messagesPerSecond));
    Map<String, Object> values = new LinkedHashMap<>();
    values.put("operation", task.operation());
    values.put("bytes", size);
    values.put("count", count);
    values.put("queue_pairs", task.plan().queuePairs());
    values.put("directions", task.plan().directions());
    values.put("mib_per_second", String.format(Locale.ROOT, "%.3f", mebibytesPerSecond()));
    values.put("messages_per_second", String.format(Locale.ROOT, "%.1f", messagesPerSecond));
    String text =
        String.format(
            Locale.ROOT, " %.1f MiB/s, %.0f messages/s", mebibytesPerSecond(), messagesPerSecond);
    Map<String, Double> points = Map.of("", mebibytesPerSecond());
    Chart chart = Chart.of("seconds", "MiB/s", overTime);
    return new PerfResult(size, count, cells, values, tree(), text, points, chart);
  }
}
