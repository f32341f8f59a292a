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
 * The tests that are known to be skipped in a guest: one line each, {@code Class.method reason}; #
 * begins a comment.
 */
final class Gaps {
  private final Map<String, String> reasons;
  private final Set<String> skipped = new HashSet<>();
  private final Set<String> passed = new HashSet<>();

  Gaps(Map<String, String> reasons) {
    this.reasons = reasons;
  }

  static Gaps read(Path file) throws IOException {
    Map<String, String> reasons = new HashMap<>();
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
                reasons.put(parts[0], parts[1]);
              });
    }
    return new Gaps(reasons);
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
