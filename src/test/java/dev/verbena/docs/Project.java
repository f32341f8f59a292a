package dev.verbena.docs;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.summingInt;
import static java.util.stream.Collectors.toCollection;
import static java.util.stream.Collectors.toMap;

import dev.verbena.tools.Main;
import dev.verbena.verbs.Verbena;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;

/**
 * What {@link StructureTest} measures.
 *
 * @param packages the rows of src/build/packages.tsv
 * @param classes those of the library and the command line; nested ones count as the class around
 *     them
 */
record Project(Map<String, Row> packages, Graph classes, List<SourceFile> sources) {
  /** What a package contains, and which packages it may use. */
  record Row(String role, Set<String> uses) {}

  private static final Path PACKAGES = Path.of("src/build/packages.tsv");

  /** A line of jdeps: a class, perhaps a nested one, and a class that it uses. */
  private static final Pattern USE =
      Pattern.compile("(?m)^\\s+(dev\\.verbena[\\w.]*)\\S*\\s+->\\s+(dev\\.verbena[\\w.]*)");

  private static final Pattern IMPORT = Pattern.compile("(?m)^import .*;$");
  private static final Pattern WORD = Pattern.compile("\\w+");

  /**
   * Where types are used by those for whom they are: guides, examples, bridges, benchmarks,
   * programs of the tests; and the descriptor, which names services.
   */
  private static final List<Path> USERS =
      Stream.of(
              "README.md",
              "docs",
              "examples",
              "bridges",
              "benchmarks/src",
              "src/test/java/dev/verbena/programs",
              "src/main/java/module-info.java")
          .map(Path::of)
          .filter(Files::exists)
          .toList();

  static Project read() throws IOException, URISyntaxException {
    return new Project(readPackages(), new Graph(uses()), SourceFile.all());
  }

  /** The rows of a table of src/build, whose columns are separated by tabs. */
  static List<String[]> rows(Path table) throws IOException {
    return Files.readString(table)
        .lines()
        .filter(line -> !line.startsWith("#"))
        .map(line -> line.split("\t", -1))
        .toList();
  }

  static String packageOf(String type) {
    return type.substring(0, type.lastIndexOf('.'));
  }

  /** The folder of the classes of which this is one. */
  static Path location(Class<?> type) throws URISyntaxException {
    return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
  }

  private static Map<String, Row> readPackages() throws IOException {
    Map<String, Row> packages = new LinkedHashMap<>();
    for (String[] row : rows(PACKAGES)) {
      Set<String> uses =
          Arrays.stream(row[2].split(" "))
              .filter(name -> !name.isEmpty())
              .map(name -> name.startsWith(".") ? "dev.verbena" + name : name)
              .collect(toCollection(LinkedHashSet::new));
      packages.put(row[0], new Row(row[1], uses));
    }
    return packages;
  }

  private static Map<String, Set<String>> uses() throws URISyntaxException {
    StringWriter output = new StringWriter();
    PrintWriter out = new PrintWriter(output);
    List<String> arguments = new ArrayList<>();
    arguments.addAll(List.of("-verbose:class", "-filter:none", "--ignore-missing-deps"));
    arguments.add("--multi-release=base");
    Stream.of(location(Verbena.class), location(Main.class))
        .distinct()
        .forEach(folder -> arguments.add(folder.toString()));
    ToolProvider.findFirst("jdeps").orElseThrow().run(out, out, arguments.toArray(String[]::new));
    Map<String, Set<String>> uses = new TreeMap<>();
    for (Matcher use = USE.matcher(output.toString()); use.find(); ) {
      Set<String> used = uses.computeIfAbsent(use.group(1), key -> new TreeSet<>());
      if (!use.group(1).equals(use.group(2))) {
        used.add(use.group(2));
      }
    }
    return uses;
  }

  /** Which packages use which. */
  Graph packageGraph() {
    return classes.by(Project::packageOf);
  }

  /** The number of classes of the largest cycle in a package; 1 if it has none. */
  int largestCycle(String name) {
    return classes.of(type -> packageOf(type).equals(name)).largestCycle();
  }

  /** Source files of the library and the command line. */
  Stream<SourceFile> product() {
    return sources.stream().filter(source -> source.isLibrary() || source.isTools());
  }

  /** The lines written by hand in some source files. */
  int lines(Predicate<SourceFile> accepted) {
    return product()
        .filter(SourceFile::isByHand)
        .filter(accepted)
        .mapToInt(SourceFile::lines)
        .sum();
  }

  /** The lines written by hand in each package. */
  Map<String, Integer> linesByPackage() {
    return product()
        .filter(SourceFile::isByHand)
        .collect(groupingBy(SourceFile::packageName, TreeMap::new, summingInt(SourceFile::lines)));
  }

  /**
   * The public types that no other package uses, such as those of the command line, and none of
   * {@link #USERS}.
   */
  Map<String, Integer> typesWithoutUse() throws IOException {
    Set<String> used = new TreeSet<>();
    classes
        .uses()
        .forEach(
            (user, types) ->
                types.stream()
                    .filter(type -> !packageOf(type).equals(packageOf(user)))
                    .forEach(used::add));
    Set<String> named = wordsOfUsers();
    return product()
        .filter(SourceFile::isPublic)
        .filter(source -> !used.contains(source.type()) && !named.contains(source.simpleName()))
        .collect(toMap(SourceFile::simpleName, _ -> 1));
  }

  /** Also those of imports, since class files do not contain all annotations. */
  private Set<String> wordsOfUsers() throws IOException {
    Set<String> words = new TreeSet<>();
    product()
        .flatMap(source -> IMPORT.matcher(source.text()).results())
        .forEach(line -> addWords(line.group(), words));
    for (Path user : USERS) {
      try (Stream<Path> files = Files.walk(user)) {
        for (Path file : files.filter(Project::isWritten).toList()) {
          addWords(Files.readString(file), words);
        }
      }
    }
    return words;
  }

  /** Not the tests of programs, nor the map of the API, which is generated and names all types. */
  private static boolean isWritten(Path file) {
    return file.toString().matches(".*\\.(md|java)")
        && !(file.startsWith("src/test") && file.toString().endsWith("Test.java"))
        && !file.endsWith("api-map.md");
  }

  private static void addWords(String text, Set<String> words) {
    WORD.matcher(text).results().map(MatchResult::group).forEach(words::add);
  }
}
