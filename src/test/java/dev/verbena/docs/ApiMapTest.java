package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.CFunction;
import dev.verbena.testing.DeviceTest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Every C function has a Java member, and docs/api-map.md says which. With {@code
 * -Dverbena.apiMap=write} the page is written anew.
 */
@Tag("host")
class ApiMapTest {
  private static final Path PAGE = Path.of("docs/api-map.md");

  /** Control calls that succeeded in the lab: what src/lab/verify sees there. */
  private static final Path SEEN = Path.of("src/test/resources/seen-in-lab.txt");

  /** Data path calls, which are not traced, and a device test that cannot pass without each. */
  private static final Path DATA_PATH = Path.of("src/test/resources/seen-on-data-path.tsv");

  private static final String HEAD =
      """
      # C functions and their Java members

      Generated from the javadoc by `ApiMapTest`, which fails for a function without a member: \
      `mvn verify -Dtest=ApiMapTest -Dverbena.apiMap=write`.

      - **kernel**: seen working on a real kernel (Soft-RoCE, in the lab).
      - **stand-in**: no device or kernel of the lab supports it; seen against a software device in plain Java only.

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
  void theDocumentedMapIsThisOne() throws IOException {
    String page = page();
    if (System.getProperty("verbena.apiMap", "").equals("write")) {
      Files.writeString(PAGE, page);
    }
    assertEquals(page, Files.readString(PAGE), "out of date: -Dverbena.apiMap=write renews it");
  }

  @TestFactory
  Stream<DynamicTest> everyTestThatIsNamedExists() throws IOException {
    return dataPath().entrySet().stream()
        .map(
            row ->
                DynamicTest.dynamicTest(
                    row.getKey(), () -> assertTrue(isDeviceTest(row.getValue()), row.getValue())));
  }

  private static boolean isDeviceTest(String name) throws ClassNotFoundException {
    int dot = name.lastIndexOf('.');
    return Arrays.stream(
            Class.forName("dev.verbena." + name.substring(0, dot)).getDeclaredMethods())
        .anyMatch(
            method ->
                method.getName().equals(name.substring(dot + 1))
                    && method.isAnnotationPresent(DeviceTest.class));
  }

  private static Map<String, String> dataPath() throws IOException {
    return Files.readAllLines(DATA_PATH).stream()
        .filter(line -> !line.startsWith("#"))
        .map(line -> line.split("\t"))
        .collect(Collectors.toMap(row -> row[0], row -> row[1]));
  }

  private static String page() throws IOException {
    ApiMap map = ApiMap.ofSources();
    Set<String> seen = new TreeSet<>(Files.readAllLines(SEEN));
    seen.addAll(dataPath().keySet());
    Map<String, List<String>> rows = new TreeMap<>();
    int kernel = 0;
    for (CFunction function : CFunction.all()) {
      boolean isSeen = seen.contains(function.name());
      kernel += isSeen ? 1 : 0;
      rows.computeIfAbsent(function.library(), library -> new ArrayList<>())
          .add(row(function.name(), map.of(function.name()), isSeen));
    }
    StringBuilder page = new StringBuilder(HEAD);
    page.append(
        "%d functions, %d of them seen on a real kernel.%n"
            .formatted(CFunction.all().size(), kernel));
    rows.forEach(
        (library, lines) ->
            page.append("\n## ")
                .append(library)
                .append("\n\n| C | Java | seen |\n|---|---|---|\n")
                .append(String.join("", lines)));
    return page.toString();
  }

  private static String row(String function, List<String> members, boolean isSeen) {
    String java =
        members.stream()
            .map(member -> "`" + member.replace(".<init>", "") + "`")
            .collect(Collectors.joining(", "));
    return "| `%s` | %s | %s |\n".formatted(function, java, isSeen ? "kernel" : "stand-in");
  }
}
