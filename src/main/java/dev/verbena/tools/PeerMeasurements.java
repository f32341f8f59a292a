package dev.verbena.tools;

import dev.verbena.RdmaException;
import dev.verbena.tools.PerfTask.Operation;
import dev.verbena.tools.qualify.Report;
import java.io.IOException;
import java.net.ConnectException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;

/**
 * The measurements with a peer: latency and bandwidth of each operation and size, with the engine
 * of {@code perf}. Each has a number of operations that fits its time.
 */
final class PeerMeasurements {
  private static final Duration TIMEOUT = Duration.ofSeconds(15);
  private static final Duration CONNECT = Duration.ofSeconds(5);
  private static final int PROBES = 20;
  private static final int LARGEST = 1 << 20;
  private static final int FACTOR = 4;
  private static final int QUICK_FACTOR = 16;
  private static final int MAX_ITERATIONS = 20_000;
  private static final int MAX_FAILURES = 2;
  private static final int SMALL = 64;

  /** The share of the highest rate at which the times of a fixed rate are measured. */
  private static final double SHARE = 0.5;

  private final String host;
  private final int port;
  private final DeviceOptions device;
  private final boolean quick;
  private final Report report;
  private final Consumer<String> progress;
  private final long deadline;
  private int failures;

  PeerMeasurements(
      String host,
      int port,
      DeviceOptions device,
      boolean quick,
      Report report,
      Consumer<String> progress) {
    this.host = host;
    this.port = port;
    this.device = device;
    this.quick = quick;
    this.report = report;
    this.progress = progress;
    deadline = System.nanoTime() + Duration.ofSeconds(quick ? 60 : 400).toNanos();
  }

  /** The time of one measurement. */
  private long budgetNanos() {
    return (quick ? 150L : 1000L) * 1_000_000;
  }

  void run() throws IOException, InterruptedException {
    try {
      measure();
    } finally {
      end();
    }
  }

  /** Tells the server that there is nothing more to measure. */
  void end() throws IOException, InterruptedException {
    var _ =
        retried(
            () -> {
              PerfTcpEnd.end(host, port, TIMEOUT);
              return true;
            });
  }

  private void measure() throws IOException, InterruptedException {
    Map<Operation, Map<Integer, Double>> estimates = new LinkedHashMap<>();
    for (Operation operation : Operation.values()) {
      estimates.put(operation, latencies(operation, false));
    }
    var _ = latencies(Operation.SEND, true);
    for (Operation operation : Operation.values()) {
      bandwidths(operation, 1, estimates.get(operation));
    }
    for (int queuePairs : quick ? new int[] {4} : new int[] {2, 4}) {
      bandwidths(Operation.WRITE, queuePairs, estimates.get(Operation.WRITE));
    }
    fixedRates(estimates);
  }

  private List<Integer> sizes(Operation operation) {
    return operation == Operation.ATOMIC
        ? List.of(Long.BYTES)
        : PerfPlan.single(1).withFactor(quick ? QUICK_FACTOR : FACTOR).sizes(LARGEST);
  }

  private static PerfPlan plan(int size, int queuePairs, boolean stream, boolean events) {
    return new PerfPlan(size, 2, queuePairs, false, stream, events, false);
  }

  /** Returns the plan of a latency, of which that of write is measured by polled memory. */
  private static PerfPlan single(Operation operation, int size, boolean events) {
    PerfPlan plan = plan(size, 1, false, events);
    return operation == Operation.WRITE && !events ? plan.byPolledMemory() : plan;
  }

