package dev.verbena.tools;

import dev.verbena.tools.output.Chart;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;

/** Prints histograms of nanoseconds as text and as JSON. */
final class Histograms {
  private static final double[] PERCENTILES = {50, 90, 99, 99.9, 99.99};
  private static final int ROWS = 12;
  private static final int WIDTH = 40;

  private Histograms() {}

  /** Returns a line of percentiles, then bars from the minimum to the 99th percentile. */
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
   * Returns the bars. Each cell of the histogram is counted in one row, and no row is narrower than
   * a cell.
   */
  private static List<String> bars(Histogram times) {
    long from = times.getMinValue();
    long to = times.getValueAtPercentile(99);
    long width = Math.max(Math.ceilDiv(to - from + 1, ROWS), times.sizeOfEquivalentValueRange(to));
    long[] counts = new long[(int) ((to - from) / width) + 1];
    for (HistogramIterationValue cell : times.recordedValues()) {
      long value = times.lowestEquivalentValue(cell.getValueIteratedTo());
      if (value <= to) {
        counts[(int) ((value - from) / width)] += cell.getCountAtValueIteratedTo();
      }
    }
    long most = Math.max(1, Arrays.stream(counts).max().orElseThrow());
    List<String> lines = new ArrayList<>();
    for (int row = 0; row < counts.length; row++) {
      lines.add(
          "%10s  %s %d"
              .formatted(
                  micros(from + row * width),
                  "#".repeat((int) (counts[row] * WIDTH / most)),
                  counts[row]));
    }
    return lines;
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

  /**
   * Returns a chart of time by percentile, without the slowest 0.1 %, which would hide the rest.
   */
  static Chart chart(Histogram times, String title) {
    List<double[]> points = new ArrayList<>();
    for (double percentile = 0; percentile <= 99.9; percentile += 0.1) {
      points.add(new double[] {percentile, times.getValueAtPercentile(percentile) / 1000.0});
    }
    return Chart.of(title, "percentile", "us", points);
  }

  private static String micros(long nanos) {
    return String.format(Locale.ROOT, "%.1f", nanos / 1000.0);
  }
}
