package dev.verbena.tools.qualify;

import dev.verbena.tools.output.Chart;
import dev.verbena.tools.output.Chart.Line;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The pages of a report for people: Markdown with charts, and a text to paste into an issue. */
final class Pages {
  /** The depth of the bandwidths of a chart. */
  private static final int MOST_OUTSTANDING = 128;

  private final Map<String, Object> report;
  private final StringBuilder page = new StringBuilder();

  Pages(Map<String, Object> report) {
    this.report = report;
  }

  /** Returns the files by name. */
  Map<String, String> all() {
    Map<String, String> files = new LinkedHashMap<>();
    charts(files);
    files.put("report.md", markdown(files.keySet().stream().toList()));
    files.put("issue.txt", issue());
    return files;
  }

  static List<Map<String, Object>> rows(Map<String, Object> tree, String name) {
    List<Map<String, Object>> rows = new ArrayList<>();
    if (tree.get(name) instanceof List<?> list) {
      for (Object item : list) {
        rows.add(map(item));
      }
    }
    return rows;
  }

  static Map<String, Object> map(Object value) {
    Map<String, Object> map = new LinkedHashMap<>();
    if (value instanceof Map<?, ?> found) {
      found.forEach((key, item) -> map.put((String) key, item));
    }
    return map;
  }

  private String markdown(List<String> charts) {
    page.append("# Report of verbena qualify\n\n");
    page.append(summary()).append('\n');
    section("Problems", "problem");
    if (report.get("problems") instanceof List<?> problems && !problems.isEmpty()) {
      problems.forEach(problem -> row(problem));
    } else {
      row("none");
    }
    section("Not run", "part: reason");
    if (report.get("not_run") instanceof List<?> parts && !parts.isEmpty()) {
      parts.forEach(part -> row(part));
    } else {
      row("none");
    }
    section("Inventory", "what", "value");
    map(report.get("inventory")).forEach((name, value) -> inventory(name, value));
    section("Doctor", "topic", "verdict", "finding");
    map(report.get("doctor"))
        .forEach(
            (topic, _) ->
                rows(map(report.get("doctor")), topic)
                    .forEach(check -> row(topic, check.get("verdict"), check.get("finding"))));
    section("Conformance", "capability", "announced", "verdict", "detail", "finding");
    for (Map<String, Object> row : rows(report, "conformance")) {
      row(
          row.get("capability"),
          row.get("announced"),
          row.get("verdict"),
          row.get("detail"),
          Boolean.TRUE.equals(row.get("finding")) ? "yes" : "");
    }
    section("Data path, nanoseconds", "row", "language", "median", "99 %");
    for (Map<String, Object> row : rows(report, "data_path")) {
      row(row.get("row"), row.get("language"), row.get("p50_ns"), row.get("p99_ns"));
    }
    peer();
    charts.forEach(
        chart -> page.append("\n![").append(chart).append("](").append(chart).append(")\n"));
    return page.toString();
  }

  private void inventory(String name, Object value) {
    if (value instanceof Map<?, ?> || value instanceof List<?>) {
      row(name, "in report.json");
    } else {
      row(name, value);
    }
  }

  private void peer() {
    section(
        "With a peer, latency in microseconds",
        "transport",
        "program",
        "operation",
        "bytes",
        "waits by",
        "rate",
        "p50",
        "p99",
        "p99.9",
        "result");
    for (Map<String, Object> row : rows(report, "peer")) {
      if (row.get("measured").equals("latency")) {
        row(
            row.get("transport"),
            row.get("program"),
            row.get("operation"),
            row.get("size"),
            row.get("waits_by"),
            row.get("rate"),
            micros(row.get("p50_ns")),
            micros(row.get("p99_ns")),
            micros(row.get("p99.9_ns")),
            row.get("result"));
      }
    }
    section(
        "With a peer, bandwidth",
        "transport",
        "program",
        "operation",
        "bytes",
        "queue pairs",
        "depth",
        "MiB/s",
        "messages/s",
        "received",
        "result");
    for (Map<String, Object> row : rows(report, "peer")) {
      if (row.get("measured").equals("bandwidth")) {
        row(
            row.get("transport"),
            row.get("program"),
            row.get("operation"),
            row.get("size"),
            row.get("queue_pairs"),
            row.get("depth"),
            number(row.get("mib_per_second")),
            number(row.get("messages_per_second")),
            row.containsKey("received") ? row.get("received") + " of " + row.get("count") : "",
            row.get("result"));
      }
    }
  }

