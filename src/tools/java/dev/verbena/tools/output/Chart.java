package dev.verbena.tools.output;

import java.util.DoubleSummaryStatistics;
import java.util.Formatter;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * Lines over two axes, as SVG.
 *
 * @param title the title
 * @param note what stands below the title, such as the device; may be empty
 * @param across the horizontal axis
 * @param up the vertical axis
 * @param lines the lines
 */
public record Chart(String title, String note, Axis across, Axis up, List<Line> lines) {
  private static final int WIDTH = 720;
  private static final int HEIGHT = 400;
  private static final int MARGIN = 70;

  /** The width of the name of a line. */
  private static final int NAME = 85;

  private static final List<String> COLORS =
      List.of("#0a6", "#c60", "#26c", "#a2a", "#666", "#b00", "#088");

  /**
   * A line.
   *
   * @param name its name; empty if it is the only one
   * @param points pairs of numbers, by rising first number
   */
  public record Line(String name, List<double[]> points) {}

  /** Returns a chart of one line, with axes that fit it. */
  public static Chart of(String across, String up, List<double[]> points) {
    List<Line> lines = List.of(new Line("", points));
    return new Chart(
        "", "", Axis.of(across, numbers(lines, 0)), Axis.of(up, numbers(lines, 1)), lines);
  }

  /** Returns a chart of one line over percentiles. */
  public static Chart byPercentile(String up, Axis across, List<double[]> points) {
    List<Line> lines = List.of(new Line("", points));
    return new Chart("", "", across, Axis.of(up, numbers(lines, 1)), lines);
  }

  /** Returns a chart of lines over sizes of messages. */
  public static Chart bySize(String up, List<Line> lines) {
    Axis sizes = Axis.ofSizes("size of a message", numbers(lines, 0));
    return new Chart("", "", sizes, Axis.of(up, numbers(lines, 1)), lines);
  }

  public Chart with(String otherTitle, String otherNote) {
    return new Chart(otherTitle, otherNote, across, up, lines);
  }

  private static DoubleSummaryStatistics numbers(List<Line> lines, int index) {
    return lines.stream()
        .flatMap(line -> line.points().stream())
        .mapToDouble(point -> point[index])
        .summaryStatistics();
  }

  public String svg() {
    Formatter svg = new Formatter(Locale.ROOT);
    svg.format(
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">
        <rect width="100%%" height="100%%" fill="white"/>
        """,
        WIDTH, HEIGHT);
    text(svg, WIDTH / 2.0, 24, "middle", title);
    text(svg, WIDTH / 2.0, 44, "middle", note);
    text(svg, WIDTH / 2.0, HEIGHT - 12, "middle", across.name());
    text(svg, 10, MARGIN - 16, "start", up.name());
    for (double mark : up.marks()) {
      int right = WIDTH - MARGIN / 2;
      svg.format("<path d=\"M%d %.1fH%d\" stroke=\"#ddd\"/>%n", MARGIN, y(mark), right);
      text(svg, MARGIN - 8, y(mark) + 4, "end", up.label(mark));
    }
    for (double mark : across.marks()) {
      svg.format("<path d=\"M%.1f %dV%d\" stroke=\"#ddd\"/>%n", x(mark), MARGIN, HEIGHT - MARGIN);
      text(svg, x(mark), HEIGHT - MARGIN + 20, "middle", across.label(mark));
    }
    for (int i = 0; i < lines.size(); i++) {
      line(svg, lines.get(i), COLORS.get(i % COLORS.size()), i);
    }
    return svg.format("</svg>%n").toString();
  }

  private void line(Formatter svg, Line line, String color, int number) {
    String points =
        line.points().stream()
            .map(p -> String.format(Locale.ROOT, "%.1f,%.1f", x(p[0]), y(p[1])))
            .collect(Collectors.joining(" "));
    svg.format(
        "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"%s\"/>%n",
        color, points);
    if (!line.name().isEmpty()) {
      double top = MARGIN - 10;
      double left = MARGIN + NAME * (number + 0.5);
      svg.format(
          "<path d=\"M%.1f %.1fh18\" stroke=\"%s\" stroke-width=\"3\"/>%n", left, top - 4, color);
      text(svg, left + 24, top, "start", line.name());
    }
  }

  private double x(double value) {
    return MARGIN + across.fraction(value) * (WIDTH - 1.5 * MARGIN);
  }

  private double y(double value) {
    return HEIGHT - MARGIN - up.fraction(value) * (HEIGHT - 2 * MARGIN);
  }

  private static void text(Formatter svg, double x, double y, String anchor, String text) {
    String escaped = text.replace("&", "&amp;").replace("<", "&lt;");
    svg.format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>%n", x, y, anchor, escaped);
  }
}
