package dev.verbena.tools;

import dev.verbena.tools.PerfTask.Operation;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Measures many outstanding operations. */
@Command(
    name = "bw",
    header = "Measure bandwidth and message rate.",
    description = "Without HOST: start a server and wait for connection.")
final class PerfBandwidth implements Callable<Integer> {
  private static final int SIZE = 65536;

  /** The number of requests of one post, of which the last is signaled. */
  static final int BATCH = 16;

  /** The number of outstanding batches. */
  private static final int WINDOW = Link.DEPTH / BATCH;

  @Spec private CommandSpec spec;

  @Mixin private PerfOptions options;

  @Override
  public Integer call() throws Exception {
    if (options.bothEnds()) {
      return options.runBothEnds();
    }
    if (options.isServer()) {
      try (PerfEnd end = options.serve()) {
        serve(end);
      }
    } else {
      try (PerfEnd end = options.visit(inBatches(options.task(SIZE)))) {
        measure(end);
      }
    }
    return 0;
  }

  private static PerfTask inBatches(PerfTask task) {
    return new PerfTask(
        task.operation(),
        task.size(),
        Math.ceilDiv(task.warmUp(), BATCH) * BATCH,
        Math.ceilDiv(task.iterations(), BATCH) * BATCH);
  }

  private static void serve(PerfEnd end) throws IOException, InterruptedException {
    if (end.task().operation() == Operation.SEND) {
      ReceiveList receives = end.receives(BATCH);
      for (int i = 0; i < end.task().total(); i += BATCH) {
        end.link().await(BATCH);
        end.link().post(receives);
      }
    }
    end.awaitLeave();
  }

  private void measure(PerfEnd end) throws IOException, InterruptedException {
    PerfTask task = end.task();
    SendList batch = end.requests(BATCH);
    transfer(end, batch, task.warmUp(), null);
    Rates rates = new Rates(task.size());
    transfer(end, batch, task.iterations(), rates);
    end.leave();
    report(task, rates);
  }

  /** Posts a batch whenever one has completed. */
  private void transfer(PerfEnd end, SendList batch, int requests, Rates rates) {
    Progress progress = new Progress(spec.commandLine().getErr(), requests);
    int posted = 0;
    int done = 0;
    while (done < requests) {
      while (posted < requests && posted - done < WINDOW * BATCH) {
        end.link().post(batch);
        posted += BATCH;
      }
      done += end.link().await() * BATCH;
      if (rates != null) {
        rates.at(done);
      }
      end.completed(done);
      progress.at(done);
    }
  }

  private void report(PerfTask task, Rates rates) throws IOException {
    PrintWriter out = spec.commandLine().getOut();
    if (options.json()) {
      Map<String, Object> tree = new LinkedHashMap<>();
      tree.put("measured", "bandwidth");
      tree.put("operation", task.operation().toString());
      tree.put("size", task.size());
      tree.put("count", task.iterations());
      tree.put("bytes_per_second", rates.bytesPerSecond());
      tree.put("messages_per_second", rates.perSecond());
      out.println(Json.of(tree));
    } else {
      out.printf(
          Locale.ROOT,
          "%s, %s, %d times: %.1f MiB/s, %.0f messages/s%n",
          task.operation(),
          Units.bytes(task.size()),
          task.iterations(),
          rates.bytesPerSecond() / (1 << 20),
          rates.perSecond());
    }
    options.write(rates.chart(task.operation() + ", " + Units.bytes(task.size())));
  }
}