  private static String micros(Object nanos) {
    return nanos instanceof Number number
        ? String.format(Locale.ROOT, "%.2f", number.doubleValue() / 1000)
        : "";
  }

  private static String number(Object value) {
    return value instanceof Number number
        ? String.format(Locale.ROOT, "%.1f", number.doubleValue())
        : "";
  }

  private void section(String title, String... columns) {
    page.append("\n## ").append(title).append("\n\n|");
    for (String column : columns) {
      page.append(' ').append(column).append(" |");
    }
    page.append("\n|").append("---|".repeat(columns.length)).append('\n');
  }

  private void row(Object... cells) {
    page.append('|');
    for (Object cell : cells) {
      String text = cell == null ? "" : cell.toString().replace("|", "\\|").replace("\n", " ");
      page.append(' ').append(text).append(" |");
    }
    page.append('\n');
  }

  private String summary() {
    Map<String, Object> inventory = map(report.get("inventory"));
    List<Map<String, Object>> trials = rows(report, "conformance");
    return """
    %s, %s; firmware %s, kernel %s, rdma-core %s, JDK %s; Verbena %s, %s%s.
    %d of %d capabilities work; findings: %d; problems: %d.
    """
        .formatted(
            report.get("kind"),
            inventory.getOrDefault("device", "no device"),
            inventory.getOrDefault("firmware", "unknown"),
            inventory.getOrDefault("kernel", "unknown"),
            inventory.getOrDefault("rdma_core", "none"),
            inventory.getOrDefault("jdk", "unknown"),
            report.get("verbena"),
            report.get("date"),
            Boolean.TRUE.equals(report.get("complete"))
                ? ""
                : "; incomplete, it ended in: " + report.get("running"),
            trials.stream().filter(row -> "works".equals(row.get("verdict"))).count(),
            trials.size(),
            trials.stream().filter(row -> Boolean.TRUE.equals(row.get("finding"))).count(),
            problemCount());
  }

  private int problemCount() {
    return report.get("problems") instanceof List<?> problems ? problems.size() : 0;
  }

  private String issue() {
    StringBuilder text = new StringBuilder(summary());
    for (Map<String, Object> row : rows(report, "conformance")) {
      if (Boolean.TRUE.equals(row.get("finding"))) {
        text.append(
            "- %s: announced: %s; %s; %s%n"
                .formatted(
                    row.get("capability"),
                    row.get("announced"),
                    row.get("verdict"),
                    row.get("detail")));
      }
    }
    if (report.get("problems") instanceof List<?> problems) {
      problems.forEach(problem -> text.append("- ").append(problem).append('\n'));
    }
    return text.append(
            "\nAttach report.json, or open a pull request with this folder in reports/.\n")
        .toString();
  }

  /** Whether a row is one of RC in Java with as many outstanding requests as possible. */
  static boolean isSweep(Map<String, Object> row) {
    return row.get("transport").equals("RC")
        && row.get("program").equals("Verbena")
        && !row.containsKey("rounds")
        && (row.get("measured").equals("latency")
            || ((Number) row.get("depth")).intValue() == MOST_OUTSTANDING);
  }

  private void charts(Map<String, String> files) {
    chart(files, "latency", "latency.svg", "Median latency", "p50_ns", "us", 1000);
    chart(
        files,
        "bandwidth",
        "bandwidth.svg",
        "Bandwidth, one queue pair",
        "mib_per_second",
        "MiB/s",
        1);
  }

  private void chart(
      Map<String, String> files,
      String measured,
      String file,
      String title,
      String value,
      String unit,
      double divisor) {
    Map<String, List<double[]>> points = new LinkedHashMap<>();
    for (Map<String, Object> row : rows(report, "peer")) {
      boolean plain =
          row.get("measured").equals(measured)
              && "polling".equals(row.get("waits_by"))
              && "".equals(row.get("rate"))
              && ((Number) row.get("queue_pairs")).intValue() == 1
              && isSweep(row);
      if (plain && row.get(value) instanceof Number number) {
        points
            .computeIfAbsent((String) row.get("operation"), _ -> new ArrayList<>())
            .add(
                new double[] {
                  ((Number) row.get("size")).doubleValue(), number.doubleValue() / divisor
                });
      }
    }
    points.values().removeIf(line -> line.size() < 2);
    if (!points.isEmpty()) {
      List<Line> lines = new ArrayList<>();
      points.forEach((operation, line) -> lines.add(new Line(operation, line)));
      files.put(file, Chart.bySize(title, unit, lines).svg());
    }
  }
}
