package dev.verbena.soft;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.function.Function;

/**
 * Looks for few of the faults of a run with which its program still fails (delta debugging): leaves
 * out all of them, then each half, each quarter and so on, as long as that leaves a failure.
 */
final class Shrinking {
  private static final int MOST_RUNS = 200;

  private final Function<Set<Integer>, Simulation> program;
  private Simulation smallest;
  private int runs;

  private Shrinking(Simulation failed, Function<Set<Integer>, Simulation> program) {
    this.smallest = failed;
    this.program = program;
  }

  /**
   * Returns the failed run with the fewest faults that was found.
   *
   * @param failed a run that failed
   * @param program runs its program with some of its faults
   */
  static Simulation of(Simulation failed, Function<Set<Integer>, Simulation> program) {
    Shrinking shrinking = new Shrinking(failed, program);
    int size = shrinking.faults().size();
    while (size > 0 && shrinking.runs < MOST_RUNS) {
      boolean isSmaller = shrinking.leaveOut(size);
      if (size > 1 || !isSmaller) {
        size /= 2;
      }
    }
    return shrinking.smallest;
  }

  private Collection<Integer> faults() {
    return smallest.faults();
  }

  /** Leaves out so many at a time; returns whether some are not needed. */
  private boolean leaveOut(int size) {
    int before = faults().size();
    int from = 0;
    while (from < faults().size() && runs < MOST_RUNS) {
      List<Integer> left = new ArrayList<>(faults());
      left.subList(from, Math.min(from + size, left.size())).clear();
      if (!failsWith(Set.copyOf(left))) {
        from += size;
      }
    }
    return faults().size() < before;
  }

  private boolean failsWith(Set<Integer> faults) {
    runs++;
    Simulation run = program.apply(faults);
    if (!run.failsAs(smallest)) {
      return false;
    }
    smallest = run;
    return true;
  }
}
