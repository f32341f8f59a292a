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
                "title",
                "seconds",
                "MiB/s",
                List.of(new double[] {0, 0}, new double[] {5, 20}, new double[] {10, 10}))
            .svg();
    assertTrue(svg.startsWith("<svg ") && svg.endsWith("</svg>\n"), svg);
    // Up is less: 330 is zero, 70 the top; from left to right 70 to 685.
    assertTrue(svg.contains("points=\"70.0,330.0 377.5,70.0 685.0,200.0\""), svg);
    assertTrue(svg.contains(">0.00</text>") && svg.contains(">20</text>"), svg);
    assertTrue(svg.contains(">seconds</text>") && svg.contains(">MiB/s</text>"), svg);
  }

  private static Axis axis(double... values) {
    return Axis.of("us", DoubleStream.of(values).summaryStatistics());
  }

  @Test
  void valuesThatSpanDecadesHaveALogarithmicAxis() {
    Axis axis = axis(3.8, 40_108);
    assertTrue(axis.logarithmic());
    assertEquals(List.of(1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0), axis.marks());
    assertEquals(0.2, axis.fraction(10), 1e-9);
    assertFalse(axis(3.8, 379).logarithmic());
    assertFalse(axis(0, 379).logarithmic());
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
    String svg = Chart.bySize("title", "us", List.of(line, line)).svg();
    assertEquals(2, svg.split("<polyline", -1).length - 1);
    assertTrue(svg.contains(">99 %</text>"), svg);
  }

  @Test
  void textIsEscaped() {
    String svg = Chart.of("a<b & c", "x", "y", List.of()).svg();
    assertTrue(svg.contains(">a&lt;b &amp; c</text>"), svg);
  }

  @Test
  void chartWithoutPointsHasNoLine() {
    String svg = Chart.of("title", "x", "y", List.of()).svg();
    assertTrue(svg.contains("points=\"\""), svg);
    assertFalse(svg.contains("NaN"), svg);
  }
}
