package dev.verbena.tools;

import dev.verbena.tools.output.Chart;
import dev.verbena.tools.output.Chart.Line;
import dev.verbena.tools.output.Json;
import dev.verbena.tools.output.Table;
import dev.verbena.tools.output.Units;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Writes what was measured: text, JSON or comma-separated values, and a chart, whose file is opened
 * before the measurement.
 */
final class PerfOutput implements AutoCloseable {
  /** The form of the result. */
  enum Form {
    /** For people. */
    TEXT,
    /** One object. */
    JSON,
    /** Comma-separated values with a line of names. */
    CSV
  }

  private final PrintWriter out;
  private final Form form;
  private final @Nullable Writer chart;

  PerfOutput(PrintWriter out, Form form, @Nullable Path chart) throws IOException {
    this.out = out;
    this.form = form;
    this.chart = chart == null ? null : open(chart);
  }

  private static Writer open(Path file) throws IOException {
    try {
      return Files.newBufferedWriter(file, StandardCharsets.UTF_8);
    } catch (NoSuchFileException e) {
      throw new IOException("the chart cannot be written: there is no folder for " + file, e);
    } catch (IOException e) {
      throw new IOException("the chart cannot be written: " + e, e);
    }
  }

  /** Writes times in nanoseconds, by size. */
  void latency(String operation, Map<Integer, Histogram> bySize) throws IOException {
    switch (form) {
      case JSON -> out.println(Json.of(latencyTree(operation, bySize)));
      case CSV -> latencyValues(operation, bySize);
      case TEXT -> latencyText(operation, bySize);
    }
    if (bySize.size() == 1) {
      int size = bySize.keySet().iterator().next();
      draw(Histograms.chart(bySize.get(size), title(operation, size)));
    } else {
      draw(
          Chart.bySize(
              operation,
              "us",
              List.of(
                  line("median", bySize, 50),
                  line("99 %", bySize, 99),
                  line("99.9 %", bySize, 99.9))));
    }
  }

  private static String title(String operation, int size) {
    return operation + ", " + Units.bytes(size);
  }

  private static Line line(String name, Map<Integer, Histogram> bySize, double percentile) {
    List<double[]> points = new ArrayList<>();
    bySize.forEach(
        (size, times) ->
            points.add(new double[] {size, times.getValueAtPercentile(percentile) / 1000.0}));
    return new Line(name, points);
  }

  private static Map<String, Object> latencyTree(String operation, Map<Integer, Histogram> bySize) {
    List<Map<String, Object>> sizes = new ArrayList<>();
    bySize.forEach(
        (size, times) -> {
          Map<String, Object> tree = new LinkedHashMap<>();
          tree.put("size", size);
          tree.put("latency", Histograms.tree(times));
          sizes.add(tree);
        });
    return tree("latency", operation, sizes);
  }

  /** Returns the result of one size, or that of several as a list. */
  private static Map<String, Object> tree(
      String measured, String operation, List<Map<String, Object>> sizes) {
    Map<String, Object> tree = new LinkedHashMap<>();
    tree.put("measured", measured);
    tree.put("operation", operation);
    if (sizes.size() == 1) {
      tree.putAll(sizes.getFirst());
    } else {
      tree.put("sizes", sizes);
    }
    return tree;
  }

  private void latencyValues(String operation, Map<Integer, Histogram> bySize) {
    out.println("operation,bytes,count,min_ns,p50_ns,p90_ns,p99_ns,p99.9_ns,p99.99_ns,max_ns");
    bySize.forEach(
        (size, times) ->
            out.println(
                Stream.concat(
                        Stream.of(operation.replace(",", ""), size, times.getTotalCount()),
                        Histograms.values(times).values().stream())
                    .map(Object::toString)
                    .collect(Collectors.joining(","))));
  }

