package dev.verbena.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.regex.Pattern;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;

/**
 * Runs the pairs of {@link DataPath} and writes their {@link Report} to {@code target/data-path}.
 *
 * <p>Arguments: {@code --quick} or {@code --once}, and a regular expression, of which each row runs
 * whose printed name has a match.
 */
public final class Main {
  /** How thoroughly rows are measured. */
  private enum Effort {
    FULL,
    QUICK,
    ONCE
  }

  private final Effort effort;
  private final Pattern rows;

  private Main(Effort effort, Pattern rows) {
    this.effort = effort;
    this.rows = rows;
  }

  public static void main(String[] arguments) throws RunnerException, IOException {
    List<String> rest = new ArrayList<>(List.of(arguments));
    Effort effort =
        rest.remove("--quick") ? Effort.QUICK : rest.remove("--once") ? Effort.ONCE : Effort.FULL;
    if (rest.size() > 1 || rest.stream().anyMatch(argument -> argument.startsWith("-"))) {
      throw new IllegalArgumentException("arguments: [--quick | --once] [ROW], not " + rest);
    }
    new Main(effort, Pattern.compile(rest.isEmpty() ? "" : rest.getFirst())).run();
  }

  private void run() throws RunnerException, IOException {
    Report report = new Report(run(1), run(2));
    if (report.isEmpty()) {
      throw new IllegalArgumentException("no row has a name that matches " + rows);
    }
    System.out.println(report.markdown());
    Path directory = Files.createDirectories(Path.of("target", "data-path"));
    Files.writeString(directory.resolve("data-path.md"), report.markdown());
  }

  /** Runs the selected rows of a number of threads. */
  private Collection<RunResult> run(int threads) throws RunnerException {
    List<RunResult> results = new ArrayList<>();
    for (String operation : Report.OPERATIONS) {
      String[] batches =
          batches(threads).stream()
              .filter(batch -> rows.matcher(Report.label(operation, batch, threads)).find())
              .map(String::valueOf)
              .toArray(String[]::new);
      if (batches.length > 0) {
        results.addAll(
            new Runner(
                    options()
                        .include("DataPath\\." + operation + "(Java|C)$")
                        .param("batch", batches)
                        .threads(threads)
                        .forks(effort == Effort.FULL && threads == 1 ? 2 : 1)
                        .build())
                .run());
      }
    }
    return results;
  }

  private List<Integer> batches(int threads) {
    return effort == Effort.FULL && threads == 1 ? List.of(1, 4, 16, 32) : List.of(1, 16);
  }

  private ChainedOptionsBuilder options() {
    boolean once = effort == Effort.ONCE;
    return new OptionsBuilder()
        .addProfiler(GCProfiler.class)
        .shouldFailOnError(true)
        .jvmArgs(jvmArguments())
        .warmupIterations(once ? 0 : effort == Effort.QUICK ? 2 : 3)
        .warmupTime(TimeValue.milliseconds(400))
        .measurementIterations(once ? 1 : effort == Effort.QUICK ? 2 : 4)
        .measurementTime(TimeValue.milliseconds(300));
  }

  /** Returns the arguments of a JVM that uses the ring as libibverbs. */
  static String[] jvmArguments() {
    Path ring = Path.of("target", "libring.so").toAbsolutePath();
    return new String[] {
      "--enable-native-access=ALL-UNNAMED",
      "-Ddev.verbena.libibverbs=" + ring,
      // The ring works in user space, as do the providers with critical linking by default.
      "-Ddev.verbena.linking=critical"
    };
  }
}
