package dev.verbena.docs;

import dev.verbena.lab.Gaps;
import dev.verbena.testing.Environment;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A C function that the trace of calls does not show.
 *
 * @param test a device test that fails without the function, or {@code Java}
 * @param method the Java method that calls it, as {@link Mutant} reads it; empty for {@code Java}
 */
record UntracedFunction(String name, String test, String method) {
  private static final Path LIST = Path.of("src/test/resources/untraced.tsv");

  /** Reads the list. */
  static List<UntracedFunction> all() throws IOException {
    return Files.readAllLines(LIST).stream()
        .filter(line -> !line.startsWith("#"))
        .map(line -> line.split("\t"))
        .map(row -> new UntracedFunction(row[0], row[1], row.length > 2 ? row[2] : ""))
        .toList();
  }

  /** Whether neither C nor Java needs a device. */
  boolean isInJava() {
    return test.equals("Java");
  }

  /** Whether an environment runs the test. */
  boolean runsOn(Environment environment) {
    try {
      Method method = new NamedTest(test).method().orElseThrow();
      return Gaps.runs(environment, method.getDeclaringClass(), method);
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(test, e);
    }
  }

  /** Whether a guest runs the test, on a kernel. */
  boolean runsInAGuest() {
    return Environment.GUESTS.stream().anyMatch(this::runsOn);
  }
}
