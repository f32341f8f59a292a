package dev.verbena.tools;

import dev.verbena.tools.command.Failure;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Measures a connection between two hosts. */
@Command(
    name = "perf",
    header = "Measure latency or bandwidth between two hosts.",
    subcommands = {PerfLatency.class, PerfBandwidth.class, PerfShadow.class})
final class Perf implements Runnable {
  @Spec private CommandSpec spec;

  @Override
  public void run() {
    throw Failure.usage(spec, "missing command: lat, bw or shadow");
  }
}
