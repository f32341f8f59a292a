package dev.verbena.tools.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;

/** A line over two axes. */
class ChartTest {
  @Test
  void theLineFillsTheAxes() {
    String svg =
        Chart.of(
                "seconds",
                "MiB/s",
                List.of(new double[] {0, 0}, new double[] {5, 20}, new double[] {10, 10}))
            .svg();
    assertTrue(svg.startsWith("<svg ") && svg.endsWith("</svg>\n"), svg);
    // Up is less: 330 is zero, 70 the top; from left to right 70 to 685.
    assertTrue(svg.contains("points=\"70.0,330.0 377.5,70.0 685.0,200.0\""), svg);
    assertTrue(
        svg.contains(">0</text>") && svg.contains(">5</text>") && svg.contains(">20</text>"), svg);
    assertTrue(svg.contains(">seconds</text>") && svg.contains(">MiB/s</text>"), svg);
  }

  private static Axis axis(double... values) {
    return Axis.of("us", DoubleStream.of(values).summaryStatistics());
  }

  @Test
  void valuesThatSpanDecadesHaveALogarithmicAxis() {
    assertEquals(List.of("2", "5", "10", "20", "50", "100", "200", "500"), labels(axis(3.8, 401)));
    assertEquals(0.5, axis(1, 100).fraction(10), 1e-9);
    assertEquals(
        List.of("10", "100", "1000", "10000", "100000", "1000000"), labels(axis(3.8, 900_000)));
    assertEquals(Axis.Scale.LINEAR, axis(3.8, 379).scale());
    assertEquals(Axis.Scale.LINEAR, axis(0, 379).scale());
  }

  private static List<String> labels(Axis axis) {
    return axis.marks().stream().map(axis::label).toList();
  }

  @Test
  void marksOfALinearAxisAreDecimal() {
    assertEquals(List.of("0", "100", "200", "300", "400"), labels(axis(3.8, 379)));
    assertEquals(List.of("0", "0.5", "1", "1.5", "2"), labels(axis(1.9)));
    assertEquals(List.of("0", "0.02", "0.04", "0.06", "0.08", "0.1"), labels(axis(0.1)));
    assertEquals(400, axis(3.8, 379).to());
  }

  @Test
  void axisOfPercentilesHasNines() {
    Axis axis = Axis.ofPercentiles(5000);
    assertEquals(List.of("0", "90", "99", "99.9", "99.99"), labels(axis));
    assertEquals(0.25, axis.fraction(90), 1e-9);
    assertEquals(0.75, axis.fraction(99.9), 1e-9);
    assertEquals(1, axis.fraction(100));
    assertEquals(List.of("0", "90"), labels(Axis.ofPercentiles(1)));
  }

  @Test
  void theNoteStandsBelowTheTitle() {
    String svg = Chart.of("x", "y", List.of()).with("title", "mlx5_0, 7 samples").svg();
    assertTrue(svg.indexOf(">title<") < svg.indexOf(">mlx5_0, 7 samples<"), svg);
  }

  @Test
  void axisOfSizesHasUnits() {
    Axis axis = Axis.ofSizes("size", DoubleStream.of(1, 1 << 20).summaryStatistics());
    assertEquals(
        List.of("1 B", "4 B", "16 B", "64 B", "256 B", "1 KiB", "4 KiB"),
        axis.marks().stream().limit(7).map(axis::label).toList());
    assertEquals(1, axis.fraction(1 << 20));
  }

  @Test
  void linesHaveNames() {
    Chart.Line line = new Chart.Line("99 %", List.of(new double[] {1, 1}, new double[] {64, 2}));
    String svg = Chart.bySize("us", List.of(line, line)).svg();
    assertEquals(2, svg.split("<polyline", -1).length - 1);
    assertTrue(svg.contains(">99 %</text>"), svg);
  }

  @Test
  void textIsEscaped() {
    String svg = Chart.of("a<b & c", "y", List.of()).svg();
    assertTrue(svg.contains(">a&lt;b &amp; c</text>"), svg);
  }

  @Test
  void chartWithoutPointsHasNoLine() {
    String svg = Chart.of("x", "y", List.of()).svg();
    assertTrue(svg.contains("points=\"\""), svg);
    assertFalse(svg.contains("NaN"), svg);
  }
}
