package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collector;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What README.md and docs/programs.md say of programs and tests. */
@Tag("host")
class ProgramsTableTest {
  private static final Pattern TEST_CLASS = Pattern.compile("`(\\w+Test)`");
  private static final Pattern COMMAND = Pattern.compile("`([a-z][a-z-]*)[^`]*`");
  private static final Pattern LISTED_COMMAND = Pattern.compile("(?m)^  ([a-z-]+)  +\\w");

  private static String read(String file) {
    try {
      return Files.readString(Path.of(file));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Set<String> all(Pattern pattern, String text) {
    return pattern.matcher(text).results().map(found -> found.group(1)).collect(toSet());
  }

  private static Collector<String, ?, Set<String>> toSet() {
    return Collectors.toCollection(TreeSet::new);
  }

  private static Set<String> commands() {
    String help = Run.of("--help").out();
    return all(LISTED_COMMAND, help.substring(help.indexOf("Commands:")));
  }

  /** A column of all tables in a text. */
  private static String column(int number, String text) {
    return text.lines()
        .filter(line -> line.startsWith("| "))
        .map(line -> line.split(" \\| ", -1)[number])
        .collect(Collectors.joining("\n"));
  }

  @Test
  void everyCommandHasARowInTheReadme() {
    String readme = read("README.md");
    String section = readme.substring(readme.indexOf("## The command line"));
    section = section.substring(0, section.indexOf("\n## "));
    assertEquals(commands(), all(COMMAND, column(0, section)));
  }

  @Test
  void everyProgramIsACommandAndEveryTestIsThere() throws IOException {
    String document = read("docs/programs.md");
    String derived = document.substring(0, document.indexOf("The other programs"));
    String others = document.substring(derived.length());
    String here = column(2, derived) + "\n" + column(1, others);
    Set<String> classes;
    try (Stream<Path> files = Files.walk(Path.of("src/test/java"))) {
      classes =
          files.map(file -> file.getFileName().toString().replace(".java", "")).collect(toSet());
    }
    assertEquals(Set.of(), minus(all(COMMAND, here), commands()));
    assertEquals(Set.of(), minus(all(TEST_CLASS, here), classes));
    for (int i = 1; i <= 25; i++) {
      String id = "| P-%02d |".formatted(i);
      assertTrue(derived.contains(id), id);
    }
  }

  private static Set<String> minus(Set<String> some, Set<String> others) {
    Set<String> rest = new TreeSet<>(some);
    rest.removeAll(others);
    return rest;
  }
}
