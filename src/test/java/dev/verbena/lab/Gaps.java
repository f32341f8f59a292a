package dev.verbena.lab;

import dev.verbena.testing.Environment;
import dev.verbena.testing.Rig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The list of tests that an environment of device tests skips, since its version of the kernel or
 * of rdma-core lacks something: one line each, {@code Class.method reason}; # begins a comment.
 */
public final class Gaps {
  private static final Path LISTS = Path.of("src/lab/gaps");

  private final Map<String, String> reasons;
  private final Set<String> skipped = new HashSet<>();
  private final Set<String> passed = new HashSet<>();

  Gaps(Map<String, String> reasons) {
    this.reasons = reasons;
  }

  /** The list of an environment. */
  static Gaps of(Environment environment) {
    return switch (environment) {
      case SOFT, ELSEWHERE, UDP, NIC_TESTING, EFA, HOST -> new Gaps(Map.of());
      case NIC, NIC_AGAIN, NIC_DIRECT -> read(LISTS.resolve("nic"));
      case BOOKWORM, TRIXIE, FORKY, FORKY_ARM64 -> read(LISTS.resolve(environment.toString()));
      case UDP_TO_ROCE, ROCE_TO_UDP -> read(LISTS.resolve(Rig.labGuest().orElseThrow()));
    };
  }

  private static Gaps read(Path file) {
    Map<String, String> reasons = new HashMap<>();
    try (Stream<String> lines = Files.lines(file)) {
      lines
          .map(String::strip)
          .filter(line -> !line.isEmpty() && !line.startsWith("#"))
          .forEach(
              line -> {
                String[] parts = line.split("\\s+", 2);
                if (parts.length < 2 || reasons.put(parts[0], parts[1]) != null) {
                  throw new IllegalArgumentException(
                      file + ": without a reason, or twice: " + line);
                }
              });
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return new Gaps(reasons);
  }

  /** Whether a test is for an environment, and not skipped there. */
  public static boolean runs(Environment environment, Class<?> type, Method test) {
    return environment.leaves(type, test).isEmpty()
        && !of(environment).reasons.containsKey(Results.name(type, test));
  }

  /** The tests, {@code Class.method}. */
  Set<String> tests() {
    return reasons.keySet();
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
