package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.programs.Programs;
import dev.verbena.tools.Main;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
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
import java.util.stream.Collector;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import picocli.CommandLine;

/**
 * Links of the pages lead somewhere; statuses, states, events and options in them exist; what
 * belongs into benchmarks/results or the history stays there.
 */
@Tag("host")
class PagesTest {
  private static final Path README = Path.of("README.md");
  private static final Pattern VERSION = Pattern.compile("<version>([^<]*)</version>");
  private static final Pattern FENCED = Pattern.compile("(?s)```.*?```");
  private static final Pattern LINK = Pattern.compile("\\[[^\\]]*\\]\\(([^)#]*)(?:#([^)]*))?\\)");
  private static final Pattern HEADING = Pattern.compile("(?m)^#+ +(.*)$");
  private static final Pattern NAME = Pattern.compile("`([A-Z][A-Z0-9]*_?[A-Z0-9_]+)`");
  private static final Pattern OPTION = Pattern.compile("`(--[a-z][a-z-]*)[^`]*`");
  private static final Pattern CONSTANT =
      Pattern.compile("(?m)^ +(?:public static final int )?([A-Z][A-Z0-9_]+)(?:[(,;]| = \\d+;)");

  private static final Pattern C_CONSTANT =
      Pattern.compile("(?m)^ +public static (?:int|long) ([A-Z][A-Z0-9_]+)\\(\\)");

  /** Words of a record of work: they belong into benchmarks/results, or nowhere. */
  private static final Pattern RECORD =
      Pattern.compile(
          "(?i)\\bgoals?\\b|\\bmissed\\b|\\b(?:[2-9]|\\d{2,}) (?:more )?runs\\b|\\bin a row\\b");

  private static final Pattern COMMIT =
      Pattern.compile("\\b(?!ed25519)(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\\d)[0-9a-f]{7,40}\\b");

  private static final Pattern SOURCE =
      Pattern.compile(
          "`((?:src|stress|examples|benchmarks|bridges|jextract|\\.ci|\\.github)/[\\w/.-]+)`");

  /** A page, as comments, messages and scripts name it. */
  private static final Pattern DOCUMENT = Pattern.compile("\\bdocs/[\\w-]+\\.md\\b");

  /** The folders with files that name pages. */
  private static final List<String> FOLDERS =
      List.of(
          "benchmarks",
          "bridges",
          "examples",
          "jextract",
          "reports",
          "src",
          "stress",
          ".ci",
          ".github");

  /** A row of a list of requirements, such as S2-K26. */
  private static final Pattern REQUIREMENT = Pattern.compile("\\bS\\d-[A-Z]?\\d+\\b");

  /** Names commits of jextract, another project. */
  private static final Path JEXTRACT = Path.of("jextract/README.md");

  /** Options of the JVM, of Docker, of jextract/generate. */
  private static final Set<String> OTHER_OPTIONS =
      Set.of(
          "--add-exports",
          "--add-opens",
          "--cap-add",
          "--enable-native-access",
          "--release",
          "--ulimit",
          "--refresh-symbols");

  /** What the kernel and the JDK's loggers call so. */
  private static final Set<String> OTHER_NAMES =
      Set.of(
          "CAP_IPC_LOCK",
          "CAP_SYS_NICE",
          "RLIMIT_MEMLOCK",
          "CAP_NET_ADMIN",
          "CAP_NET_RAW",
          "MADV_POPULATE_WRITE",
          "MAP_HUGETLB",
          "MPOL_PREFERRED",
          "MLX5_POST_SEND_PREFER_BF",
          "MLX5_SCATTER_TO_CQE",
          "MLX5_SHUT_UP_BF",
          "MLX5_SINGLE_THREADED",
          "SO_KEEPALIVE",
          "DEBUG",
          "FD_SOCK2",
          "FINER",
          "TCP_NIO2",
          "TRACE",
          "VERBENA_SOFT",
          "VERIFY_SUSPECT2");

  @TestFactory
  Stream<DynamicTest> everyLinkLeadsSomewhere() throws IOException {
    return forEach(
        linkedPages(),
        page ->
            LINK.matcher(FENCED.matcher(read(page)).replaceAll(""))
                .results()
                .filter(link -> !link.group(1).contains("://"))
                .filter(link -> !leadsSomewhere(page, link))
                .map(MatchResult::group)
                .collect(toTreeSet()));
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
    addOptions(new CommandLine(Programs.class), known);
    return forEach(pages(), page -> unknown(OPTION, page, known, OTHER_OPTIONS));
  }

  @TestFactory
  Stream<DynamicTest> everyFileExists() throws IOException {
    return forEach(
        allPages(),
        page ->
            SOURCE
                .matcher(FENCED.matcher(read(page)).replaceAll(""))
                .results()
                .map(found -> found.group(1))
                .filter(file -> !Files.exists(Path.of(file)) && !file.endsWith("GUEST"))
                .collect(toTreeSet()));
  }

  @Test
  void everyPageThatAFileNamesExists() throws IOException {
    List<Path> files = new ArrayList<>(List.of(Path.of("verbena"), Path.of("pom.xml")));
    for (String folder : FOLDERS) {
      files.addAll(files(folder));
    }
    files.remove(Path.of("src/test/java/dev/verbena/docs/PagesTest.java"));
    Set<String> named = new TreeSet<>();
    for (Path file : files) {
      named.addAll(found(DOCUMENT, Files.readString(file, StandardCharsets.ISO_8859_1)));
    }
    assertTrue(named.remove("docs/api-map.md"), "names are found");
    named.removeIf(page -> Files.exists(Path.of(page)));
    assertEquals(Set.of(), named);
  }

