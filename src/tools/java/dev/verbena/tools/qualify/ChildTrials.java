package dev.verbena.tools.qualify;

import dev.verbena.tools.qualify.Outcome.Verdict;
import dev.verbena.verbs.Device;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Tries capabilities in a child process: a crash of the JVM, or a call that does not return, ends
 * the child and becomes one result, and a further child goes on with the next capability.
 */
final class ChildTrials {
  private static final String RESULT = "result\t";
  private static final int COLUMNS = 4;
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

  /**
   * Tries all capabilities.
   *
   * @param names their names, by index
   * @param told is given each result when it is known
   */
  void run(List<String> names, Consumer<Outcome> told) throws IOException, InterruptedException {
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
        parse(name, said).ifPresent(outcomes::add);
      }
      return outcomes;
    }
  }

  /** The child: takes the name of a device, and the index of the first capability. */
  public static void main(String[] args) {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    Device device = Device.named(args[0]);
    List<Capability> all = Capabilities.ALL;
    for (Capability capability : all.subList(Integer.parseInt(args[1]), all.size())) {
      out.println(line(capability.tryOn(device)));
    }
    // A trial may have left a thread in C behind.
    Runtime.getRuntime().halt(0);
  }

  static String line(Outcome outcome) {
    return RESULT
        + String.join(
            "\t",
            "" + outcome.announced(),
            outcome.verdict().name(),
            outcome.detail().replace('\t', ' ').replace('\n', ' '));
  }

  /** Returns the result that a line has; empty for another line, which a library may print. */
  static Optional<Outcome> parse(String name, String line) {
    String[] columns = line.split("\t", COLUMNS);
    if (!line.startsWith(RESULT) || columns.length < COLUMNS) {
      return Optional.empty();
    }
    @Nullable Boolean announced = columns[1].equals("null") ? null : Boolean.valueOf(columns[1]);
    return Optional.of(new Outcome(name, announced, Verdict.valueOf(columns[2]), columns[3]));
  }
}
