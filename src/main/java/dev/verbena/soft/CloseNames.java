package dev.verbena.soft;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;

/** Finds the names that are most similar to a misspelled one. */
final class CloseNames {
  private static final int COUNT = 3;

  private CloseNames() {}

  /** Returns a few of some names, the most similar first. */
  static List<String> to(String name, Collection<String> names) {
    return names.stream()
        .sorted(
            Comparator.comparingInt((String other) -> distance(name, other))
                .thenComparing(Comparator.naturalOrder()))
        .limit(COUNT)
        .toList();
  }

  /** How many characters must be inserted, removed or replaced (Levenshtein). */
  private static int distance(String a, String b) {
    int[] distances = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      distances[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      int diagonal = distances[0];
      distances[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int replaced = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        diagonal = distances[j];
        distances[j] = Math.min(replaced, Math.min(diagonal, distances[j - 1]) + 1);
      }
    }
    return distances[b.length()];
  }
}
