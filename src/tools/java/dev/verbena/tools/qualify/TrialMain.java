package dev.verbena.tools.qualify;

import dev.verbena.tools.qualify.Outcome.Verdict;
import dev.verbena.verbs.Device;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The program of a child: tries the capabilities of a device, and prints a line for each result.
 */
final class TrialMain {
  private static final String RESULT = "result\t";
  private static final int COLUMNS = 4;

  private TrialMain() {}

  /** Takes the name of a device, and the index of the first capability. */
  public static void main(String[] args) {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    Device device = Device.named(args[0]);
    List<Capability> all = Capabilities.ALL;
    for (Capability capability : all.subList(Integer.parseInt(args[1]), all.size())) {
      out.println(line(Trials.run(device, capability)));
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
