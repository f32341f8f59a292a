package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.tools.Main;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import picocli.CommandLine;

/** Links of the pages lead somewhere; statuses, states, events and options in them exist. */
@Tag("host")
class PagesTest {
  private static final Pattern FENCED = Pattern.compile("(?s)```.*?```");
  private static final Pattern LINK = Pattern.compile("\\[[^\\]]*\\]\\(([^)#]*)(?:#([^)]*))?\\)");
  private static final Pattern HEADING = Pattern.compile("(?m)^#+ +(.*)$");
  private static final Pattern NAME = Pattern.compile("`([A-Z][A-Z0-9]*_?[A-Z0-9_]+)`");
  private static final Pattern OPTION = Pattern.compile("`(--[a-z][a-z-]*)[^`]*`");
  private static final Pattern CONSTANT =
      Pattern.compile("(?m)^ +(?:public static final int )?([A-Z][A-Z0-9_]+)(?:[(,;]| = \\d+;)");

  private static final Pattern C_CONSTANT =
      Pattern.compile("(?m)^ +public static (?:int|long) ([A-Z][A-Z0-9_]+)\\(\\)");

  /** Options of the JVM, of Docker, of jextract/generate. */
  private static final Set<String> OTHER_OPTIONS =
      Set.of("--enable-native-access", "--release", "--ulimit", "--refresh-symbols");

  /** What the kernel and the JDK's loggers call so. */
  private static final Set<String> OTHER_NAMES =
      Set.of(
          "CAP_NET_ADMIN",
          "CAP_NET_RAW",
          "DEBUG",
          "FD_SOCK2",
          "FINER",
          "TCP_NIO2",
          "TRACE",
          "VERBENA_SOFT",
          "VERIFY_SUSPECT2");

  @TestFactory
  Stream<DynamicTest> everyLinkLeadsSomewhere() throws IOException {
    List<Path> pages = new ArrayList<>(pages());
    pages.add(Path.of("src/lab/README.md"));
    pages.add(Path.of("jextract/README.md"));
    return forEach(
        pages,
        page ->
            LINK.matcher(FENCED.matcher(read(page)).replaceAll(""))
                .results()
                .filter(link -> !link.group(1).contains("://"))
                .filter(link -> !leadsSomewhere(page, link))
                .map(MatchResult::group)
                .collect(Collectors.toCollection(TreeSet::new)));
  }

  @TestFactory
  Stream<DynamicTest> everyConstantExists() throws IOException {
    Set<String> known = constants();
    assertTrue(known.containsAll(Set.of("RETRY_EXC_ERR", "RTS", "ENOMEM")), "constants are found");
    return forEach(pages(), page -> unknown(NAME, page, known, OTHER_NAMES));
  }

  @TestFactory
  Stream<DynamicTest> everyOptionExists() throws IOException {
    Set<String> known = new TreeSet<>();
    addOptions(new CommandLine(Main.class), known);
    return forEach(pages(), page -> unknown(OPTION, page, known, OTHER_OPTIONS));
  }

  @Test
  void mistakesAreFound() {
    Path page = Path.of("README.md");
    assertFalse(leadsSomewhere(page, first(LINK, "[a](docs/nowhere.md)")));
    assertFalse(leadsSomewhere(page, first(LINK, "[a](docs/errors.md#no-such-heading)")));
    assertTrue(leadsSomewhere(page, first(LINK, "[a](docs/errors.md#tracing-calls)")));
    assertEquals("LOCAL_LENGTH_ERROR", first(NAME, "the `LOCAL_LENGTH_ERROR`").group(1));
    assertEquals("--jason", first(OPTION, "with `--jason=FILE`").group(1));
  }

  private static MatchResult first(Pattern pattern, String text) {
    return pattern.matcher(text).results().findFirst().orElseThrow();
  }

  /** README.md, the pages beside it, and docs. */
  private static List<Path> pages() throws IOException {
    try (Stream<Path> docs = Files.list(Path.of("docs"));
        Stream<Path> top = Files.list(Path.of(""))) {
      return Stream.concat(top, docs)
          .filter(page -> page.toString().endsWith(".md"))
          .sorted()
          .toList();
    }
  }

  private static Stream<DynamicTest> forEach(List<Path> pages, Function<Path, Set<String>> wrong) {
    return pages.stream()
        .map(
            page ->
                DynamicTest.dynamicTest(
                    page.toString(), () -> assertEquals(Set.of(), wrong.apply(page))));
  }

  private static Set<String> unknown(
      Pattern pattern, Path page, Set<String> known, Set<String> others) {
    return pattern
        .matcher(FENCED.matcher(read(page)).replaceAll(""))
        .results()
        .map(found -> found.group(1))
        .filter(name -> !known.contains(name) && !others.contains(name))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static boolean leadsSomewhere(Path page, MatchResult link) {
    Path target = link.group(1).isEmpty() ? page : page.resolveSibling(link.group(1)).normalize();
    return Files.exists(target)
        && (link.group(2) == null
            || HEADING
                .matcher(read(target))
                .results()
                .anyMatch(heading -> anchor(heading.group(1)).equals(link.group(2))));
  }

  /** The anchor that a hosting site makes of a heading. */
  private static String anchor(String heading) {
    return heading.toLowerCase(Locale.ROOT).replaceAll("[^\\p{L}\\p{N} _-]", "").replace(' ', '-');
  }

  /** Constants of enums, of Errno, and of C. */
  private static Set<String> constants() throws IOException {
    try (Stream<Path> sources = Files.walk(Path.of("src/main/java/dev/verbena"))) {
      return sources
          .filter(file -> file.toString().endsWith(".java"))
          .map(PagesTest::read)
          .flatMap(source -> Stream.concat(names(CONSTANT, source), names(C_CONSTANT, source)))
          .collect(Collectors.toSet());
    }
  }

  private static Stream<String> names(Pattern pattern, String source) {
    return pattern.matcher(source).results().map(name -> name.group(1));
  }

  private static void addOptions(CommandLine command, Set<String> options) {
    command.getCommandSpec().options().forEach(option -> options.addAll(Set.of(option.names())));
    command.getSubcommands().values().forEach(sub -> addOptions(sub, options));
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
