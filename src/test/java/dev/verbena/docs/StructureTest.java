package dev.verbena.docs;

import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toCollection;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.ExportedPackages;
import dev.verbena.testing.GeneratedFile;
import dev.verbena.verbs.Verbena;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.jar.Manifest;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The packages use each other as src/build/packages.tsv has it, and nothing is larger than its
 * {@link Limit}, or than its exception in src/build/exceptions.tsv. docs/architecture.md shows the
 * packages and their sizes.
 */
@Tag("host")
class StructureTest {
  private static final Path EXCEPTIONS = Path.of("src/build/exceptions.tsv");
  private static final Path PAGE = Path.of("docs/architecture.md");
  private static final Pattern TABLE =
      Pattern.compile("(?s)(<!-- src/build/packages.tsv -->\n).*?(<!-- end -->)");

  private static Project project;

  @BeforeAll
  static void read() throws Exception {
    project = Project.read();
    int classes = project.classes().uses().size();
    assertTrue(classes > 500, () -> "jdeps found " + classes + " classes");
  }

  @Test
  void classesUseThePackagesThatTheTablePermits() {
    List<String> notPermitted = new ArrayList<>();
    project
        .classes()
        .uses()
        .forEach(
            (user, used) ->
                used.stream()
                    .filter(type -> !mayUse(Project.packageOf(user), Project.packageOf(type)))
                    .forEach(type -> notPermitted.add(user + " -> " + type)));
    assertEquals(List.of(), notPermitted);
  }

  private static boolean mayUse(String user, String used) {
    Project.Row row = project.packages().get(user);
    return user.equals(used) || (row != null && row.uses().contains(used));
  }

  @Test
  void theTablePermitsWhatClassesUse() {
    Map<String, Set<String>> uses = project.packageGraph().uses();
    assertEquals(uses.keySet(), new TreeSet<>(project.packages().keySet()));
    project
        .packages()
        .forEach(
            (name, row) -> {
              Set<String> unused = new TreeSet<>(row.uses());
              unused.removeAll(uses.get(name));
              assertEquals(Set.of(), unused, () -> name + " does not use");
            });
  }

  @Test
  void moduleAndBundleExportThePackagesForUsers() throws Exception {
    Set<String> forUsers = new TreeSet<>(project.packages().keySet());
    forUsers.removeIf(name -> name.matches("dev\\.verbena\\.(internal|tools|soft\\.).*"));
    assertEquals(forUsers, ExportedPackages.all());
    assertEquals(forUsers, exportsOfBundle());
  }

  private static Set<String> exportsOfBundle() throws Exception {
    Path manifest = Project.location(Verbena.class).resolve("META-INF/MANIFEST.MF");
    try (InputStream in = Files.newInputStream(manifest)) {
      String exports = new Manifest(in).getMainAttributes().getValue("Export-Package");
      return Pattern.compile("dev\\.verbena[\\w.]*(?=;version=)")
          .matcher(exports)
          .results()
          .map(MatchResult::group)
          .collect(toCollection(TreeSet::new));
    }
  }

  @ParameterizedTest
  @EnumSource
  void nothingIsLargerThanItsLimit(Limit limit) throws IOException {
    Map<String, Integer> exceptions = exceptions().getOrDefault(limit, Map.of());
    List<String> larger = new ArrayList<>();
    limit
        .exceeding(project)
        .forEach(
            (name, size) -> {
              int largest = exceptions.getOrDefault(name, limit.largest());
              if (size > largest) {
                String what = limit.describe(project, name);
                larger.add("%s: %d, at most %d".formatted(what, size, largest));
              }
            });
    assertEquals(List.of(), larger, limit::toString);
  }

  /** Writing lowers and removes exceptions, and never raises or adds one. */
  @Test
  @Tag(GeneratedFile.TAG)
  void anExceptionIsNotLargerThanItsSize() throws IOException {
    StringBuilder table = new StringBuilder();
    Files.readString(EXCEPTIONS)
        .lines()
        .filter(line -> line.startsWith("#"))
        .forEach(line -> table.append(line).append('\n'));
    for (Map.Entry<Limit, Map<String, Integer>> exceptions : exceptions().entrySet()) {
      Limit limit = exceptions.getKey();
      Map<String, Integer> exceeding = limit.exceeding(project);
      exceptions
          .getValue()
          .forEach(
              (name, largest) -> {
                if (exceeding.containsKey(name)) {
                  int size = Math.min(largest, limit.exceptionFor(exceeding.get(name)));
                  table.append("%s\t%s\t%d\n".formatted(limit, name, size));
                }
              });
    }
    GeneratedFile.check(EXCEPTIONS, table.toString());
  }

  private static Map<Limit, Map<String, Integer>> exceptions() throws IOException {
    Map<Limit, Map<String, Integer>> exceptions = new TreeMap<>();
    for (String[] row : Project.rows(EXCEPTIONS)) {
      exceptions
          .computeIfAbsent(Limit.named(row[0]), _ -> new TreeMap<>())
          .put(row[1], Integer.parseInt(row[2]));
    }
    return exceptions;
  }

  @Test
  @Tag(GeneratedFile.TAG)
  void thePageShowsPackagesAndSizes() throws Exception {
    Map<String, Integer> lines = project.linesByPackage();
    System.out.println("Lines by hand: " + lines);
    StringBuilder table = new StringBuilder();
    table.append("| package | contents | may use | lines | largest cycle of classes |\n");
    table.append("|---|---|---|---:|---:|\n");
    project
        .packages()
        .forEach(
            (name, row) -> {
              int cycle = project.largestCycle(name);
              table.append(
                  "| `%s` | %s | %s | %s | %s |\n"
                      .formatted(
                          name,
                          row.role(),
                          row.uses().stream()
                              .map(used -> "`" + used.replace("dev.verbena.", "") + "`")
                              .collect(joining(", ")),
                          lines.containsKey(name) ? rounded(lines.get(name)) : "generated",
                          cycle == 1 ? "none" : cycle));
            });
    Matcher page = TABLE.matcher(Files.readString(PAGE));
    assertTrue(page.find(), () -> PAGE + " has no place for the table");
    GeneratedFile.check(
        PAGE, page.replaceFirst("$1" + Matcher.quoteReplacement(table.toString()) + "$2"));
  }

  /** Up to the next 500, so that few changes change the page. */
  private static String rounded(int lines) {
    return "%,d".formatted((lines + 499) / 500 * 500);
  }
}
