package dev.verbena.docs;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * What classes or packages use.
 *
 * @param uses those that each uses, without itself
 */
record Graph(Map<String, Set<String>> uses) {
  /** Of those that a predicate accepts. */
  Graph of(Predicate<String> accepted) {
    Map<String, Set<String>> some = new TreeMap<>();
    uses.forEach(
        (user, used) -> {
          if (accepted.test(user)) {
            Set<String> accepts = new TreeSet<>(used);
            accepts.removeIf(accepted.negate());
            some.put(user, accepts);
          }
        });
    return new Graph(some);
  }

  /** Of the groups, such as packages, of what this has. */
  Graph by(Function<String, String> group) {
    Map<String, Set<String>> groups = new TreeMap<>();
    uses.forEach(
        (user, used) -> {
          Set<String> others = groups.computeIfAbsent(group.apply(user), key -> new TreeSet<>());
          used.forEach(other -> others.add(group.apply(other)));
        });
    groups.forEach((user, used) -> used.remove(user));
    return new Graph(groups);
  }

  /** For each, the number of those that it reaches and that reach it; 1 if it is in no cycle. */
  Map<String, Integer> cycles() {
    Map<String, Set<String>> reachable = new TreeMap<>();
    uses.keySet().forEach(user -> reachable.put(user, reachable(user)));
    Map<String, Integer> cycles = new TreeMap<>();
    reachable.forEach(
        (user, reached) -> {
          long cycle =
              reached.stream()
                  .filter(other -> reachable.getOrDefault(other, Set.of()).contains(user))
                  .count();
          cycles.put(user, Math.max(1, (int) cycle));
        });
    return cycles;
  }

  /** The largest of {@link #cycles}. */
  int largestCycle() {
    return cycles().values().stream().mapToInt(size -> size).max().orElse(1);
  }

  private Set<String> reachable(String from) {
    Set<String> found = new TreeSet<>();
    List<String> open = new ArrayList<>(List.of(from));
    while (!open.isEmpty()) {
      for (String used : uses.getOrDefault(open.removeLast(), Set.of())) {
        if (found.add(used)) {
          open.add(used);
        }
      }
    }
    return found;
  }
}
