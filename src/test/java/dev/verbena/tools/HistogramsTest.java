package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

/** What is told of measured times. Cells of the histogram are 64 ns wide at 97 us. */
class HistogramsTest {
  private final Histogram times = new Histogram(3);

  /** The numbers at the ends of the bars. */
  private List<Long> counts() {
    return Histograms.draw(times, "us").stream()
        .skip(1)
        .map(bar -> Long.valueOf(bar.substring(bar.lastIndexOf(' ') + 1)))
        .toList();
  }

  private static long sum(List<Long> counts) {
    return counts.stream().mapToLong(Long::longValue).sum();
  }

  @Test
  void everyTimeUpToThePercentileIsInOneBar() {
    for (long nanos = 97_000; nanos < 99_000; nanos++) {
      times.recordValue(nanos);
    }
    long wanted = times.getCountBetweenValues(0, times.getValueAtPercentile(99));
    assertEquals(wanted, sum(counts()), "" + counts());
    assertTrue(counts().size() > 10 && counts().size() <= 12, "" + counts());
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
            "      97.0  " + "#".repeat(40) + " 7"),
        Histograms.draw(times, "us"));
  }

  @Test
  void theSlowestHundredthHasNoBar() {
    times.recordValueWithCount(10_000, 199);
    times.recordValue(5_000_000);
    assertEquals(List.of(199L), counts());
    assertTrue(Histograms.draw(times, "us").getFirst().endsWith(" max 5001.2 us"));
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
  void theChartRisesWithThePercentile() {
    for (int i = 1; i <= 1000; i++) {
      times.recordValue(i);
    }
    List<double[]> points = Histograms.chart(times, "title").lines().getFirst().points();
    assertEquals(0, points.getFirst()[0]);
    assertEquals(0.001, points.getFirst()[1]);
    assertEquals(99.9, points.getLast()[0], 1e-6);
    assertEquals(0.999, points.getLast()[1], 0.002);
  }
}
