package dev.verbena.tools.qualify;

import dev.verbena.tools.output.Json;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Checks a report: its format, the types of its parts, and that it has no address and no path. The
 * format is reports/schema.json.
 */
public final class Validator {
  private static final Map<?, ?> SCHEMA = schema();

  private static final Map<String, Class<?>> TYPES =
      Map.of(
          "object", Map.class,
          "array", List.class,
          "string", String.class,
          "number", Number.class,
          "boolean", Boolean.class);

  /** What a complete report has rows of, or says why not: the language of the data path. */
  private static final Map<String, String> LANGUAGES =
      Map.of(
          "Java", "data path in Java",
          "C", "data path in C",
          "Java, direct", "direct data path");

  private static final Set<String> TRANSPORTS =
      Set.of("RC", "UD", "RC by RDMA CM", "RDMA socket", "TCP socket");

  private static final Set<String> PROGRAMS = Set.of("Verbena", "perftest");

  private final List<String> errors = new ArrayList<>();

  private Validator() {}

  private static Map<?, ?> schema() {
    try (InputStream schema = Validator.class.getResourceAsStream("schema.json")) {
      return (Map<?, ?>) Json.parse(new String(schema.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

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
    check("report", report, SCHEMA);
    if (Boolean.TRUE.equals(report.get("complete"))) {
      requireAll("data path", "data_path", "language", LANGUAGES.keySet(), report);
      requireAll("peer", "peer", "transport", TRANSPORTS, report);
      requireAll("peer", "peer", "program", PROGRAMS, report);
    }
    privacy("", report);
  }

  /**
   * Requires a row for each of some values, or a reason why the step or the part has not run, or a
   * problem of the step.
   */
  private void requireAll(
      String step, String part, String column, Set<String> wanted, Map<?, ?> report) {
    if (!(report.get(part) instanceof List<?> rows)
        || !(report.get("not_run") instanceof List<?> notRun)
        || !(report.get("problems") instanceof List<?> problems)) {
      return; // Reported.
    }
    wanted.forEach(
        value -> {
          String name = LANGUAGES.getOrDefault(value, value);
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

  /** Checks a value by the keywords of JSON Schema that the format uses. */
  private void check(String name, @Nullable Object value, Map<?, ?> schema) {
    if (schema.get("type") instanceof String type && !TYPES.get(type).isInstance(value)) {
      errors.add(name + " is not of type " + type + ": " + value);
    } else if (schema.containsKey("const") && !schema.get("const").equals(value)) {
      errors.add(name + " is not " + schema.get("const") + ": " + value);
    } else if (schema.get("enum") instanceof List<?> values && !values.contains(value)) {
      errors.add("unknown " + name + ": " + value);
    }
    if (value instanceof Map<?, ?> object && schema.get("properties") instanceof Map<?, ?> parts) {
      for (Object part : (List<?>) schema.get("required")) {
        if (!object.containsKey(part)) {
          errors.add(part + " is missing: " + object);
        }
      }
      object.forEach(
          (part, item) -> {
            if (parts.get(part) instanceof Map<?, ?> ofPart) {
              check((String) part, item, ofPart);
            } else if (Boolean.FALSE.equals(schema.get("additionalProperties"))) {
              errors.add("unknown part: " + part);
            }
          });
    } else if (value instanceof List<?> list && schema.get("items") instanceof Map<?, ?> ofItem) {
      list.forEach(item -> check(name, item, ofItem));
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
