package dev.verbena.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Environment;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What rdma-core tests is tested here, too, or has a reason: the table rdma-core-tests.tsv is whole
 * and true. {@code run_pyverbs.py} compares it with the tests of the packages.
 */
@Tag("host")
class ConformanceTest {
  private static final Path TABLE = Path.of("src/test/resources/rdma-core-tests.tsv");

  /** Each has the names that the tests of a release have. */
  private static final List<Path> LISTS =
      List.of(Path.of("src/nic/pyverbs-mlx5.tsv"), Path.of("src/nic/pyverbs-efa.tsv"));

  /**
   * A test of rdma-core's, and the one here that asks the same, package.Class.method, or why none
   * does.
   */
  record Row(String test, String here, String reason) {
    String module() {
      return test.substring(0, test.indexOf('.'));
    }

    boolean isRestOfModule() {
      return test.endsWith(".*");
    }

    Class<?> testClass() throws ClassNotFoundException {
      return Class.forName(here.substring(0, here.lastIndexOf('.')));
    }

    String method() {
      return here.substring(here.lastIndexOf('.') + 1);
    }
  }

  private static <T> List<T> read(Path file, Function<String[], T> row) throws IOException {
    try (Stream<String> lines = Files.lines(file)) {
      return lines
          .filter(line -> !line.startsWith("#"))
          .skip(1)
          .map(line -> line.split("\t", -1))
          .map(row)
          .toList();
    }
  }

  static List<Row> rows() throws IOException {
    return read(TABLE, columns -> new Row(columns[0], columns[1], columns[2]));
  }

  static List<Row> counterparts() throws IOException {
    return rows().stream().filter(row -> !row.here().isEmpty()).toList();
  }

  /** The tests of the lists, as the table names them. */
  private static Set<String> known() throws IOException {
    Set<String> known = new TreeSet<>();
    for (Path list : LISTS) {
      known.addAll(
          read(
              list,
              columns -> {
                String[] name = columns[0].split("\\.", -1);
                return name[0].replaceFirst("^test_", "")
                    + "."
                    + name[2].replaceFirst("^test_", "");
              }));
    }
    return known;
  }

  @ParameterizedTest
  @MethodSource("counterparts")
  void isADeviceTestThatRuns(Row row) throws ClassNotFoundException {
    Class<?> type = row.testClass();
    List<Method> methods =
        Environment.tests(type).stream()
            .filter(method -> method.getName().equals(row.method()))
            .toList();
    assertEquals(1, methods.size(), () -> "no test " + row.here());
    Method method = methods.getFirst();
    assertTrue(Environment.isDeviceTest(type, method), row.here());
    assertTrue(WhereTestsRunTest.runs(type, method), () -> "runs nowhere: " + row.here());
  }

  @Test
  void eachHasACounterpartOrAReason() throws IOException {
    for (Row row : rows()) {
      assertTrue(row.here().isEmpty() != row.reason().isEmpty(), row.test());
    }
  }

  @Test
  void theTableIsWhole() throws IOException {
    List<Row> rows = rows();
    Map<String, Long> times =
        rows.stream().collect(Collectors.groupingBy(Row::test, Collectors.counting()));
    times.values().removeIf(count -> count == 1);
    assertEquals(Map.of(), times, "more than once");
    Set<String> without = known();
    assertTrue(without.size() > 300, "the lists are read");
    Set<String> unknown = new TreeSet<>();
    for (Row row : rows) {
      // Tests of mlx5 in releases that only EFA is emulated with are in no list.
      if (!without.remove(row.test()) && !row.isRestOfModule() && !row.test().startsWith("mlx5_")) {
        unknown.add(row.test());
      }
    }
    assertEquals(Set.of(), unknown, "in the table, but no test");
    for (Row row : rows) {
      if (row.isRestOfModule()) {
        without.removeIf(test -> test.startsWith(row.module() + "."));
      }
    }
    assertEquals(Set.of(), without, "not in the table");
  }

  @Test
  void thePageHasTheNumberOfCounterparts() throws IOException {
    long count = counterparts().stream().filter(row -> !row.module().startsWith("mlx5_")).count();
    String said = count + " of the 257 outside of mlx5's modules";
    assertTrue(Files.readString(Path.of("docs/tested.md")).contains(said), said);
  }
}
