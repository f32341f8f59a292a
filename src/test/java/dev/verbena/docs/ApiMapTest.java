package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.SoftFunctions;
import dev.verbena.testing.CFunction;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Environment;
import dev.verbena.testing.GeneratedFile;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Every C function has a Java member, and docs/api-map.md says which. */
@Tag("host")
class ApiMapTest {
  private static final Path PAGE = Path.of("docs/api-map.md");

  /** Control calls that succeeded in the lab: what src/lab/verify sees there. */
  private static final Path SEEN = Path.of("src/test/resources/seen-in-lab.txt");

  /** The same on an emulated NIC, with the code of a vendor's provider. */
  private record Nic(String name, Environment environment) {
    static final List<Nic> ALL =
        List.of(new Nic("mlx5", Environment.NIC), new Nic("EFA", Environment.EFA));

    private Set<String> seen() throws IOException {
      return lines(Path.of("src/test/resources/seen-on-%s.txt".formatted(environment)));
    }
  }

  private static final Optional<Environment> SOFT = Optional.of(Environment.SOFT);

  private static final String KERNEL = "kernel";
  private static final String NIC = "emulated NIC";
  private static final String FAKE = "fake";
  private static final String IN_JAVA = "Java";

  /** A manual page, or a file of rdma-core. */
  private static final String SOURCE = "[a-z_]+\\(3\\)|[a-z]+/[a-z]+\\.[ch]";

  private static final String HEAD =
      """
      # C functions and their Java members

      Generated from the javadoc by `ApiMapTest`, which fails for a function without a member: \
      `mvn test -Dgroups=generated -Dverbena.generated=write`.

      The third column is about the C function. It does not say which of the members beside it a test has called.

      - **kernel**: a device test has called the function on Soft-RoCE in the [lab](../src/lab/README.md), and the call \
      succeeded. The trace of calls records this: `mvn verify -Plab` fails if no guest records it any more. \
      Posting, polling and other calls that are not traced have a device test that fails without them, which a guest runs \
      (`src/test/resources/untraced.tsv`): `mvn test -Dtest=UntracedTest` changes each of them and shows \
      on software devices that its test fails.
      - **emulated NIC**: not called there, because Soft-RoCE does not support it or a newer function is called where \
      available. A device test has called it with libmlx5 or libefa over an [emulated NIC](../src/nic/README.md), and the \
      call succeeded. The trace of calls records this, too; of calls that are not traced, `UntracedTest` shows it on \
      the emulated NIC itself, with each run of its tests.
      - **fake**: neither; tested with a fake or on software devices (`src/test/resources/fake.tsv`), which behave as the \
      manual page, or the file of rdma-core, beside it says.
      - **Java**: implemented in Java; needs no device.

      The fourth column has the emulated NICs on which a device test has called the function, also of those that a kernel \
      has run. The last column tells which functions the [software device](soft-device.md) implements: those with a method in its \
      classes, and inline functions with a device test that runs on it.

      """;

  private static final String TABLE =
      """

      | C | Java | tested with | emulated NIC | software device |
      |---|---|---|---|---|
      """;

  @TestFactory
  Stream<DynamicTest> everyFunctionHasAMember() throws IOException {
    ApiMap map = ApiMap.ofSources();
    return CFunction.all().stream()
        .map(CFunction::name)
        .map(
            function ->
                DynamicTest.dynamicTest(
                    function,
                    () ->
                        assertFalse(
                            map.of(function).isEmpty(),
                            "no public member names " + function + " in its javadoc")));
  }

  @Test
  @Tag(GeneratedFile.TAG)
  void theDocumentedMapIsThisOne() throws Exception {
    GeneratedFile.check(PAGE, page());
  }

  @TestFactory
  Stream<DynamicTest> everyTestThatIsNamedRunsInAGuestOrOnTheNic() throws IOException {
    return UntracedFunction.all().stream()
        .filter(function -> !function.isInJava())
        .map(
            function ->
                DynamicTest.dynamicTest(
                    function.name(),
                    () -> {
                      Method test = new NamedTest(function.test()).method().orElseThrow();
                      assertTrue(test.isAnnotationPresent(DeviceTest.class));
                      assertNotEquals(SOFT, Environment.once(test.getDeclaringClass(), test));
                      boolean onNic = function.runsOn(Environment.NIC);
                      assertTrue(function.runsInAGuest() || onNic);
                      assertTrue(function.runsOn(Environment.SOFT) || onNic, "of UntracedTest");
                    }));
  }

