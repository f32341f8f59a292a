package dev.verbena.tools;

import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.Failure;
import dev.verbena.tools.command.Link;
import dev.verbena.tools.command.Signals;
import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Measures many outstanding operations. */
@Command(
    name = "bw",
    header = "Measure bandwidth and message rate.",
    description = "Without HOST: start a server and wait for connection.",
    footerHeading = Cli.EXAMPLES,
    footer = {
      "  verbena perf bw --both-ends -o write --sizes 64:65536:4 --csv",
      "  verbena perf bw --cm --device udp:127.0.0.2           # server",
      "  verbena perf bw --cm --device udp:127.0.0.1 -b 127.0.0.2",
      "  verbena perf bw -d mlx5_0 -a -q 4 HOST"
    })
final class PerfBandwidth implements Callable<Integer> {
  private static final int SIZE = 65536;

  @Spec private CommandSpec spec;

  @Mixin private PerfOptions options;

  @Option(
      names = {"-b", "--bidirectional"},
      description = "Transfer in both directions at the same time; the result is the sum.")
  private boolean bidirectional;

  @Option(
      names = {"-q", "--qp"},
      paramLabel = "N",
      description =
          "Number of queue pairs, each of which carries all operations; default: 1. Not with --cm.")
  private int queuePairs = 1;

  @Override
  public Integer call() throws Exception {
    Failure.require(spec, "--qp", queuePairs, 1, PerfPlan.MAX_QUEUE_PAIRS);
    PerfTask task = options.task(SIZE, Link.BATCH, queuePairs, bidirectional, false);
    return options.run(() -> measure(task));
  }

  private int measure(PerfTask task) throws IOException, InterruptedException {
    PerfPlan plan = task.plan();
    String title =
        task.operation()
            + (plan.queuePairs() > 1 ? ", " + plan.queuePairs() + " queue pairs" : "")
            + (plan.bidirectional() ? ", both directions" : "");
    try (PerfOutput output = new PerfOutput(options, task, title, "MiB/s");
        PerfEnd end = options.visit(task)) {
      Signals.interrupt();
      output.measures(end);
      output.put("measured", "bandwidth");
      output.put("operation", task.operation());
      output.put("queue_pairs", plan.queuePairs());
      output.put("directions", plan.directions());
      Progress progress = new Progress(spec.commandLine().getErr(), System::nanoTime);
      new PerfStream(end).measure(progress, rate -> output.add(rate.result(task)));
      return 0;
    }
  }
}
