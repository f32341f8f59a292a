package dev.verbena.tools;

import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.DeviceOptions;
import dev.verbena.tools.command.Failure;
import dev.verbena.tools.qualify.ShadowExchange;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Compares the direct data path with the provider library. */
@Command(
    name = "shadow",
    header = "Compare the direct data path with the provider library, on one device.",
    description = {
      "Runs the same exchanges through both, in turns, between two queue pairs of the device:"
          + " as lists of five requests, one request per post, and by sessions. Compares"
          + " completions and memory after each round, and prints the times of both. Fails at the"
          + " first difference."
    },
    footerHeading = Cli.EXAMPLES,
    footer = "  verbena perf shadow -d mlx5_0 -n 1000000")
final class PerfShadow implements Callable<Integer> {
  /** The time of each is kept. */
  private static final int MAX_ROUNDS = 10_000_000;

  @Spec private CommandSpec spec;

  @Mixin private DeviceOptions device;

  @Option(
      names = {"-n", "--iters"},
      paramLabel = "N",
      description = "Number of rounds on each path; default: ${DEFAULT-VALUE}.")
  private int rounds = 100_000;

  @Option(
      names = "--seed",
      paramLabel = "N",
      description = "Seed of the random data and lengths; default: ${DEFAULT-VALUE}.")
  private long seed = 1;

  @Override
  public Integer call() {
    Failure.require(spec, "--iters", rounds, 1, MAX_ROUNDS);
    List<Map<String, Object>> rows =
        ShadowExchange.run(device.checkedDevice(), device.port(), device.gidIndex(), rounds, seed);
    PrintWriter out = spec.commandLine().getOut();
    String equal =
        rounds == 1 ? "1 round of five requests is" : rounds + " rounds of five requests are";
    out.println(equal + " equal. Medians of a round:");
    for (Map<String, Object> row : rows) {
      double median = (long) row.get("p50_ns") / 1000.0;
      out.printf(Locale.ROOT, "%s: %s %.1f us%n", row.get("row"), row.get("language"), median);
    }
    return 0;
  }
}
