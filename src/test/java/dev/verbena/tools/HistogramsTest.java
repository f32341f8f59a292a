package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.tools.output.Axis;
import dev.verbena.tools.output.Chart;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

/** What is told of measured times. Cells of the histogram are 64 ns wide at 97 us. */
class HistogramsTest {
  private final Histogram times = new Histogram(3);

  private List<String> bars() {
    return Histograms.draw(times, "us").stream().skip(2).toList();
  }

  /** The numbers at the ends of the bars. */
  private List<Long> counts() {
    return bars().stream()
        .map(bar -> Long.valueOf(bar.substring(bar.lastIndexOf(' ') + 1)))
        .toList();
  }

  private static long sum(List<Long> counts) {
    return counts.stream().mapToLong(Long::longValue).sum();
  }

  @Test
  void everyTimeIsInOneBar() {
    for (long nanos = 97_000; nanos < 99_000; nanos++) {
      times.recordValue(nanos);
    }
    assertEquals(2000, sum(counts()), "" + counts());
    assertTrue(counts().size() > 10 && counts().size() <= 16, "" + counts());
  }

  @Test
  void barsAreNotNarrowerThanCells() {
    for (int i = 0; i < 500; i++) {
      times.recordValue(97_000);
      times.recordValue(97_100);
    }
    assertEquals(1000, sum(counts()), "" + counts());
    assertTrue(counts().size() <= 3, "" + counts());
  }

  @Test
  void onlyOneTimeIsOneBar() {
    times.recordValueWithCount(97_000, 7);
    assertEquals(
        List.of(
            "min 97.0  p50 97.0  p90 97.0  p99 97.0  p99.9 97.0  p99.99 97.0  max 97.0 us",
            "   from us  operations, logarithmic",
            "      97.0  " + "#".repeat(40) + " 7"),
        Histograms.draw(times, "us"));
  }

  @Test
  void theAxesAreLogarithmicSoThatTheTailIsVisible() {
    times.recordValueWithCount(10_000, 999);
    times.recordValueWithCount(100_000, 99);
    times.recordValueWithCount(1_000_000, 9);
    times.recordValue(5_000_000);
    List<Integer> tens = List.of(40, 30, 20);
    List<Integer> lengths =
        bars().stream().map(bar -> (int) bar.chars().filter(c -> c == '#').count()).toList();
    assertEquals(tens, lengths.stream().filter(length -> length > 10).toList(), "" + bars());
    assertEquals(10, lengths.getLast(), "" + bars());
    assertEquals(16, lengths.size());
    assertEquals(5, lengths.subList(1, 7).stream().filter(length -> length == 0).count());
    assertTrue(bars().get(8).startsWith("     223."), "the middle of 10 us and 5 ms: " + bars());
  }

  @Test
  void jsonHasNanoseconds() {
    for (int i = 1; i <= 1000; i++) {
      times.recordValue(i);
    }
    Map<String, Object> tree = Histograms.tree(times);
    assertEquals(
        List.of(
            "count", "unit", "min", "mean", "p50.0", "p90.0", "p99.0", "p99.9", "p99.99", "max"),
        new ArrayList<>(tree.keySet()));
    assertEquals(
        List.of(1000L, "ns", 1L, 500.5, 500L, 900L, 990L, 999L, 1000L, 1000L),
        new ArrayList<>(tree.values()));
  }

  @Test
  void theChartRisesWithThePercentileToTheMaximum() {
    for (int i = 1; i <= 1000; i++) {
      times.recordValue(i);
    }
    Chart chart = Histograms.chart(times);
    List<double[]> points = chart.lines().getFirst().points();
    assertEquals(0, points.getFirst()[0]);
    assertEquals(0.001, points.getFirst()[1]);
    assertEquals(100, points.getLast()[0]);
    assertEquals(1, points.getLast()[1]);
    assertTrue(points.stream().filter(point -> point[0] > 99 && point[0] < 100).count() > 5);
    assertEquals(Axis.Scale.PERCENTILES, chart.across().scale());
    assertEquals(99.9, chart.across().to(), 1e-9);
  }
}