  @Test
  void everyFunctionThatIsTestedWithAFakeIsListed() throws Exception {
    Map<String, String> fake = marks();
    fake.values().removeIf(mark -> !mark.equals(FAKE));
    assertEquals(
        List.copyOf(fake.keySet()), FakeFunction.all().stream().map(FakeFunction::name).toList());
  }

  @TestFactory
  Stream<DynamicTest> everyTestOfAFakeExistsAndHasASource() throws IOException {
    return FakeFunction.all().stream()
        .map(
            function ->
                DynamicTest.dynamicTest(
                    function.name(),
                    () -> {
                      assertTrue(
                          new NamedTest(function.test()).method().isPresent(), function.test());
                      assertTrue(function.source().matches(SOURCE), function.source());
                    }));
  }

  private static String page() throws Exception {
    ApiMap map = ApiMap.ofSources();
    Map<String, String> marks = marks();
    Map<String, UntracedFunction> untraced = untraced();
    Map<String, String> sources =
        FakeFunction.all().stream()
            .collect(Collectors.toMap(FakeFunction::name, FakeFunction::source));
    SoftFunctions soft = SoftFunctions.read();
    Map<String, List<String>> rows = new TreeMap<>();
    int software = 0;
    for (CFunction function : CFunction.all()) {
      String mark = marks.get(function.name());
      String onSoft = "";
      String testedWith = mark.equals(FAKE) ? FAKE + ": " + sources.get(function.name()) : mark;
      if (!mark.equals(IN_JAVA)) {
        UntracedFunction row = untraced.get(function.name());
        boolean has = soft.has(function.name()) || (row != null && row.runsOn(Environment.SOFT));
        software += has ? 1 : 0;
        onSoft = has ? "yes" : "no";
      }
      rows.computeIfAbsent(function.library(), library -> new ArrayList<>())
          .add(row(function.name(), map.of(function.name()), testedWith, nics(function), onSoft));
    }
    StringBuilder page = new StringBuilder(HEAD);
    page.append(
        "%d functions: %d called on a kernel, %d more on an emulated NIC; %d implemented by the software device.%n"
            .formatted(
                CFunction.all().size(),
                Collections.frequency(marks.values(), KERNEL),
                Collections.frequency(marks.values(), NIC),
                software));
    rows.forEach(
        (library, lines) ->
            page.append("\n## ")
                .append(library)
                .append("\n")
                .append(TABLE)
                .append(String.join("", lines)));
    return page.toString();
  }

  /** The emulated NICs on which a device test has called a function. */
  private static String nics(CFunction function) throws Exception {
    UntracedFunction row = untraced().get(function.name());
    List<String> nics = new ArrayList<>();
    for (Nic nic : Nic.ALL) {
      if (row == null
          ? isSeen(function.name(), nic.seen())
          : !row.isInJava() && row.runsOn(nic.environment)) {
        nics.add(nic.name);
      }
    }
    return String.join(", ", nics);
  }

  /** What each function is tested with. */
  private static Map<String, String> marks() throws Exception {
    Map<String, UntracedFunction> untraced = untraced();
    Set<String> seen = lines(SEEN);
    Map<String, String> marks = new TreeMap<>();
    for (CFunction function : CFunction.all()) {
      String name = function.name();
      UntracedFunction row = untraced.get(name);
      boolean isInJava = row != null && row.isInJava();
      boolean isSeen = row == null ? isSeen(name, seen) : !isInJava && row.runsInAGuest();
      String without = nics(function).isEmpty() ? FAKE : NIC;
      marks.put(name, isInJava ? IN_JAVA : isSeen ? KERNEL : without);
    }
    return marks;
  }

  private static Set<String> lines(Path file) throws IOException {
    return new TreeSet<>(Files.readAllLines(file));
  }

  private static Map<String, UntracedFunction> untraced() throws IOException {
    return UntracedFunction.all().stream()
        .collect(Collectors.toMap(UntracedFunction::name, f -> f));
  }

  /** A function is seen if what its macro or inline function calls in its place is. */
  private static boolean isSeen(String function, Set<String> seen) {
    return Stream.of("", "_", "__", "___").anyMatch(prefix -> seen.contains(prefix + function));
  }

  private static String row(
      String function, List<String> members, String mark, String nics, String onSoft) {
    String java =
        members.stream()
            .map(member -> "`" + member.replace(".<init>", "") + "`")
            .collect(Collectors.joining(", "));
    return "| `%s` | %s | %s | %s | %s |\n".formatted(function, java, mark, nics, onSoft);
  }
}
