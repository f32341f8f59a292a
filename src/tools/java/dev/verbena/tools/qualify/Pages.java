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
    chart(files, "latency", "Median latency", "p50_ns", "us", 1000);
    chart(
        files,
        "bandwidth",
        "Bandwidth, one queue pair, depth " + MOST_OUTSTANDING,
        "mib_per_second",
        "MiB/s",
        1);
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
    list("Problems", "problem", report.get("problems"));
    list("Not run", "part: reason", report.get("not_run"));
    section("Inventory", "what, value");
    map(report.get("inventory"))
        .forEach(
            (name, value) ->
                row(
                    List.of(
                        name,
                        value instanceof Map<?, ?> || value instanceof List<?>
                            ? "in report.json"
                            : value)));
    section("Doctor", "topic, verdict, finding");
    Map<String, Object> doctor = map(report.get("doctor"));
    for (String topic : doctor.keySet()) {
      for (Map<String, Object> check : rows(doctor, topic)) {
        row(List.of(topic, check.get("verdict"), check.get("finding")));
      }
    }
    section("Conformance", "capability, announced, verdict, detail, finding");
    for (Map<String, Object> row : rows(report, "conformance")) {
      List<Object> cells = cells(row, "capability, announced, verdict, detail");
      cells.add(isFinding(row) ? "yes" : "");
      row(cells);
    }
    section("Data path, nanoseconds", "row, language, median, 99 %");
    for (Map<String, Object> row : rows(report, "data_path")) {
      row(cells(row, "row, language, p50_ns, p99_ns"));
    }
    peer();
    charts.forEach(
        chart -> page.append("\n![").append(chart).append("](").append(chart).append(")\n"));
    return page.toString();
  }

  private static boolean isFinding(Map<String, Object> row) {
    return Boolean.TRUE.equals(row.get("finding"));
  }

  private void peer() {
    section(
        "With a peer, latency in microseconds",
        "transport, program, operation, bytes, waits by, rate, p50, p99, p99.9, result");
    for (Map<String, Object> row : peer("latency")) {
      List<Object> cells = cells(row, "transport, program, operation, size, waits_by, rate");
      cells(row, "p50_ns, p99_ns, p99.9_ns").forEach(nanos -> cells.add(number(nanos, 1000, 2)));
      cells.add(row.get("result"));
      row(cells);
    }
    section(
        "With a peer, bandwidth",
        "transport, program, operation, bytes, queue pairs, depth, MiB/s, messages/s, received,"
            + " result");
    for (Map<String, Object> row : peer("bandwidth")) {
      List<Object> cells = cells(row, "transport, program, operation, size, queue_pairs, depth");
      cells.add(number(row.get("mib_per_second"), 1, 1));
      cells.add(number(row.get("messages_per_second"), 1, 1));
      cells.add(row.containsKey("received") ? row.get("received") + " of " + row.get("count") : "");
      cells.add(row.get("result"));
      row(cells);
    }
  }

  private List<Map<String, Object>> peer(String measured) {
    return rows(report, "peer").stream()
        .filter(row -> row.get("measured").equals(measured))
        .toList();
  }

  private static List<Object> cells(Map<String, Object> row, String names) {
    List<Object> cells = new ArrayList<>();
    for (String name : names.split(", ", -1)) {
      cells.add(row.get(name));
    }
    return cells;
  }

  private static String number(Object value, int divisor, int digits) {
    return value instanceof Number number
        ? String.format(Locale.ROOT, "%." + digits + "f", number.doubleValue() / divisor)
        : "";
  }

  private void section(String title, String columns) {
    page.append("\n## ").append(title).append("\n\n");
    List<?> titles = List.of(columns.split(", ", -1));
    row(titles);
    page.append('|').append("---|".repeat(titles.size())).append('\n');
  }

  /** Adds a section of texts. */
  private void list(String title, String column, Object texts) {
    section(title, column);
    if (texts instanceof List<?> list && !list.isEmpty()) {
      list.forEach(text -> row(List.of(text)));
    } else {
      row(List.of("none"));
    }
  }

  private void row(List<?> cells) {
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
    int problems = report.get("problems") instanceof List<?> list ? list.size() : 0;
    return """
    %s, %s; firmware %s, kernel %s, rdma-core %s, JDK %s; Verbena %s, %s%s.
    %d of %d capabilities work; findings: %d; problems: %d.
    %s\
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
            trials.stream().filter(Pages::isFinding).count(),
            problems,
            measurements(report));
  }

  static String measurements(Map<String, Object> report) {
    List<String> results =
        rows(report, "peer").stream().map(row -> String.valueOf(row.get("result"))).toList();
    long measured = results.stream().filter(result -> result.startsWith("measured")).count();
    long noTime = results.stream().filter(Report.NO_TIME::equals).count();
    long others = results.size() - measured - noTime;
    return results.isEmpty()
        ? ""
        : "With a peer%s: %d of %d measured%s%s.\n"
            .formatted(
                noTime > 0 ? ", incomplete" : "",
                measured,
                results.size(),
                noTime > 0 ? ", " + noTime + " had no time left" : "",
                others > 0 ? ", " + others + " failed or not possible" : "");
  }

  private String issue() {
    StringBuilder text = new StringBuilder(summary());
    for (Map<String, Object> row : rows(report, "conformance")) {
      if (isFinding(row)) {
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

  private void chart(
      Map<String, String> files,
      String measured,
      String title,
      String value,
      String unit,
      int divisor) {
    Map<String, List<double[]>> points = new LinkedHashMap<>();
    long samples = 0;
    for (Map<String, Object> row : peer(measured)) {
      boolean plain =
          "polling".equals(row.get("waits_by"))
              && "".equals(row.get("rate"))
              && ((Number) row.get("queue_pairs")).intValue() == 1
              && isSweep(row);
      if (plain && row.get(value) instanceof Number number) {
        samples += ((Number) row.get("count")).longValue();
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
      Object device = map(report.get("inventory")).getOrDefault("device", "no device");
      String note = "%s, %s, %d samples".formatted(device, report.get("date"), samples);
      files.put(measured + ".svg", Chart.bySize(unit, lines).with(title, note).svg());
    }
  }
}
