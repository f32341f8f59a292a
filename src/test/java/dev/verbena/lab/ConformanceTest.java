package dev.verbena.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What rdma-core tests on Soft-RoCE is tested here too: the list in rdma-core-tests.tsv is true.
 */
class ConformanceTest {
  /** A test of rdma-core's, and the one here that asks the same: package.Class.method. */
  record Counterpart(String test, String here) {
    Class<?> testClass() throws ClassNotFoundException {
      return Class.forName(here.substring(0, here.lastIndexOf('.')));
    }

    String method() {
      return here.substring(here.lastIndexOf('.') + 1);
    }
  }

  static List<Counterpart> counterparts() throws IOException {
    var resource = ConformanceTest.class.getResourceAsStream("/rdma-core-tests.tsv");
    try (var reader = new BufferedReader(new InputStreamReader(resource, StandardCharsets.UTF_8));
        Stream<String> lines = reader.lines()) {
      return lines
          .filter(line -> !line.startsWith("#"))
          .skip(1)
          .map(line -> line.split("\t", -1))
          .map(columns -> new Counterpart(columns[0], columns[1]))
          .toList();
    }
  }

  @ParameterizedTest
  @MethodSource("counterparts")
  void isATestOnADevice(Counterpart row) throws ClassNotFoundException {
    List<Method> methods =
        Arrays.stream(row.testClass().getDeclaredMethods())
            .filter(method -> method.getName().equals(row.method()))
            .toList();
    assertEquals(1, methods.size(), () -> "no test " + row.here());
    assertTrue(methods.getFirst().isAnnotationPresent(DeviceTest.class), row.here());
  }

  @Test
  void eachIsListedOnce() throws IOException {
    List<String> tests = counterparts().stream().map(Counterpart::test).toList();
    assertEquals(136, tests.size());
    assertEquals(tests.size(), tests.stream().distinct().count());
  }
}
