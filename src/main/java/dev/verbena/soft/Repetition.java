package dev.verbena.soft;

import dev.verbena.internal.Ranges;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** The system properties with which a run of a {@link Simulation} is repeated. */
final class Repetition {
  static final String SEED = "dev.verbena.simulation.seed";
  static final String FAULTS = "dev.verbena.simulation.faults";
  private static final String SHRINK = "dev.verbena.simulation.shrink";

  private Repetition() {}

  /** Returns the seed that is run; null for all. */
  static @Nullable Long seed() {
    String text = System.getProperty(SEED);
    try {
      return text == null ? null : Long.valueOf(text);
    } catch (NumberFormatException e) {
      throw wrong(SEED, "a number, such as 42", text, e);
    }
  }

  /** Returns the faults that happen with a seed; null for all. */
  static @Nullable Set<Integer> faults(long seed) {
    String text = System.getProperty(FAULTS);
    if (text == null) {
      return null;
    }
    Long repeated = seed();
    if (repeated == null) {
      throw new IllegalArgumentException(
          "the system property %s needs %s: the seed whose faults these are"
              .formatted(FAULTS, SEED));
    }
    return repeated == seed ? parsed(text) : null;
  }

  private static Set<Integer> parsed(String text) {
    Set<Integer> numbers = new TreeSet<>();
    if (text.isBlank()) {
      return numbers;
    }
    try {
      for (String number : text.split(",", -1)) {
        numbers.add(Ranges.positive(Integer.parseInt(number.strip()), "number of a fault"));
      }
    } catch (IllegalArgumentException e) {
      throw wrong(FAULTS, "numbers from 1 on, such as 12,40, or empty", text, e);
    }
    return numbers;
  }

  /** Returns whether few faults are looked for with which a program fails. */
  static boolean shrinks() {
    String text = System.getProperty(SHRINK, "false");
    return switch (text) {
      case "true", "" -> true;
      case "false" -> false;
      default -> throw wrong(SHRINK, "true or false", text, null);
    };
  }

  private static IllegalArgumentException wrong(
      String property, String right, String text, @Nullable Throwable cause) {
    return new IllegalArgumentException(
        "the system property %s is %s, not %s".formatted(property, right, text), cause);
  }
}
