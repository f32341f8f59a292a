package dev.verbena.tools.qualify;

import dev.verbena.tools.output.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Checks a report: its format, the types of its parts, and that it has no address and no path. The
 * format is reports/schema.json.
 */
public final class Validator {
  private static final Map<String, Class<?>> PARTS =
      Map.ofEntries(
          Map.entry("format", String.class),
          Map.entry("version", Number.class),
          Map.entry("verbena", String.class),
          Map.entry("date", String.class),
          Map.entry("kind", String.class),
          Map.entry("quick", Boolean.class),
          Map.entry("complete", Boolean.class),
          Map.entry("running", String.class),
          Map.entry("problems", List.class),
          Map.entry("not_run", List.class),
          Map.entry("inventory", Map.class),
          Map.entry("doctor", Map.class),
          Map.entry("conformance", List.class),
          Map.entry("data_path", List.class),
          Map.entry("peer", List.class));

  private static final Map<String, Set<String>> ROWS =
      Map.of(
          "conformance", Set.of("capability", "announced", "verdict", "detail", "finding"),
          "data_path", Set.of("row", "language", "samples", "p50_ns", "p99_ns"),
          "peer",
              Set.of(
                  "transport",
                  "program",
                  "measured",
                  "operation",
                  "size",
                  "waits_by",
                  "rate",
                  "queue_pairs",
                  "depth",
                  "result"));

  /** What a complete report has rows of, or says why not: the language of the data path. */
  private static final Map<String, String> LANGUAGES =
      Map.of(
          "Java", "data path in Java",
          "C", "data path in C",
          "Java, direct", "direct data path");

  private static final Set<String> TRANSPORTS =
      Set.of("RC", "UD", "RC by RDMA CM", "RDMA socket", "TCP socket");

  private static final Set<String> PROGRAMS = Set.of("Verbena", "perftest");

  private static final Set<String> VERDICTS =
      Set.of("works", "unsupported", "fails", "crashed", "hung", "not tried");

  private final List<String> errors = new ArrayList<>();

  private Validator() {}

  /** Returns what is wrong with a report; empty if nothing is. */
  public static List<String> errors(String json) {
    Validator validator = new Validator();
    try {
      validator.report(Json.parse(json));
    } catch (IllegalArgumentException e) {
      validator.errors.add("not JSON: " + e.getMessage());
    }
    return validator.errors;
  }

  private void report(Object value) {
    if (!(value instanceof Map<?, ?> report)) {
      errors.add("not an object");
      return;
    }
    if (!"verbena-report".equals(report.get("format"))) {
      errors.add("format is not verbena-report: " + report.get("format"));
      return;
    }
    if (!(report.get("version") instanceof Number version)
        || version.doubleValue() != Report.VERSION) {
      errors.add("version is not " + Report.VERSION + ": " + report.get("version"));
      return;
    }
    PARTS.forEach(
        (name, type) -> {
          if (!type.isInstance(report.get(name))) {
            errors.add(name + " is missing or not of type " + type.getSimpleName());
          }
        });
    for (Object name : report.keySet()) {
      if (!PARTS.containsKey(name)) {
        errors.add("unknown part: " + name);
      }
    }
    ROWS.forEach((name, columns) -> rows(name, columns, report.get(name)));
    if (Boolean.TRUE.equals(report.get("complete"))) {
      requireAll("data path", "data_path", "language", LANGUAGES, report);
      requireAll("peer", "peer", "transport", named(TRANSPORTS), report);
      requireAll("peer", "peer", "program", named(PROGRAMS), report);
    }
    privacy("", report);
  }

  private static Map<String, String> named(Set<String> values) {
    return values.stream().collect(Collectors.toMap(value -> value, value -> value));
  }

  /**
   * Requires a row for each of some values, or a reason why the step or the part has not run, or a
   * problem of the step.
   */
  private void requireAll(
      String step, String part, String column, Map<String, String> wanted, Map<?, ?> report) {
    if (!(report.get(part) instanceof List<?> rows)
        || !(report.get("not_run") instanceof List<?> notRun)
        || !(report.get("problems") instanceof List<?> problems)) {
      return; // Reported.
    }
    wanted.forEach(
        (value, name) -> {
          boolean isThere =
              rows.stream()
                  .anyMatch(item -> item instanceof Map<?, ?> row && value.equals(row.get(column)));
          boolean isExplained =
              notRun.stream()
                      .anyMatch(
                          reason ->
                              ("" + reason).startsWith(name + ": ")
                                  || ("" + reason).startsWith(step + ": "))
                  || problems.stream().anyMatch(problem -> explains(step, "" + problem, rows));
          if (!isThere && !isExplained) {
            errors.add(part + " has no row of " + value + ", and not_run no reason");
          }
        });
  }

  /** Whether a problem is that of a step as a whole: that of a single measurement has a row. */
  private static boolean explains(String step, String problem, List<?> rows) {
    boolean isOfAll = rows.isEmpty() || step.equals("data path");
    return (isOfAll && problem.startsWith(step + ": "))
        || problem.startsWith(step + ": " + Report.NOT_ENDED)
        || problem.startsWith(step + ": " + Report.NOT_RUN);
  }

  private void rows(String name, Set<String> columns, Object value) {
    if (!(value instanceof List<?> rows)) {
      return; // Reported.
    }
    for (Object item : rows) {
      if (!(item instanceof Map<?, ?> row) || !row.keySet().containsAll(columns)) {
        errors.add(name + " has a row without " + columns + ": " + item);
      } else if (name.equals("conformance") && !VERDICTS.contains(row.get("verdict"))) {
        errors.add("unknown verdict: " + row.get("verdict"));
      }
    }
  }

  /** Looks for addresses and paths in all texts, but for the version of the firmware. */
  private void privacy(String where, Object value) {
    switch (value) {
      case Map<?, ?> map ->
          map.forEach(
              (key, item) -> {
                privacy(where, key);
                if (!key.equals(Redaction.FIRMWARE)) {
                  privacy(where + "." + key, item);
                }
              });
      case List<?> list -> list.forEach(item -> privacy(where, item));
      case String text ->
          Redaction.leaks(text)
              .forEach(leak -> errors.add("address or path at " + where + ": " + leak));
      case null, default -> {
        // Numbers and truth values have none.
      }
    }
  }
}
