package dev.verbena.tools;

import dev.verbena.tools.command.DeviceOptions;
import dev.verbena.tools.command.Failure;
import dev.verbena.tools.command.Tracing;
import dev.verbena.tools.qualify.ShadowExchange;
import java.util.Locale;
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
      "Runs the same exchanges through both, in turns, between two queue pairs of the device;"
          + " compares completions and memory after each round, and prints both times. Fails at"
          + " the first difference."
    })
final class PerfShadow implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Mixin private DeviceOptions device;

  @Mixin
  @SuppressWarnings("UnusedVariable") // Required by picocli.
  private Tracing tracing;

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
    if (rounds < 1) {
      throw Failure.usage(spec, "the number of rounds must be positive: " + rounds);
    }
    ShadowExchange.Result result =
        ShadowExchange.run(device.checkedDevice(), device.port(), device.gidIndex(), rounds, seed);
    spec.commandLine()
        .getOut()
        .printf(
            Locale.ROOT,
            "%d rounds of five requests are equal. Medians of a round: provider library %.1f us,"
                + " direct %.1f us%n",
            result.rounds(),
            result.provider() / 1000.0,
            result.direct() / 1000.0);
    return 0;
  }
}
