package dev.verbena.tools;

import dev.verbena.tools.command.Failure;
import dev.verbena.tools.command.Link;
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
    description = "Without HOST: start a server and wait for connection.")
final class PerfBandwidth implements Callable<Integer> {
  private static final int SIZE = 65536;

  @Spec private CommandSpec spec;

  @Mixin private PerfOptions options;

  @Option(
      names = {"-b", "--bidirectional"},
      description = "Transfer in both directions at the same time; the result is the sum.")
  private boolean bidirectional;

  private int queuePairs = 1;

  @Option(
      names = {"-q", "--qp"},
      paramLabel = "N",
      description =
          "Number of queue pairs, each of which carries all operations; default: 1. Not with --cm.")
  void queuePairs(int number) {
    if (number < 1 || number > PerfPlan.MAX_QUEUE_PAIRS) {
      throw Failure.usage(
          spec, "-q must be 1 to %d: %d".formatted(PerfPlan.MAX_QUEUE_PAIRS, number));
    }
    queuePairs = number;
  }

  @Override
  public Integer call() throws Exception {
    return options.run(
        () -> measure(options.task(SIZE, Link.BATCH, queuePairs, bidirectional, false)));
  }

  private int measure(PerfTask task) throws IOException, InterruptedException {
    try (PerfOutput output = options.output();
        PerfEnd end = options.visit(task)) {
      int each = Math.max(task.iterations(), task.warmUp()) * task.plan().queuePairs();
      Progress progress = new Progress(spec.commandLine().getErr(), each, System::nanoTime);
      output.bandwidth(task, new PerfStream(end).measure(progress::at));
      return 0;
    }
  }
}
