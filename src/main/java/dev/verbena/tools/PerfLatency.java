package dev.verbena.tools;

import dev.verbena.tools.PerfTask.Operation;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.HdrHistogram.Histogram;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Measures single operations. */
@Command(
    name = "lat",
    header = "Measure the latency of an operation.",
    description = {
      "Without HOST: start a server and wait for connection.",
      "For send: the time of a round trip, a message in each direction. For the others:"
          + " the time until the completion."
    })
final class PerfLatency implements Callable<Integer> {
  private static final int SIZE = 64;

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
      PerfTask task = options.task(SIZE);
      try (PerfEnd end = options.visit(task)) {
        report(task, measure(end));
      }
    }
    return 0;
  }

  /** The end with the last completion notifies the other: the server if it answers. */
  private static void serve(PerfEnd end) throws IOException, InterruptedException {
    if (end.task().operation() != Operation.SEND) {
      end.awaitLeave();
      return;
    }
    int total = end.task().total();
    SendList answer = end.requests(1);
    ReceiveList receive = end.receives(1);
    end.link().await(1);
    for (int i = 1; i <= total; i++) {
      end.link().post(receive);
      end.link().post(answer);
      end.link().await(i < total ? 2 : 1);
      end.completed(i);
    }
    end.leave();
  }

  private Histogram measure(PerfEnd end) throws IOException, InterruptedException {
    Histogram times = new Histogram(3);
    PerfTask task = end.task();
    boolean answered = task.operation() == Operation.SEND;
    Progress progress = new Progress(spec.commandLine().getErr(), task.total());
    SendList request = end.requests(1);
    ReceiveList receive = end.receives(1);
    for (int i = 0; i < task.total(); i++) {
      long start = System.nanoTime();
      end.link().post(request);
      end.link().await(answered ? 2 : 1);
      long nanos = System.nanoTime() - start;
      if (answered) {
        end.link().post(receive);
      }
      if (i >= task.warmUp()) {
        times.recordValue(nanos);
      }
      end.completed(i + 1);
      progress.at(i + 1);
    }
    if (answered) {
      end.awaitLeave();
    } else {
      end.leave();
    }
    return times;
  }

  private void report(PerfTask task, Histogram times) throws IOException {
    PrintWriter out = spec.commandLine().getOut();
    String what = task.operation() == Operation.SEND ? "send, round trip" : "" + task.operation();
    if (options.json()) {
      Map<String, Object> tree = new LinkedHashMap<>();
      tree.put("measured", "latency");
      tree.put("operation", what);
      tree.put("size", task.size());
      tree.put("latency", Histograms.tree(times));
      out.println(Json.of(tree));
    } else {
      out.println(what + ", " + Units.bytes(task.size()) + ", " + task.iterations() + " times:");
      Histograms.draw(times, "us").forEach(out::println);
    }
    options.write(Histograms.chart(times, what + ", " + Units.bytes(task.size())));
  }
}
