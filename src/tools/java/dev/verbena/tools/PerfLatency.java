package dev.verbena.tools;

import dev.verbena.tools.PerfTask.Operation;
import dev.verbena.tools.command.Failure;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.Callable;
import org.HdrHistogram.Histogram;
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
    return options.run(() -> measure(options.task(SIZE, 1, 1, false, polls)));
  }

  private int measure(PerfTask task) throws IOException, InterruptedException {
    try (PerfOutput output = options.output();
        PerfEnd end = options.visit(task)) {
      Progress progress =
          new Progress(
              spec.commandLine().getErr(), task.total() * task.sizes().size(), System::nanoTime);
      Map<Integer, Histogram> times = new PerfRally(end).measure(pace, progress::at);
      output.latency(operation(task), times);
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
