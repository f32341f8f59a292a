package dev.verbena.soft;

import java.time.Duration;
import java.util.Collection;
import java.util.Set;
import java.util.SortedMap;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The faults for which the devices of a simulation decide by random numbers. They have numbers from
 * 1 on, in the order of these decisions. All happen, or some only.
 */
final class InjectedFaults {
  private final @Nullable Set<Integer> chosen;

  /** The descriptions of those that have happened, if not all do. */
  private final SortedMap<Integer, String> happened = new TreeMap<>();

  private int decided;

  /** Lets those with these numbers happen; null for all. */
  InjectedFaults(@Nullable Set<Integer> chosen) {
    this.chosen = chosen;
  }

  /** Returns whether the next one happens. */
  boolean injects(Duration now, Supplier<String> description) {
    decided++;
    if (chosen == null) {
      return true;
    }
    if (!chosen.contains(decided)) {
      return false;
    }
    happened.put(decided, "%d after %s: %s".formatted(decided, now, description.get()));
    return true;
  }

  /** Returns the numbers of those that have happened. */
  Collection<Integer> numbers() {
    return chosen == null ? IntStream.rangeClosed(1, decided).boxed().toList() : happened.keySet();
  }

  /** Says how many of those of another run have happened. */
  String countOf(int all) {
    int count = numbers().size();
    return (count == all ? "" : count + " of ") + all + (all == 1 ? " fault" : " faults");
  }

  /** Says how to repeat a run with those that have happened, and what they are. */
  String repetition(long seed) {
    String options = "-D%s=%d".formatted(Repetition.SEED, seed);
    if (chosen == null) {
      return options;
    }
    StringJoiner numbers = new StringJoiner(",");
    happened.keySet().forEach(number -> numbers.add(number.toString()));
    StringJoiner lines = new StringJoiner("\n");
    lines.add("%s -D%s=%s".formatted(options, Repetition.FAULTS, numbers));
    happened.values().forEach(lines::add);
    return lines.toString();
  }
}
