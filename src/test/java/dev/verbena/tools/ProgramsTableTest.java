package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.programs.Programs;
import dev.verbena.tools.command.Cli;
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
import picocli.CommandLine;

/** docs/programs.md and docs/tested.md list all commands and programs, and tests that exist. */
@Tag("host")
class ProgramsTableTest {
  private static final String PROGRAMS = "docs/programs.md";
  private static final Pattern TEST_CLASS = Pattern.compile("`(\\w+Test)`");
  private static final Pattern COMMAND = Pattern.compile("`([a-z][a-z-]*)[^`]*`");

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

  /** From a heading to the next one of the same level. */
  private static String section(String file, String heading) {
    String page = read(file);
    String section = page.substring(page.indexOf(heading));
    int next = section.indexOf("\n## ");
    return next < 0 ? section : section.substring(0, next);
  }

  /** {@code sniff} reads a file, {@code top} what the kernel counts. */
  @Test
  void theOtherProgramsTakeASoftwareDeviceOverUdp() {
    Set<String> without = new TreeSet<>();
    for (Cli root : new Cli[] {new Main(), new Programs()}) {
      without.addAll(withoutDevice(new CommandLine(root)));
    }
    assertEquals(Set.of("sniff", "top"), without);
  }

  private static Set<String> withoutDevice(CommandLine line) {
    Set<String> found = new TreeSet<>();
    if (line.getSubcommands().isEmpty()) {
      if (line.getCommandSpec().findOption("--device") == null) {
        found.add(line.getCommandName());
      }
    } else {
      line.getSubcommands().values().forEach(sub -> found.addAll(withoutDevice(sub)));
    }
    return found;
  }

  private static Set<String> commands(Cli line) {
    return new TreeSet<>(new CommandLine(line).getSubcommands().keySet());
  }

  /** A column of all tables in a text. */
  private static String column(int number, String text) {
    return text.lines()
        .filter(line -> line.startsWith("| "))
        .map(line -> line.split(" \\| ", -1)[number])
        .collect(Collectors.joining("\n"));
  }

  @Test
  void everyCommandIsDescribed() {
    assertEquals(
        commands(new Main()), all(COMMAND, column(0, section(PROGRAMS, "## The command line"))));
    assertEquals(
        commands(new Programs()),
        all(COMMAND, column(0, section(PROGRAMS, "## Example programs"))));
  }

  @Test
  void everyCommandIsTestedByClassesThatExist() throws IOException {
    String here = column(1, section("docs/tested.md", "## Programs"));
    Set<String> classes;
    try (Stream<Path> files = Files.walk(Path.of("src/test/java"))) {
      classes =
          files.map(file -> file.getFileName().toString().replace(".java", "")).collect(toSet());
    }
    Set<String> commands = commands(new Main());
    commands.addAll(commands(new Programs()));
    assertEquals(commands, all(COMMAND, here));
    Set<String> missing = all(TEST_CLASS, here);
    assertTrue(missing.size() > 20, "test classes are found");
    missing.removeAll(classes);
    assertEquals(Set.of(), missing);
  }
}
