package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Each requirement is the tag of a test or test class, or the list says why no test can show it:
 * {@code mvn test -Dgroups=S2-V19} runs the tests of a requirement.
 */
@Tag("host")
class RequirementsTest {
  private static final Path LIST = Path.of("src/test/resources/requirements.tsv");
  private static final Path TESTS = Path.of("src/test/java");
  private static final Pattern ID = Pattern.compile("\\b(?:S[0-4]-[A-Z]?|[DP]-)\\d+\\b");
  private static final Pattern TAG = Pattern.compile("@Tag\\(\"(" + ID + ")\"\\)");

  /** A requirement, and the reason why no test has its tag, or "". */
  private record Requirement(String name, String reason) {}

  @TestFactory
  Stream<DynamicTest> everyRequirementHasATestOrAReason() throws IOException {
    Set<String> tags = occurrences(TAG, 1);
    return list().entrySet().stream()
        .map(
            row ->
                DynamicTest.dynamicTest(
                    row.getKey() + " " + row.getValue().name(),
                    () ->
                        assertTrue(
                            tags.contains(row.getKey()) ^ !row.getValue().reason().isEmpty(),
                            "no test has this tag and the list has no reason, or both do")));
  }

  @Test
  void tagsNameRequirementsOfTheList() throws IOException {
    Set<String> unknown = occurrences(TAG, 1);
    unknown.removeAll(list().keySet());
    assertEquals(Set.of(), unknown);
  }

  @Test
  void requirementsAreNamedByTagsOnly() throws IOException {
    assertEquals(Set.of(), occurrences(Pattern.compile("(?<!@Tag\\(\")" + ID), 0));
  }

  private static Map<String, Requirement> list() throws IOException {
    Map<String, Requirement> list = new LinkedHashMap<>();
    for (String line : Files.readAllLines(LIST)) {
      String[] row = line.split("\t", -1);
      list.put(row[0], new Requirement(row[1], row[2]));
    }
    return list;
  }

  /** Returns what a group of the pattern matches in the sources of the tests. */
  private static Set<String> occurrences(Pattern pattern, int group) throws IOException {
    List<Path> sources;
    try (Stream<Path> files = Files.walk(TESTS)) {
      sources =
          files
              .filter(file -> file.toString().endsWith(".java"))
              .filter(file -> !file.endsWith("RequirementsTest.java"))
              .toList();
    }
    Set<String> found = new TreeSet<>();
    for (Path source : sources) {
      pattern
          .matcher(Files.readString(source))
          .results()
          .forEach(match -> found.add(match.group(group)));
    }
    return found;
  }
}
