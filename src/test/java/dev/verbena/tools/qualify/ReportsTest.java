package dev.verbena.tools.qualify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.GeneratedFile;
import dev.verbena.tools.output.Json;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.DoubleSummaryStatistics;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The reports in the folder reports, and their table in docs/tested.md. */
@Tag("host")
class ReportsTest {
  private static final Path FOLDER = Path.of("reports");
  private static final Path PAGE = Path.of("docs/tested.md");
  private static final Pattern TABLE = Pattern.compile("(?s)(<!-- reports -->\n).*?(<!-- end -->)");
  private static final Set<String> FILES =
      Set.of("report.json", "report.md", "issue.txt", "latency.svg", "bandwidth.svg");

  private static List<Path> reports() throws IOException {
    try (Stream<Path> folders = Files.list(FOLDER)) {
      return folders.filter(Files::isDirectory).sorted().toList();
    }
  }

  private static String text(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Map<String, Object> report(Path folder) {
    return Pages.map(Json.parse(text(folder.resolve("report.json"))));
  }

  @TestFactory
  Stream<DynamicTest> reportIsValid() throws IOException {
    return reports().stream()
        .map(folder -> DynamicTest.dynamicTest("" + folder, () -> assertValid(folder)));
  }

  private static void assertValid(Path folder) throws IOException {
    assertEquals(List.of(), Validator.errors(text(folder.resolve("report.json"))));
    try (Stream<Path> files = Files.list(folder)) {
      Set<String> names =
          files.map(file -> "" + file.getFileName()).collect(Collectors.toCollection(HashSet::new));
      assertTrue(names.containsAll(Set.of("report.json", "report.md", "issue.txt")), "" + names);
      names.removeAll(FILES);
      assertEquals(Set.of(), names, "files that are not part of a report");
    }
    for (String page : List.of("report.md", "issue.txt")) {
      assertEquals(List.of(), Redaction.leaks(text(folder.resolve(page))), page);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "date, , date is missing",
    "date, 3, date is not of type string: 3.0",
    "version, 1, version is not 2.0: 1.0",
    "quick, '[]', quick is not of type boolean: []",
    "guess, 1, unknown part: guess",
    "conformance, '[{\"verdict\": \"dreams\"}]', unknown verdict: dreams",
    "conformance, '[{\"verdict\": \"works\"}]', capability is missing: {verdict=works}"
  })
  void whatTheSchemaExcludesIsNamed(String part, String json, String error) throws IOException {
    Map<String, Object> report = report(reports().getFirst());
    report.remove(part);
    if (json != null) {
      report.put(part, Json.parse(json));
    }
    List<String> errors = Validator.errors(Json.of(report));
    assertTrue(errors.stream().anyMatch(found -> found.startsWith(error)), "" + errors);
  }

  /** A complete report has a row of each of these, or says why not. */
  @ParameterizedTest
  @CsvSource({
    "emulated-nic-mlx5, data_path, language, Java",
    "emulated-nic-mlx5, data_path, language, C",
    "emulated-nic-mlx5, data_path, language, 'Java, direct'",
    "software-device-in-process, peer, transport, RC",
    "software-device-in-process, peer, transport, UD",
    "software-device-in-process, peer, transport, RC by RDMA CM",
    "software-device-in-process, peer, transport, RDMA socket",
    "software-device-in-process, peer, transport, TCP socket",
    "software-device-in-process, peer, program, perftest"
  })
  void missingPartNeedsAReason(String folder, String part, String column, String value) {
    Map<String, Object> report = report(FOLDER.resolve(folder));
    List<Map<String, Object>> rest = new ArrayList<>(Pages.rows(report, part));
    assertTrue(rest.removeIf(row -> value.equals(row.get(column))), "there are such rows");
    report.put(part, rest);
    String expected = part + " has no row of " + value + ", and not_run no reason";
    List<String> errors = Validator.errors(Json.of(report));
    assertTrue(errors.contains(expected), "" + errors);
    List<Object> reasons = new ArrayList<>((List<?>) report.get("not_run"));
    reasons.add(part.replace('_', ' ') + ": the reason");
    report.put("not_run", reasons);
    assertEquals(List.of(), Validator.errors(Json.of(report)));
  }

  @ParameterizedTest
  @CsvSource({
    "peer: not ended within 400 s, true",
    "'peer: not run, since no time was left', true",
    "'peer: UD, send of 64 bytes: no completion within 10 s', false",
    "doctor: not ended within 60 s, false"
  })
  void onlyAProblemOfTheWholeStepExplainsWhatIsMissing(String problem, boolean explains) {
    Map<String, Object> report = report(FOLDER.resolve("software-device-in-process"));
    List<Map<String, Object>> rest = new ArrayList<>(Pages.rows(report, "peer"));
    rest.removeIf(row -> "UD".equals(row.get("transport")));
    report.put("peer", rest);
    report.put("problems", List.of(problem));
    assertEquals(
        explains ? List.of() : List.of("peer has no row of UD, and not_run no reason"),
        Validator.errors(Json.of(report)));
  }

  @Test
  @Tag(GeneratedFile.TAG)
  void thePageShowsTheReports() throws IOException {
    StringBuilder table = new StringBuilder();
    table.append(
        "| report | device | driver, firmware | kernel, rdma-core | works | findings | problems |"
            + " send, us | write, MiB/s | post, Java : C | send, Java : perftest |\n");
    table.append("|---|---|---|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for (Path folder : reports()) {
      table.append(row(folder, report(folder)));
    }
    String page = text(PAGE);
    Matcher matcher = TABLE.matcher(page);
    assertTrue(matcher.find(), "docs/tested.md has the place of the table");
    GeneratedFile.check(
        PAGE,
        matcher.replaceFirst(
            found -> found.group(1) + Matcher.quoteReplacement("" + table) + found.group(2)));
  }

  private static String row(Path folder, Map<String, Object> report) {
    Map<String, Object> inventory = Pages.map(report.get("inventory"));
    List<Map<String, Object>> trials = Pages.rows(report, "conformance");
    return "| [%s](../reports/%s/report.md) | %s | %s, %s | %s, %s | %d of %d | %d | %d | %s | %s | %s | %s |%n"
        .formatted(
            folder.getFileName(),
            folder.getFileName(),
            report.get("kind"),
            inventory.get("driver"),
            inventory.get("firmware"),
            inventory.get("kernel"),
            inventory.get("rdma_core"),
            trials.stream().filter(row -> "works".equals(row.get("verdict"))).count(),
            trials.size(),
            trials.stream().filter(row -> Boolean.TRUE.equals(row.get("finding"))).count(),
            ((List<?>) report.get("problems")).size(),
            figure(report, "latency", "send", 1, "p50_ns", 1000),
            figure(report, "bandwidth", "write", 65536, "mib_per_second", 1),
            ratio(
                Pages.rows(report, "data_path").stream()
                    .filter(data -> "post, batch 1".equals(data.get("row")))
                    .toList(),
                "language",
                "Java",
                "C"),
            ratio(
                Pages.rows(report, "peer").stream()
                    .filter(data -> data.containsKey("rounds"))
                    .filter(data -> "send".equals(data.get("operation")))
                    .toList(),
                "program",
                "Verbena",
                "perftest"));
  }

  /** Returns the ratio of the medians of two rows; empty if one is missing. */
  private static String ratio(
      List<Map<String, Object>> rows, String column, String one, String other) {
    Map<Object, Double> medians = new HashMap<>();
    Map<Object, List<?>> rounds = new HashMap<>();
    for (Map<String, Object> row : rows) {
      medians.put(row.get(column), ((Number) row.get("p50_ns")).doubleValue());
      rounds.put(row.get(column), (List<?>) row.getOrDefault("rounds", List.of()));
    }
    return medians.containsKey(one) && medians.containsKey(other)
        ? "%.2f".formatted(medians.get(one) / medians.get(other))
            + range(rounds.get(one), rounds.get(other))
        : "";
  }

  /**
   * Returns the smallest and the largest ratio of a round, which show how far to trust a median.
   */
  private static String range(List<?> one, List<?> other) {
    DoubleSummaryStatistics ratios =
        IntStream.range(0, Math.min(one.size(), other.size()))
            .mapToDouble(
                i -> ((Number) one.get(i)).doubleValue() / ((Number) other.get(i)).doubleValue())
            .summaryStatistics();
    return ratios.getCount() == 0
        ? ""
        : " (%.2f to %.2f)".formatted(ratios.getMin(), ratios.getMax());
  }

  /** A figure of polling with one queue pair, one operation after the other. */
  private static String figure(
      Map<String, Object> report,
      String measured,
      String operation,
      int size,
      String name,
      double divisor) {
    return Pages.rows(report, "peer").stream()
        .filter(row -> measured.equals(row.get("measured")))
        .filter(row -> operation.equals(row.get("operation")))
        .filter(row -> ((Number) row.get("size")).intValue() == size)
        .filter(row -> "polling".equals(row.get("waits_by")) && "".equals(row.get("rate")))
        .filter(row -> ((Number) row.get("queue_pairs")).intValue() == 1)
        .filter(Pages::isSweep)
        .filter(row -> row.get(name) instanceof Number)
        .map(row -> "%.1f".formatted(((Number) row.get(name)).doubleValue() / divisor))
        .findFirst()
        .orElse("");
  }
}
