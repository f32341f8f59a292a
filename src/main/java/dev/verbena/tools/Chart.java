package dev.verbena.tools;

import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * A line over two axes, as SVG.
 *
 * @param title the title
 * @param across the name of the horizontal axis
 * @param up the name of the vertical axis, which begins at 0
 * @param points pairs of numbers, by rising first number
 */
record Chart(String title, String across, String up, List<double[]> points) {
  private static final int WIDTH = 720;
  private static final int HEIGHT = 400;
  private static final int MARGIN = 70;
  private static final int STEPS = 5;

  String svg() {
    double right = Math.max(points.stream().mapToDouble(point -> point[0]).max().orElse(1), 1e-9);
    double top = Math.max(points.stream().mapToDouble(point -> point[1]).max().orElse(1), 1e-9);
    StringBuilder svg = new StringBuilder();
    svg.append(
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">
        <rect width="100%%" height="100%%" fill="white"/>
        """
            .formatted(WIDTH, HEIGHT));
    text(svg, WIDTH / 2.0, 24, "middle", title);
    text(svg, WIDTH / 2.0, HEIGHT - 12, "middle", across);
    text(svg, 10, MARGIN - 16, "start", up);
    for (int i = 0; i <= STEPS; i++) {
      double x = x(right * i / STEPS, right);
      double y = y(top * i / STEPS, top);
      svg.append(
          String.format(
              Locale.ROOT,
              "<path d=\"M%d %.1fH%d\" stroke=\"#ddd\"/>%n",
              MARGIN,
              y,
              WIDTH - MARGIN / 2));
      text(svg, MARGIN - 8, y + 4, "end", number(top * i / STEPS));
      text(svg, x, HEIGHT - MARGIN + 20, "middle", number(right * i / STEPS));
    }
    String line =
        points.stream()
            .map(p -> String.format(Locale.ROOT, "%.1f,%.1f", x(p[0], right), y(p[1], top)))
            .collect(Collectors.joining(" "));
    svg.append("<polyline fill=\"none\" stroke=\"#0a6\" stroke-width=\"2\" points=\"")
        .append(line)
        .append("\"/>\n</svg>\n");
    return svg.toString();
  }

  private static double x(double value, double right) {
    return MARGIN + value / right * (WIDTH - 1.5 * MARGIN);
  }

  private static double y(double value, double top) {
    return HEIGHT - MARGIN - value / top * (HEIGHT - 2 * MARGIN);
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, value < 10 ? "%.2f" : "%.0f", value);
  }

  private static void text(StringBuilder svg, double x, double y, String anchor, String text) {
    String escaped = text.replace("&", "&amp;").replace("<", "&lt;");
    svg.append(
        String.format(
            Locale.ROOT,
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>%n",
            x,
            y,
            anchor,
            escaped));
  }
}
