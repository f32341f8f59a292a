package dev.verbena.lab;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The list of tests that an environment of device tests skips: one line each, {@code Class.method
 * reason}; # begins a comment. With an exclamation mark before the class the test is not run,
 * because it requires another environment; {@code !Class.*} stands for all tests of a class.
 */
public final class Gaps {
  private final Map<String, String> reasons;
  private final Set<String> leftOut;
  private final Set<String> skipped = new HashSet<>();
  private final Set<String> passed = new HashSet<>();

  Gaps(Map<String, String> reasons, Set<String> leftOut) {
    this.reasons = reasons;
    this.leftOut = leftOut;
  }

  /** Reads a list. */
  public static Gaps read(Path file) throws IOException {
    Map<String, String> reasons = new HashMap<>();
    Set<String> leftOut = new HashSet<>();
    try (Stream<String> lines = Files.lines(file)) {
      lines
          .map(String::strip)
          .filter(line -> !line.isEmpty() && !line.startsWith("#"))
          .forEach(
              line -> {
                String[] parts = line.split("\\s+", 2);
                if (parts.length < 2) {
                  throw new IllegalArgumentException(file + ": a gap without a reason: " + line);
                }
                if (parts[0].startsWith("!")) {
                  leftOut.add(parts[0].substring(1));
                } else {
                  reasons.put(parts[0], parts[1]);
                }
              });
    }
    return new Gaps(reasons, leftOut);
  }

  /** Whether a test, {@code Class.method}, is not to be run. */
  public boolean leavesOut(String test) {
    return leftOut.contains(test)
        || leftOut.contains(test.substring(0, test.lastIndexOf('.')) + ".*");
  }

  /** Whether a test, {@code Class.method}, runs on the device and is not skipped there. */
  public boolean runs(String test) {
    return !leavesOut(test) && !reasons.containsKey(test);
  }

  /** Notes a skip; true if it is known. */
  boolean skip(String test) {
    skipped.add(test);
    return reasons.containsKey(test);
  }

  /** Notes a pass. */
  void pass(String test) {
    passed.add(test);
  }

  /** Known gaps that are none any more. */
  Set<String> closed() {
    Set<String> closed = new HashSet<>(reasons.keySet());
    closed.retainAll(passed);
    closed.removeAll(skipped);
    return closed;
  }
}
