package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

/** A line over two axes. */
class ChartTest {
  @Test
  void theLineFillsTheAxes() {
    String svg =
        new Chart(
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

  @Test
  void textIsEscaped() {
    String svg = new Chart("a<b & c", "x", "y", List.of()).svg();
    assertTrue(svg.contains(">a&lt;b &amp; c</text>"), svg);
  }

  @Test
  void chartWithoutPointsHasNoLine() {
    String svg = new Chart("title", "x", "y", List.of()).svg();
    assertTrue(svg.contains("points=\"\""), svg);
    assertFalse(svg.contains("NaN"), svg);
  }
}
