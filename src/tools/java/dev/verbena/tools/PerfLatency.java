package dev.verbena.tools;

import dev.verbena.tools.PerfTask.Operation;
import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.Failure;
import dev.verbena.tools.command.Signals;
import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Measures single operations. */
@Command(
    name = "lat",
    header = "Measure the latency of an operation.",
    description = {
      "Without HOST: start a server and wait for connection.",
      "For send: half the time of a round trip, a message in each direction, as ib_send_lat reports"
          + " it. For write: half the time of a round trip, where each end polls its memory, as"
          + " ib_write_lat; with --events until the completion. For the others: the time"
          + " until the completion, as ib_read_lat and ib_atomic_lat."
    },
    footerHeading = Cli.EXAMPLES,
    footer = {
      "  verbena perf lat --both-ends --chart latency.svg",
      "  verbena perf lat --device udp:127.0.0.2               # server",
      "  verbena perf lat --device udp:127.0.0.1 -o read --sizes 1:4096:4 127.0.0.2",
      "  verbena perf lat -d mlx5_0 --rate 20000 HOST"
    })
final class PerfLatency implements Callable<Integer> {
  private static final int SIZE = 64;
  private static final double MAX_RATE = 1e8;

  @Spec private CommandSpec spec;

  @Mixin private PerfOptions options;

  private Pace pace = Pace.unlimited();

  @Option(
      names = "--completion",
      description = "For write: the time until the completion. The server does nothing.")
  private boolean completion;

  @Option(
      names = "--rate",
      paramLabel = "N",
      description =
          "Begin N operations per second, and measure from the time at which each should have"
              + " begun: for send and write the whole round trip. Default: each after the one"
              + " before.")
  void rate(double perSecond) {
    if (!(perSecond > 0 && perSecond <= MAX_RATE)) {
      throw Failure.usage(
          spec, "--rate must be above 0 and at most %.0f: %s".formatted(MAX_RATE, perSecond));
    }
    pace = Pace.perSecond(perSecond, System::nanoTime);
  }

  @Override
  public Integer call() throws Exception {
    if (completion && options.operation() != Operation.WRITE) {
      throw Failure.usage(spec, "--completion is for write: add -o write");
    }
    boolean polls = options.operation() == Operation.WRITE && !completion;
    PerfTask task = options.task(SIZE, 1, 1, false, polls);
    return options.run(() -> measure(task));
  }

  private int measure(PerfTask task) throws IOException, InterruptedException {
    String operation = operation(task);
    try (PerfOutput output = new PerfOutput(options, task, operation, "us");
        PerfEnd end = options.visit(task)) {
      Signals.interrupt();
      output.measures(end);
      output.put("measured", "latency");
      output.put("operation", operation);
      Progress progress = new Progress(spec.commandLine().getErr(), System::nanoTime);
      new PerfRally(end)
          .measure(
              pace,
              progress,
              (times, size) -> output.add(Histograms.result(times, size, operation)));
      if (pace.isMissed()) {
        spec.commandLine()
            .getErr()
            .println("The rate was not reached: the times contain the growing delay.");
      }
      return 0;
    }
  }

  private String operation(PerfTask task) {
    if (task.operation() == Operation.WRITE && !task.plan().polled()) {
      return "write, until the completion";
    }
    return task.isAnswered() && !PerfRally.isHalved(task, pace)
        ? task.operation() + ", round trip"
        : task.operation().toString();
  }
}
