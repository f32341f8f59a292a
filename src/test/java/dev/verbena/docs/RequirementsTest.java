package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Every requirement is cited by a test, or the list says why no test can show it or that nothing is
 * there yet.
 */
@Tag("host")
class RequirementsTest {
  private static final Path LIST = Path.of("src/test/resources/requirements.tsv");
  private static final Path TESTS = Path.of("src/test/java");

  private static final String ID = "(S[0-4]-[A-Z]?|[DP]-)(\\d+)";
  private static final Pattern CITED =
      Pattern.compile("\\b" + ID + "(?:\\s+\\*?\\s*to\\s+\\*?\\s*" + ID + ")?\\b");

  /**
   * What is written of a requirement: what it is, and why there is no test, where there is none.
   */
  private record Requirement(String name, String reason) {}

  @TestFactory
  Stream<DynamicTest> everyRequirementHasATestOrAReason() throws IOException {
    Set<String> cited = cited();
    return list().entrySet().stream()
        .map(
            row ->
                DynamicTest.dynamicTest(
                    row.getKey() + " " + row.getValue().name(),
                    () ->
                        assertTrue(
                            cited.contains(row.getKey()) ^ !row.getValue().reason().isEmpty(),
                            "no test cites it and no reason is given, or both")));
  }

  @Test
  void onlyRequirementsAreCited() throws IOException {
    Set<String> unknown = cited();
    unknown.removeAll(list().keySet());
    assertEquals(Set.of(), unknown);
  }

  @Test
  void rangesAreUnderstood() {
    Set<String> found = new TreeSet<>();
    cite("S2-C01 to S2-C03, D-16; P-7 is none of S0-47", found);
    assertEquals(Set.of("S2-C01", "S2-C02", "S2-C03", "D-16", "P-7", "S0-47"), found);
  }

  private static Map<String, Requirement> list() throws IOException {
    Map<String, Requirement> list = new LinkedHashMap<>();
    for (String line : Files.readAllLines(LIST)) {
      String[] row = line.split("\t", -1);
      list.put(row[0], new Requirement(row[1], row[2]));
    }
    return list;
  }

  private static Set<String> cited() throws IOException {
    Set<String> cited = new TreeSet<>();
    try (Stream<Path> files = Files.walk(TESTS)) {
      files
          .filter(file -> file.toString().endsWith(".java"))
          .filter(file -> !file.endsWith("RequirementsTest.java"))
          .forEach(
              file -> {
                try {
                  cite(Files.readString(file), cited);
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              });
    }
    return cited;
  }

  private static void cite(String text, Set<String> cited) {
    Matcher citation = CITED.matcher(text);
    while (citation.find()) {
      String series = citation.group(1);
      String first = citation.group(2);
      String last = series.equals(citation.group(3)) ? citation.group(4) : first;
      for (int i = Integer.parseInt(first); i <= Integer.parseInt(last); i++) {
        cited.add(series + ("%0" + first.length() + "d").formatted(i));
      }
    }
  }
}