  @TestFactory
  Stream<DynamicTest> noPageIsARecordOfWork() throws IOException {
    return forEach(
        allPages().stream().filter(page -> !page.endsWith("CHANGELOG.md")).toList(),
        page -> {
          Set<String> found = found(RECORD, read(page));
          if (!page.equals(JEXTRACT)) {
            found.addAll(found(COMMIT, read(page)));
          }
          return found;
        });
  }

  @Test
  void nothingHasATagOfAListOfRequirements() throws IOException {
    Set<Path> tagged = new TreeSet<>();
    for (String folder : List.of("docs", "src", "stress", "examples", "benchmarks", "bridges")) {
      files(folder).stream()
          .filter(file -> file.toString().matches(".*\\.(md|java|tsv|txt)"))
          .filter(file -> !found(REQUIREMENT, read(file)).isEmpty())
          .forEach(tagged::add);
    }
    tagged.remove(Path.of("src/test/java/dev/verbena/docs/PagesTest.java"));
    assertEquals(Set.of(), tagged);
  }

  @Test
  void theClassesWithBorrowAreNamed() throws IOException {
    String page = Files.readString(Path.of("docs/coming-from.md"));
    int start = page.indexOf("`borrow` of");
    assertTrue(start >= 0, "no list of the classes");
    assertEquals(
        matches(
            "static dev\\.verbena\\.verbs\\.(\\w+) borrow\\(",
            Files.readString(Path.of("src/build/public-api.txt"))),
        matches("`([A-Z]\\w+)`", page.substring(start, page.indexOf(" returns ", start))));
  }

  private static Set<String> matches(String pattern, String text) {
    return Pattern.compile(pattern)
        .matcher(text)
        .results()
        .map(found -> found.group(1))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  @Test
  void readmeIsShort() {
    long lines = read(README).lines().count();
    assertTrue(lines <= 195, "README.md has " + lines + " lines; more than 195 belong into docs");
  }

  @Test
  void bridgesHaveTheVersionsOfTheProject() {
    assertVersions("disni", "disni", "slf4j-api");
    assertVersions("aeron", "aeron-driver");
    assertVersions("s3", "s3", "s3-transfer-manager");
  }

  private static void assertVersions(String folder, String... artifacts) {
    String project = read(Path.of("pom.xml"));
    String bridge = read(Path.of("bridges", folder, "pom.xml"));
    assertEquals(first(VERSION, project).group(1), first(VERSION, bridge).group(1));
    for (String artifact : artifacts) {
      Pattern version =
          Pattern.compile("<artifactId>" + artifact + "</artifactId>\\s*<version>(.*)</version>");
      assertEquals(first(version, project).group(1), first(version, bridge).group(1));
    }
  }

  @Test
  void readmeHasTheVersionOfTheProjectAndTheTestCommands() {
    String version = first(VERSION, read(Path.of("pom.xml"))).group(1);
    String readme = read(README);
    assertTrue(readme.contains("<version>" + version + "</version>"), version);
    assertTrue(readme.contains("'dev.verbena:verbena:" + version + "'"), version);
    assertTrue(readme.contains("    mvn verify  "), "the tests that take minutes");
    assertTrue(readme.contains("    mvn verify -Plab  "), "all tests, as .ci/run runs them");
    assertTrue(read(Path.of(".ci/run")).endsWith("mvn -B -ntp verify -Plab\n"));
  }

  @Test
  void mistakesAreFound() {
    Path page = README;
    assertFalse(leadsSomewhere(page, first(LINK, "[a](docs/nowhere.md)")));
    assertFalse(leadsSomewhere(page, first(LINK, "[a](docs/errors.md#no-such-heading)")));
    assertTrue(leadsSomewhere(page, first(LINK, "[a](docs/errors.md#tracing-calls)")));
    assertEquals("LOCAL_LENGTH_ERROR", first(NAME, "the `LOCAL_LENGTH_ERROR`").group(1));
    assertEquals("--jason", first(OPTION, "with `--jason=FILE`").group(1));
    assertEquals(Set.of("goal", "missed"), found(RECORD, "goal 1.05: missed; a run, meta"));
    assertEquals(Set.of("54 more runs", "3 runs"), found(RECORD, "54 more runs, 3 runs, it runs"));
    assertEquals(Set.of("be92368"), found(COMMIT, "commit be92368, feedback, 1000000"));
    assertEquals(Set.of("S2-K26", "S3-4"), found(REQUIREMENT, "S2-K26 and S3-4, AS2-1"));
  }

  private static Set<String> found(Pattern pattern, String text) {
    return pattern.matcher(text).results().map(MatchResult::group).collect(toTreeSet());
  }

  private static Collector<String, ?, Set<String>> toTreeSet() {
    return Collectors.toCollection(TreeSet::new);
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

  /** Those, and the pages of folders, without what was measured. */
  private static List<Path> allPages() throws IOException {
    return linkedPages().stream()
        .filter(
            page ->
                !page.startsWith("benchmarks")
                    && !page.startsWith("bridges")
                    && !page.startsWith("reports"))
        .toList();
  }

  /** All pages. */
  private static List<Path> linkedPages() throws IOException {
    List<Path> all = new ArrayList<>(pages());
    for (String folder : FOLDERS) {
      files(folder).stream().filter(file -> file.toString().endsWith(".md")).forEach(all::add);
    }
    return all;
  }

  /** The files of a folder, without those that a build made. */
  private static List<Path> files(String folder) throws IOException {
    try (Stream<Path> files = Files.walk(Path.of(folder))) {
      return files
          .filter(Files::isRegularFile)
          .filter(file -> !file.toString().contains("/target/"))
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
        .collect(toTreeSet());
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
