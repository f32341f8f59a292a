package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.GeneratedFile;
import dev.verbena.verbs.Verbena;
import java.io.PrintWriter;
import java.io.StringWriter;
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
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The packages use each other as src/build/packages.tsv has it, which docs/architecture.md shows.
 */
@Tag("host")
class PackagesTest {
  private static final Path RULES = Path.of("src/build/packages.tsv");
  private static final Path PAGE = Path.of("docs/architecture.md");
  private static final Pattern TABLE =
      Pattern.compile("(?s)(<!-- src/build/packages.tsv -->\n).*?(<!-- end -->)");

  /** A line of jdeps: a class, perhaps a nested one, and a class that it uses. */
  private static final Pattern USE =
      Pattern.compile("(?m)^\\s+(dev\\.verbena[\\w.]*)\\S*\\s+->\\s+(dev\\.verbena[\\w.]*)");

  private record Rule(String role, Set<String> uses, int largestCycle) {}

  private static Map<String, Rule> rules;

  /** The classes that each class uses; nested classes count as the class around them. */
  private static Map<String, Set<String>> uses;

  @BeforeAll
  static void read() throws Exception {
    rules = rules();
    uses = uses();
    assertTrue(uses.size() > 500, () -> "jdeps found " + uses.size() + " classes");
  }

  @Test
  void classesUseThePackagesThatTheTablePermits() {
    List<String> notPermitted = new ArrayList<>();
    uses.forEach(
        (user, used) ->
            used.stream()
                .filter(type -> !packageOf(type).equals(packageOf(user)))
                .filter(type -> !permitted(packageOf(user)).contains(packageOf(type)))
                .forEach(type -> notPermitted.add(user + " -> " + type)));
    assertEquals(List.of(), notPermitted);
  }

  @Test
  void theTablePermitsWhatClassesUse() {
    rules.forEach(
        (name, rule) -> {
          Set<String> unused = new TreeSet<>(rule.uses());
          uses.forEach(
              (user, used) -> {
                if (packageOf(user).equals(name)) {
                  used.forEach(type -> unused.remove(packageOf(type)));
                }
              });
          assertEquals(Set.of(), unused, () -> name + " does not use");
        });
  }

  @Test
  void cyclesOfClassesAreNotLargerThanTheTableSays() {
    Map<String, Integer> largest = new TreeMap<>();
    Map<String, Integer> permitted = new TreeMap<>();
    rules.forEach((name, rule) -> permitted.put(name, rule.largestCycle()));
    for (String name : rules.keySet()) {
      largest.put(name, largestCycle(name));
    }
    assertEquals(permitted, largest);
  }

  @Test
  @Tag(GeneratedFile.TAG)
  void thePageShowsTheTable() throws Exception {
    StringBuilder table = new StringBuilder();
    table.append(
        "| package | contents | may use | largest cycle of classes |\n|---|---|---|---:|\n");
    rules.forEach(
        (name, rule) ->
            table.append(
                "| `%s` | %s | %s | %s |\n"
                    .formatted(
                        name,
                        rule.role(),
                        rule.uses().stream()
                            .map(used -> "`" + used.replace("dev.verbena.", "") + "`")
                            .collect(Collectors.joining(", ")),
                        rule.largestCycle() == 1 ? "none" : rule.largestCycle())));
    Matcher page = TABLE.matcher(Files.readString(PAGE));
    assertTrue(page.find(), () -> PAGE + " has no place for the table");
    GeneratedFile.check(
        PAGE, page.replaceFirst("$1" + Matcher.quoteReplacement(table.toString()) + "$2"));
  }

  private static Map<String, Rule> rules() throws Exception {
    Map<String, Rule> rules = new LinkedHashMap<>();
    for (String line : Files.readAllLines(RULES)) {
      if (!line.startsWith("#")) {
        String[] row = line.split("\t", -1);
        Set<String> uses =
            Arrays.stream(row[2].split(" "))
                .filter(name -> !name.isEmpty())
                .map(name -> name.startsWith(".") ? "dev.verbena" + name : name)
                .collect(Collectors.toCollection(LinkedHashSet::new));
        rules.put(row[0], new Rule(row[1], uses, Integer.parseInt(row[3])));
      }
    }
    return rules;
  }

  private static Map<String, Set<String>> uses() throws Exception {
    Path classes =
        Path.of(Verbena.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    StringWriter output = new StringWriter();
    PrintWriter out = new PrintWriter(output);
    ToolProvider jdeps = ToolProvider.findFirst("jdeps").orElseThrow();
    jdeps.run(
        out,
        out,
        "-verbose:class",
        "-filter:none",
        "--ignore-missing-deps",
        "--multi-release=base",
        classes.toString());
    Map<String, Set<String>> uses = new TreeMap<>();
    for (Matcher use = USE.matcher(output.toString()); use.find(); ) {
      Set<String> used = uses.computeIfAbsent(use.group(1), key -> new TreeSet<>());
      if (!use.group(1).equals(use.group(2))) {
        used.add(use.group(2));
      }
    }
    return uses;
  }

  private static String packageOf(String type) {
    return type.substring(0, type.lastIndexOf('.'));
  }

  /** The packages that a package may use; none if the table does not have it. */
  private static Set<String> permitted(String name) {
    return rules.containsKey(name) ? rules.get(name).uses() : Set.of();
  }

  /** The number of classes of the largest cycle in a package: those which reach each other. */
  private static int largestCycle(String name) {
    Map<String, Set<String>> reachable = new TreeMap<>();
    uses.keySet().stream()
        .filter(type -> packageOf(type).equals(name))
        .forEach(type -> reachable.put(type, reachable(type, name)));
    int largest = 1;
    for (Map.Entry<String, Set<String>> type : reachable.entrySet()) {
      long cycle =
          type.getValue().stream()
              .filter(other -> reachable.get(other).contains(type.getKey()))
              .count();
      largest = Math.max(largest, (int) cycle);
    }
    return largest;
  }

  /** The classes of a package that a class of it uses, directly or by others of the package. */
  private static Set<String> reachable(String from, String name) {
    Set<String> found = new TreeSet<>();
    List<String> open = new ArrayList<>(List.of(from));
    while (!open.isEmpty()) {
      for (String used : uses.getOrDefault(open.removeLast(), Set.of())) {
        if (packageOf(used).equals(name) && uses.containsKey(used) && found.add(used)) {
          open.add(used);
        }
      }
    }
    return found;
  }
}
