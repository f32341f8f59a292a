package dev.verbena.tools;

import dev.verbena.tools.output.Axis;
import dev.verbena.tools.output.Chart;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;

/** Prints histograms of nanoseconds as text and as JSON. */
final class Histograms {
  private static final double[] PERCENTILES = {50, 90, 99, 99.9, 99.99};

  /** The points of a chart from 0 to 50 %, from there to 75 % and so on. */
  private static final int TICKS = 20;

  private static final int ROWS = 16;
  private static final int WIDTH = 40;

  /** The least ratio of two rows: cells of the histogram are narrower. */
  private static final double LEAST_RATIO = 1.001;

  private Histograms() {}

  /** Returns a line of percentiles, then bars from the minimum to the maximum. */
  static List<String> draw(Histogram times, String unit) {
    List<String> lines = new ArrayList<>();
    lines.add(
        values(times).entrySet().stream()
            .map(value -> value.getKey() + " " + micros(value.getValue()))
            .collect(Collectors.joining("  ", "", " " + unit)));
    lines.addAll(bars(times));
    return lines;
  }

  /** Returns the extremes and the percentiles in nanoseconds, by name. */
  static Map<String, Long> values(Histogram times) {
    Map<String, Long> values = new LinkedHashMap<>();
    values.put("min", times.getMinValue());
    for (double percentile : PERCENTILES) {
      String name = "p" + percentile;
      values.put(name.replaceFirst("\\.0$", ""), times.getValueAtPercentile(percentile));
    }
    values.put("max", times.getMaxValue());
    return values;
  }

  /**
   * Returns the bars, with logarithmic axes, so that the tail is visible: each row is for times
   * that are longer by the same ratio, and a bar for ten times as many operations is longer by the
   * same length. Each cell of the histogram is counted in one row.
   */
  private static List<String> bars(Histogram times) {
    double from = Math.max(1, (double) times.getMinValue());
    double all = Math.log((times.getMaxValue() + 1) / from);
    double ratio = Math.max(Math.log(LEAST_RATIO), all / ROWS);
    long[] counts = new long[(int) Math.min(ROWS, all / ratio + 1)];
    for (HistogramIterationValue cell : times.recordedValues()) {
      long value = times.lowestEquivalentValue(cell.getValueIteratedTo());
      int row = (int) (Math.log(Math.max((double) value, from) / from) / ratio);
      counts[Math.min(row, counts.length - 1)] += cell.getCountAtValueIteratedTo();
    }
    double most = length(Arrays.stream(counts).max().orElseThrow());
    List<String> lines = new ArrayList<>();
    lines.add("   from us  operations, logarithmic");
    for (int row = 0; row < counts.length; row++) {
      lines.add(
          "%10s  %s %d"
              .formatted(
                  micros((long) (from * Math.exp(row * ratio))),
                  "#".repeat((int) Math.round(WIDTH * length(counts[row]) / most)),
                  counts[row]));
    }
    return lines;
  }

  private static double length(long count) {
    return count == 0 ? 0 : 1 + Math.log10((double) count);
  }

  /** Returns the percentiles as a tree. */
  static Map<String, Object> tree(Histogram times) {
    Map<String, Object> tree = new LinkedHashMap<>();
    tree.put("count", times.getTotalCount());
    tree.put("unit", "ns");
    tree.put("min", times.getMinValue());
    tree.put("mean", times.getMean());
    for (double percentile : PERCENTILES) {
      tree.put("p" + percentile, times.getValueAtPercentile(percentile));
    }
    tree.put("max", times.getMaxValue());
    return tree;
  }

  /** Returns a chart of time by percentile, to the maximum. */
  static Chart chart(Histogram times) {
    List<double[]> points = new ArrayList<>();
    for (HistogramIterationValue value : times.percentiles(TICKS)) {
      double micros = value.getValueIteratedTo() / 1000.0;
      points.add(new double[] {value.getPercentileLevelIteratedTo(), micros});
    }
    return Chart.byPercentile("us", Axis.ofPercentiles(times.getTotalCount()), points);
  }

  /** Returns the result of a size, as it is written. */
  static PerfResult result(Histogram times, int size, String operation) {
    Map<String, String> cells = new LinkedHashMap<>();
    cells.put("bytes", "" + size);
    cells.put("count", "" + times.getTotalCount());
    Map<String, Object> values = new LinkedHashMap<>();
    values.put("operation", operation.replace(",", ""));
    values.put("bytes", size);
    values.put("count", times.getTotalCount());
    Map<String, Double> points = new LinkedHashMap<>();
    values(times)
        .forEach(
            (name, nanos) -> {
              cells.put(name, String.format(Locale.ROOT, "%.2f", nanos / 1000.0));
              values.put(name + "_ns", nanos);
              points.put(name, nanos / 1000.0);
            });
    cells.remove("p99.99");
    points.keySet().retainAll(Set.of("p50", "p99", "p99.9"));
    Map<String, Object> tree = new LinkedHashMap<>();
    tree.put("size", size);
    tree.put("latency", tree(times));
    String text = "\n" + String.join("\n", draw(times, "us"));
    return new PerfResult(
        size, times.getTotalCount(), cells, values, tree, text, points, chart(times));
  }

  private static String micros(long nanos) {
    return String.format(Locale.ROOT, "%.1f", nanos / 1000.0);
  }
}
