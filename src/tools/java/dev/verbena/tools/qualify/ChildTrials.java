package dev.verbena.tools.qualify;

import dev.verbena.tools.qualify.Outcome.Verdict;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Tries capabilities in a child process: a crash of the JVM, or a call that does not return, ends
 * the child and becomes one result, and a further child goes on with the next capability.
 */
public final class ChildTrials {
  private static final int MAX_CHILDREN = 6;
  private static final int MAX_HUNG = 2;

  private final List<String> command;
  private final Duration limit;

  /**
   * Creates the trials.
   *
   * @param command the program and its arguments, to which the index of the first capability is
   *     added
   * @param limit the time within which the child must print something
   */
  ChildTrials(List<String> command, Duration limit) {
    this.command = List.copyOf(command);
    this.limit = limit;
  }

  /** Returns the trials of a device of this host, in JVMs like this one. */
  public static ChildTrials of(String device, Duration limit) {
    return new ChildTrials(ChildJvm.command(TrialMain.class, device), limit);
  }

  /**
   * Tries all capabilities.
   *
   * @param names their names, by index
   * @param told is given each result when it is known
   */
  public void run(List<String> names, Consumer<Outcome> told)
      throws IOException, InterruptedException {
    int next = 0;
    int children = 0;
    int hung = 0;
    while (next < names.size() && children < MAX_CHILDREN && hung < MAX_HUNG) {
      children++;
      List<Outcome> outcomes = oneChild(next, names);
      outcomes.forEach(told);
      next += outcomes.size();
      boolean hasHung = !outcomes.isEmpty() && outcomes.getLast().verdict() == Verdict.HUNG;
      hung += hasHung ? 1 : 0;
    }
    for (; next < names.size(); next++) {
      told.accept(new Outcome(names.get(next), null, Verdict.NOT_TRIED, "earlier trials failed"));
    }
  }

  /** Runs a child, to the last capability or to the one that ends it. */
  private List<Outcome> oneChild(int first, List<String> names)
      throws IOException, InterruptedException {
    List<String> line = new ArrayList<>(command);
    line.add(Integer.toString(first));
    List<Outcome> outcomes = new ArrayList<>();
    try (ChildJvm child = new ChildJvm(line, limit)) {
      while (first + outcomes.size() < names.size()) {
        String name = names.get(first + outcomes.size());
        @Nullable String said = child.next();
        if (said == null) {
          String detail = "not ended within " + limit.toSeconds() + " s";
          outcomes.add(new Outcome(name, null, Verdict.HUNG, detail));
          return outcomes;
        }
        if (said.isEmpty()) {
          outcomes.add(new Outcome(name, null, Verdict.CRASHED, child.end()));
          return outcomes;
        }
        TrialMain.parse(name, said).ifPresent(outcomes::add);
      }
      return outcomes;
    }
  }
}
