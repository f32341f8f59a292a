package dev.verbena.lab;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The tests that one guest of the lab, or the software devices, run for all guests: one line each,
 * {@code Class guest reason} or {@code Class.method guest reason}; # begins a comment.
 */
public final class SharedTests {
  /** In the place of a guest: the software devices outside of the guests. */
  public static final String SOFT = "soft";

  private final Map<String, String> guests;

  private SharedTests(Map<String, String> guests) {
    this.guests = guests;
  }

  /** Reads a list. */
  public static SharedTests read(Path file) throws IOException {
    Map<String, String> guests = new LinkedHashMap<>();
    try (Stream<String> lines = Files.lines(file)) {
      lines
          .map(String::strip)
          .filter(line -> !line.isEmpty() && !line.startsWith("#"))
          .forEach(
              line -> {
                String[] parts = line.split("\\s+", 3);
                if (parts.length < 3) {
                  throw new IllegalArgumentException(file + ": without a guest or reason: " + line);
                }
                if (guests.put(parts[0], parts[1]) != null) {
                  throw new IllegalArgumentException(file + ": twice: " + parts[0]);
                }
              });
    }
    return new SharedTests(guests);
  }

  /** The classes, and methods of classes, that are listed. */
  List<String> names() {
    return List.copyOf(guests.keySet());
  }

  /** The guest, or {@link #SOFT}, that the list names for a test or class. */
  public Optional<String> guest(String name) {
    return Optional.ofNullable(guests.get(name))
        .or(() -> Optional.ofNullable(guests.get(name.replaceFirst("[.].*", ""))));
  }

  /**
   * Whether a guest leaves a test, or all tests of a class, to others.
   *
   * @param test {@code Class.method}, or {@code Class.*}
   * @param chosen the guests of this run, and {@link #SOFT} if the software devices run tests; the
   *     first guest runs what the list gives to one that is not chosen
   */
  boolean leaves(String test, String guest, List<String> chosen) {
    if (test.endsWith(".*") && methods(test).anyMatch(method -> !leaves(method, guest, chosen))) {
      return false;
    }
    return guest(test)
        .map(listed -> chosen.contains(listed) ? listed : chosen.getFirst())
        .filter(runs -> !runs.equals(guest))
        .isPresent();
  }

  /** The listed methods of a class, {@code Class.*}. */
  private Stream<String> methods(String all) {
    String prefix = all.substring(0, all.length() - 1);
    return guests.keySet().stream().filter(name -> name.startsWith(prefix));
  }
}