  private static Map<String, Object> row(String measured, PerfTask task, String rate) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("measured", measured);
    row.put("operation", task.operation().toString());
    row.put("size", task.size());
    row.put("waits_by", task.plan().events() ? "events" : "polling");
    row.put("rate", rate);
    row.put("queue_pairs", task.plan().queuePairs());
    row.put("result", "measured");
    return row;
  }

  /** Measures; returns the median of each size, in nanoseconds. */
  private Map<Integer, Double> latencies(Operation operation, boolean events)
      throws IOException, InterruptedException {
    Map<Integer, Double> medians = new LinkedHashMap<>();
    for (int size : sizes(operation)) {
      latency(operation, size, events).ifPresent(median -> medians.put(size, median));
    }
    return medians;
  }

  /** Measures one size; returns the median in nanoseconds, or an empty result if it failed. */
  OptionalDouble latency(Operation operation, int size, boolean events)
      throws IOException, InterruptedException {
    PerfPlan plan = single(operation, size, events);
    PerfTask probe = new PerfTask(operation, size, PROBES, PROBES, plan);
    Map<String, Object> row = row("latency", probe, "");
    double[] measured = {Double.NaN};
    attempt(
        row,
        () -> {
          double estimate = rally(probe, Pace.unlimited()).getMean();
          int n = iterations(estimate * (operation == Operation.SEND ? 2 : 1));
          PerfTask task = new PerfTask(operation, size, n / 2, n, plan);
          Histogram times = rally(task, Pace.unlimited());
          fill(row, times);
          measured[0] = median(times);
        });
    return Double.isNaN(measured[0]) ? OptionalDouble.empty() : OptionalDouble.of(measured[0]);
  }

  private int iterations(double nanos) {
    return (int) Math.clamp(budgetNanos() / Math.max(nanos, 1), PROBES, MAX_ITERATIONS);
  }

  private static double median(Histogram times) {
    return times.getValueAtPercentile(50);
  }

  private static void fill(Map<String, Object> row, Histogram times) {
    row.put("count", times.getTotalCount());
    row.put("min_ns", times.getMinValue());
    row.put("p50_ns", times.getValueAtPercentile(50));
    row.put("p90_ns", times.getValueAtPercentile(90));
    row.put("p99_ns", times.getValueAtPercentile(99));
    row.put("p99.9_ns", times.getValueAtPercentile(99.9));
    row.put("max_ns", times.getMaxValue());
  }

  private void bandwidths(Operation operation, int queuePairs, Map<Integer, Double> medians)
      throws IOException, InterruptedException {
    for (int size : sizes(operation)) {
      int batch = PerfTransfer.BATCH;
      // Of operations one after the other: more are outstanding, so that it is an upper limit.
      double estimate = medians.getOrDefault(size, (double) budgetNanos());
      int n = Math.ceilDiv(iterations(estimate) / queuePairs, batch) * batch;
      PerfTask task = new PerfTask(operation, size, batch, n, plan(size, queuePairs, true, false));
      Map<String, Object> row = row("bandwidth", task, "");
      attempt(
          row,
          () -> {
            PerfRate rate = stream(task);
            row.put("count", rate.count());
            row.put("mib_per_second", rate.mebibytesPerSecond());
            row.put("messages_per_second", rate.messagesPerSecond());
          });
    }
  }

  /** Measures small operations that begin at half the rate at which they follow each other. */
  private void fixedRates(Map<Operation, Map<Integer, Double>> medians)
      throws IOException, InterruptedException {
    for (Operation operation : List.of(Operation.SEND, Operation.WRITE, Operation.READ)) {
      int size = sizes(operation).stream().filter(s -> s >= SMALL).findFirst().orElseThrow();
      Double nanos = medians.get(operation).get(size);
      if (nanos == null) {
        continue; // The measurement that failed has a row.
      }
      double perSecond = SHARE * 1e9 / (nanos * (operation == Operation.SEND ? 2 : 1));
      int n = iterations(1e9 / perSecond);
      PerfTask task = new PerfTask(operation, size, n / 2, n, single(operation, size, false));
      Map<String, Object> row = row("latency", task, Math.round(perSecond) + "/s");
      attempt(
          row,
          () -> {
            Pace pace = Pace.perSecond(perSecond);
            fill(row, rally(task, pace));
            if (pace.isMissed()) {
              row.put("result", "measured; the rate was not reached");
            }
          });
    }
  }

  /** A measurement, which fills a row. */
  private interface Measurement {
    void run() throws IOException, InterruptedException;
  }

  /** Measures, unless the time is over or the peer is gone; adds the row with its result. */
  private void attempt(Map<String, Object> row, Measurement measurement)
      throws IOException, InterruptedException {
    if (failures >= MAX_FAILURES || System.nanoTime() > deadline) {
      row.put(
          "result", failures >= MAX_FAILURES ? "not measured: earlier failures" : "no time left");
      report.addOfPeer(row);
      return;
    }
    progress.accept(row.get("measured") + " of " + row.get("operation") + ", " + row.get("size"));
    try {
      measurement.run();
      failures = 0;
    } catch (IOException | RdmaException | IllegalStateException e) {
      failures++;
      row.put("result", "failed: " + e.getMessage());
      report.problem(
          "peer", row.get("operation") + " of " + row.get("size") + " bytes: " + e.getMessage());
    }
    report.addOfPeer(row);
  }

  private Histogram rally(PerfTask task, Pace pace) throws IOException, InterruptedException {
    try (PerfEnd end = visit(task)) {
      return new PerfRally(end).measure(pace, _ -> {}).get(task.size());
    }
  }

  private PerfRate stream(PerfTask task) throws IOException, InterruptedException {
    try (PerfEnd end = visit(task)) {
      return new PerfStream(end).measure(_ -> {}).getFirst();
    }
  }

  /** Connects; the server listens again a moment after the measurement before. */
  private PerfEnd visit(PerfTask task) throws IOException, InterruptedException {
    return retried(() -> PerfTcpEnd.visit(host, port, task, device, TIMEOUT));
  }

  /** Connects. */
  private interface Connecting<T> {
    T attempt() throws IOException;
  }

  private static <T> T retried(Connecting<T> connecting) throws IOException, InterruptedException {
    long start = System.nanoTime();
    while (true) {
      try {
        return connecting.attempt();
      } catch (ConnectException e) {
        if (System.nanoTime() - start > CONNECT.toNanos()) {
          throw e;
        }
        Thread.sleep(10);
      }
    }
  }

  /** Serves measurements until a client ends them. */
  static void serve(int port, DeviceOptions device, Consumer<String> told)
      throws IOException, InterruptedException {
    List<String> failed = new ArrayList<>();
    while (true) {
      try {
        var next = PerfTcpEnd.next(port, device, TIMEOUT);
        if (next.isEmpty()) {
          return;
        }
        try (PerfEnd end = next.get()) {
          if (end.task().plan().stream()) {
            new PerfStream(end).serve();
          } else {
            new PerfRally(end).serve();
          }
        }
        failed.clear();
      } catch (IOException | RdmaException | IllegalStateException | IllegalArgumentException e) {
        failed.add("" + e.getMessage());
        told.accept("a measurement failed: " + e.getMessage());
        if (failed.size() > 2 * MAX_FAILURES) {
          throw new IOException("several measurements in a row failed: " + failed.getLast(), e);
        }
      }
    }
  }
}