  private void latencyText(String operation, Map<Integer, Histogram> bySize) {
    if (bySize.size() == 1) {
      bySize.forEach(
          (size, times) -> {
            out.println(title(operation, size) + ", " + times.getTotalCount() + " times:");
            Histograms.draw(times, "us").forEach(out::println);
          });
      return;
    }
    out.println(operation + ", microseconds");
    Table table = new Table(List.of("bytes", "count", "min", "p50", "p90", "p99", "p99.9", "max"));
    bySize.forEach(
        (size, times) -> {
          Map<String, Long> values = Histograms.values(times);
          values.remove("p99.99");
          List<String> cells = new ArrayList<>(List.of("" + size, "" + times.getTotalCount()));
          values.values().forEach(nanos -> cells.add(micros(nanos)));
          table.row(cells);
        });
    table.print(out);
  }

  private static String micros(long nanos) {
    return String.format(Locale.ROOT, "%.2f", nanos / 1000.0);
  }

  /** Writes bandwidths, one for each size. */
  void bandwidth(PerfTask task, List<PerfRate> rates) throws IOException {
    String operation = task.operation().toString();
    switch (form) {
      case JSON -> out.println(Json.of(bandwidthTree(task, rates)));
      case CSV -> {
        out.println(
            "operation,bytes,count,queue_pairs,directions,mib_per_second,messages_per_second");
        rates.forEach(rate -> out.println(values(task, rate)));
      }
      case TEXT -> bandwidthText(describe(task), rates);
    }
    if (rates.size() == 1) {
      draw(rates.getFirst().chart());
    } else {
      List<double[]> points =
          rates.stream()
              .map(rate -> new double[] {rate.size(), rate.mebibytesPerSecond()})
              .toList();
      draw(Chart.bySize(operation, "MiB/s", List.of(new Line("", points))));
    }
  }

  private static String describe(PerfTask task) {
    PerfPlan plan = task.plan();
    return task.operation()
        + (plan.queuePairs() > 1 ? ", " + plan.queuePairs() + " queue pairs" : "")
        + (plan.bidirectional() ? ", both directions" : "");
  }

  private static Map<String, Object> bandwidthTree(PerfTask task, List<PerfRate> rates) {
    Map<String, Object> tree =
        tree(
            "bandwidth",
            task.operation().toString(),
            rates.stream().map(PerfRate::tree).collect(Collectors.toList()));
    tree.put("queue_pairs", task.plan().queuePairs());
    tree.put("directions", task.plan().bidirectional() ? 2 : 1);
    return tree;
  }

  private static String values(PerfTask task, PerfRate rate) {
    return String.format(
        Locale.ROOT,
        "%s,%d,%d,%d,%d,%.3f,%.1f",
        task.operation(),
        rate.size(),
        rate.count(),
        task.plan().queuePairs(),
        task.plan().bidirectional() ? 2 : 1,
        rate.mebibytesPerSecond(),
        rate.messagesPerSecond());
  }

  private void bandwidthText(String what, List<PerfRate> rates) {
    if (rates.size() == 1) {
      PerfRate rate = rates.getFirst();
      out.printf(
          Locale.ROOT,
          "%s, %s, %d times: %.1f MiB/s, %.0f messages/s%n",
          what,
          Units.bytes(rate.size()),
          rate.count(),
          rate.mebibytesPerSecond(),
          rate.messagesPerSecond());
      return;
    }
    out.println(what);
    Table table = new Table(List.of("bytes", "count", "MiB/s", "messages/s"));
    for (PerfRate rate : rates) {
      table.row(
          List.of(
              "" + rate.size(),
              "" + rate.count(),
              String.format(Locale.ROOT, "%.2f", rate.mebibytesPerSecond()),
              String.format(Locale.ROOT, "%.0f", rate.messagesPerSecond())));
    }
    table.print(out);
  }

  private void draw(Chart drawn) throws IOException {
    if (chart != null) {
      chart.write(drawn.svg());
    }
  }

  @Override
  public void close() throws IOException {
    if (chart != null) {
      chart.close();
    }
  }
}
