package dev.verbena.tools;

import dev.verbena.RdmaException;
import dev.verbena.sockets.RdmaSelectorProvider;
import dev.verbena.tools.PerfTask.Operation;
import dev.verbena.tools.command.DeviceOptions;
import dev.verbena.tools.command.Link;
import dev.verbena.tools.command.Peer;
import dev.verbena.tools.qualify.Report;
import dev.verbena.verbs.Context;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;

/**
 * The measurements with a peer: latency and bandwidth of each operation and size, with the engine
 * of {@code perf}; of datagrams, of connections by RDMA CM, of byte streams, and of perftest. Each
 * has a number of operations that fits its time.
 */
final class PeerMeasurements {
  static final Duration TIMEOUT = Duration.ofSeconds(15);
  private static final Duration CONNECT = Duration.ofSeconds(5);
  private static final int PROBES = TimedLatency.FEWEST;
  private static final int WARM_UP_OPERATIONS = 200;
  private static final int LARGEST = 1 << 20;
  private static final int FACTOR = 4;
  private static final int QUICK_FACTOR = 16;
  private static final int MAX_FAILURES = 2;
  private static final int SMALL = 64;
  private static final int LARGE = 1 << 16;

  /** The share of the time that RC connected over TCP may take. */
  private static final double SHARE_OF_RC = 0.55;

  private static final String RC = "RC";
  private static final String CM = "RC by RDMA CM";

  /** The share of the highest rate at which the times of a fixed rate are measured. */
  private static final double SHARE = 0.5;

  private final String host;
  private final int port;
  private final DeviceOptions device;
  private final boolean quick;
  private final int mtu;
  private final Report report;
  private final Consumer<String> progress;
  private final long start = System.nanoTime();
  private final long limit;
  private long deadline;
  private int failures;
  private boolean isGone;

  PeerMeasurements(
      String host,
      int port,
      DeviceOptions device,
      boolean quick,
      Duration limit,
      Report report,
      Consumer<String> progress) {
    this.host = host;
    this.port = port;
    this.device = device;
    this.quick = quick;
    this.report = report;
    this.progress = progress;
    this.limit = limit.toNanos();
    deadline = start + this.limit;
    try (Context context = device.device().open()) {
      mtu = context.port(device.port()).attributes().activeMtu().bytes();
    }
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
              try (Peer peer = Peer.connect(host, port, TIMEOUT)) {
                PeerKind.END.send(peer);
              }
              return true;
            });
  }

  private void measure() throws IOException, InterruptedException {
    deadline = start + (long) (SHARE_OF_RC / 2 * limit);
    warmUp();
    Map<Operation, Map<Integer, Double>> estimates = new LinkedHashMap<>();
    for (Operation operation : Operation.values()) {
      estimates.put(operation, latencies(operation, false));
    }
    deadline = start + (long) (SHARE_OF_RC * limit);
    for (Operation operation : Operation.values()) {
      bandwidths(operation, 1, estimates.get(operation));
    }
    fixedRates(estimates);
    var _ = latencies(Operation.SEND, true);
    for (int queuePairs : quick ? new int[] {4} : new int[] {2, 4}) {
      bandwidths(Operation.WRITE, queuePairs, estimates.get(Operation.WRITE));
    }
    deadline = start + limit;
    depths(estimates.get(Operation.WRITE));
    beginTransport();
    byCm();
    beginTransport();
    datagrams();
    for (PeerKind kind : List.of(PeerKind.RDMA_SOCKET, PeerKind.TCP_SOCKET)) {
      beginTransport();
      streams(kind);
    }
    beginTransport();
    perftest();
  }

  /** Exchanges messages for a while, so that the JVMs of both ends compile their code. */
  private void warmUp() throws IOException, InterruptedException {
    PerfPlan plan = single(Operation.SEND, 1, false);
    PerfTask task = new PerfTask(Operation.SEND, 1, 0, WARM_UP_OPERATIONS, plan);
    long end = System.nanoTime() + 10 * budgetNanos();
    var _ =
        isMeasured(
            row(RC, "latency", task, ""),
            () -> {
              while (System.nanoTime() < end) {
                var _ = rally(visit(task));
              }
            });
  }

  /** Tries a transport although another one has failed, if the server still answers. */
  private void beginTransport() {
    if (!isGone) {
      failures = 0;
    }
  }

  /** Measures writes with fewer outstanding operations. */
  private void depths(Map<Integer, Double> medians) throws IOException, InterruptedException {
    for (int depth : quick ? new int[] {1, 16} : new int[] {1, 4, 16, 64}) {
      for (int size : quick ? new int[] {LARGE} : new int[] {SMALL, LARGE}) {
        int n = number(medians.getOrDefault(size, (double) budgetNanos()), 1);
        PerfPlan plan = plan(size, 1, true, false).withDepth(depth);
        bandwidth(RC, new PerfTask(Operation.WRITE, size, Link.BATCH, n, plan), this::visit);
      }
    }
  }

  private void byCm() throws IOException, InterruptedException {
    for (Operation operation : Operation.values()) {
      int size = operation == Operation.ATOMIC ? Long.BYTES : SMALL;
      var _ = latency(CM, operation, size, false, this::visitByCm);
    }
    for (Operation operation : List.of(Operation.SEND, Operation.WRITE)) {
      PerfPlan plan = plan(LARGE, 1, true, false);
      int n = 2 * Link.DEPTH;
      bandwidth(CM, new PerfTask(operation, LARGE, Link.BATCH, n, plan), this::visitByCm);
    }
  }

  private PerfEnd visitByCm(PerfTask task) throws IOException, InterruptedException {
    try (Peer peer = connect(PeerKind.CM)) {
      InetSocketAddress server = address(ImpossibleException.requireYes(peer));
      InetAddress local = device.address(peer);
      return PerfCmEnd.visit(new InetSocketAddress(local, 0), server, task, TIMEOUT);
    }
  }

  private static InetSocketAddress address(String text) {
    String[] parts = text.split(" ", -1);
    return new InetSocketAddress(InetAddress.ofLiteral(parts[0]), Integer.parseInt(parts[1]));
  }

  private void datagrams() throws IOException, InterruptedException {
    int largest = mtu;
    for (int size :
        plan(1, 1, false, false).withFactor(quick ? QUICK_FACTOR : FACTOR).sizes(largest)) {
      PerfTask probe = new PerfTask(Operation.SEND, size, 0, PROBES, plan(size, 1, false, false));
      Map<String, Object> row = row("UD", "latency", probe, "");
      attempt(
          row,
          () -> {
            TimedLatency latency = new TimedLatency(budgetNanos(), 2);
            fill(row, latency.measure(probe, task -> datagrams(task, Datagrams::latency)));
          });
    }
    PerfTask task =
        new PerfTask(
            Operation.SEND, largest, Link.DEPTH, 16 * Link.DEPTH, plan(largest, 1, true, false));
    Map<String, Object> row = row("UD", "bandwidth", task, "");
    attempt(
        row,
        () -> {
          Datagrams.Rate rate = datagrams(task, Datagrams::bandwidth);
          row.put("count", rate.sent());
          row.put("received", rate.received());
          fillRate(row, rate.perSecond());
        });
  }

  /** A measurement of datagrams. */
  private interface OfDatagrams<T> {
    T of(Datagrams end) throws IOException;
  }

  private <T> T datagrams(PerfTask task, OfDatagrams<T> measurement)
      throws IOException, InterruptedException {
    try (Peer peer = connect(PeerKind.UD)) {
      peer.send(task.bytes());
      try (Datagrams end = new Datagrams(peer, task, device)) {
        return measurement.of(end);
      }
    }
  }

  /** Measures byte streams, over RDMA or TCP. */
  private void streams(PeerKind kind) throws IOException, InterruptedException {
    String transport = kind == PeerKind.RDMA_SOCKET ? "RDMA socket" : "TCP socket";
    for (int size : quick ? List.of(SMALL) : List.of(SMALL, LARGE)) {
      PerfTask probe = new PerfTask(Operation.SEND, size, 0, PROBES, plan(size, 1, false, false));
      Map<String, Object> row = streamRow(transport, "latency", probe);
      attempt(
          row,
          () -> {
            TimedLatency latency = new TimedLatency(budgetNanos(), 2);
            fill(row, latency.measure(probe, task -> stream(kind, task, StreamEnd::latency)));
          });
    }
    PerfTask task =
        new PerfTask(Operation.SEND, LARGE, 0, 4 * Link.DEPTH, plan(LARGE, 1, true, false));
    Map<String, Object> row = streamRow(transport, "bandwidth", task);
    attempt(
        row,
        () -> {
          row.put("count", task.total());
          fillRate(row, stream(kind, task, StreamEnd::bandwidth));
        });
  }

  private static Map<String, Object> streamRow(String transport, String measured, PerfTask task) {
    Map<String, Object> row = row(transport, measured, task, "");
    row.put("operation", "stream");
    row.put("waits_by", "blocking");
    row.put("depth", 1);
    return row;
  }

  private <T> T stream(PeerKind kind, PerfTask task, StreamEnd.Call<T> call)
      throws IOException, InterruptedException {
    try (Peer peer = connect(kind)) {
      peer.send(task.bytes());
      InetSocketAddress server = address(ImpossibleException.requireYes(peer));
      SelectorProvider provider =
          kind == PeerKind.RDMA_SOCKET
              ? RdmaSelectorProvider.provider()
              : SelectorProvider.provider();
      return StreamEnd.visit(
          provider, device.address(peer), server, task, task.patience(TIMEOUT), call);
    }
  }

  /** Measures with perftest and with this library in turns; adds a row of medians for each. */
  private void perftest() throws IOException, InterruptedException {
    int rounds = quick ? 2 : 5;
    for (Perftest test : Perftest.values()) {
      boolean isLatency = test.isLatency();
      int n = isLatency ? 1000 : 2 * Link.DEPTH;
      PerfPlan plan =
          isLatency ? single(test.operation(), test.size(), false) : plan(LARGE, 1, true, false);
      PerfTask task =
          new PerfTask(test.operation(), test.size(), isLatency ? n : Link.BATCH, n, plan);
      Map<String, Object> java = row(RC, isLatency ? "latency" : "bandwidth", task, "");
      Map<String, Object> c = row(RC, isLatency ? "latency" : "bandwidth", task, "");
      c.put("program", "perftest");
      double[][] values = new double[2][rounds];
      attempt(
          c,
          () -> {
            Perftest.require(device);
            int done = 0;
            while (done < rounds && (done == 0 || System.nanoTime() < deadline)) {
              try (Peer peer = connect(PeerKind.PERFTEST)) {
                values[0][done] =
                    test.measure(peer, device, host, port + PeerServer.PERFTEST_PORT, n);
              }
              values[1][done] =
                  isLatency
                      ? median(rally(visit(task))) / 1000
                      : stream(visit(task)).mebibytesPerSecond();
              done++;
            }
            inTurns(c, Arrays.copyOf(values[0], done), n, isLatency);
            inTurns(java, Arrays.copyOf(values[1], done), n, isLatency);
            report.addOfPeer(java);
          });
    }
  }

  private static void inTurns(Map<String, Object> row, double[] values, int n, boolean isLatency) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    row.put("count", n);
    row.put("rounds", Arrays.stream(values).boxed().toList());
    double median = (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    if (isLatency) {
      row.put("p50_ns", Math.round(1000 * median));
    } else {
      row.put("mib_per_second", median);
    }
  }

  private List<Integer> sizes(Operation operation) {
    return operation == Operation.ATOMIC
        ? List.of(Long.BYTES)
        : PerfPlan.single(1).withFactor(quick ? QUICK_FACTOR : FACTOR).sizes(LARGEST);
  }

  private static PerfPlan plan(int size, int queuePairs, boolean stream, boolean events) {
    return new PerfPlan(size, 2, queuePairs, false, stream, events, false, Link.DEPTH);
  }

  /** Returns the plan of a latency, of which that of write is measured by polled memory. */
  private static PerfPlan single(Operation operation, int size, boolean events) {
    PerfPlan plan = plan(size, 1, false, events);
    return operation == Operation.WRITE && !events ? plan.byPolledMemory() : plan;
  }

  private static Map<String, Object> row(
      String transport, String measured, PerfTask task, String rate) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("transport", transport);
    row.put("program", "Verbena");
    row.put("measured", measured);
    row.put("operation", task.operation().toString());
    row.put("size", task.size());
    row.put("waits_by", task.plan().events() ? "events" : "polling");
    row.put("rate", rate);
    row.put("queue_pairs", task.plan().queuePairs());
    row.put("depth", task.plan().stream() ? task.plan().depth() : 1);
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
    return latency(RC, operation, size, events, this::visit);
  }

  private OptionalDouble latency(
      String transport, Operation operation, int size, boolean events, Visit visit)
      throws IOException, InterruptedException {
    PerfPlan plan = single(operation, size, events);
    PerfTask probe = new PerfTask(operation, size, PROBES, PROBES, plan);
    Map<String, Object> row = row(transport, "latency", probe, "");
    double[] measured = {Double.NaN};
    attempt(
        row,
        () -> {
          TimedLatency latency =
              new TimedLatency(budgetNanos(), operation == Operation.SEND ? 2 : 1);
          Histogram times = latency.measure(probe, task -> rally(visit.to(task)));
          fill(row, times);
          measured[0] = median(times);
        });
    return Double.isNaN(measured[0]) ? OptionalDouble.empty() : OptionalDouble.of(measured[0]);
  }

  private int iterations(double nanos) {
    return TimedLatency.iterations(budgetNanos(), nanos);
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
      int n = number(medians.getOrDefault(size, (double) budgetNanos()), queuePairs);
      PerfPlan plan = plan(size, queuePairs, true, false);
      bandwidth(RC, new PerfTask(operation, size, Link.BATCH, n, plan), this::visit);
    }
  }

  /**
   * Returns the number of operations on each queue pair.
   *
   * @param nanos the time of operations one after the other: more are outstanding, so that it is an
   *     upper limit
   */
  private int number(double nanos, int queuePairs) {
    int batch = Link.BATCH;
    return Math.ceilDiv(iterations(nanos) / queuePairs, batch) * batch;
  }

  private void bandwidth(String transport, PerfTask task, Visit visit)
      throws IOException, InterruptedException {
    Map<String, Object> row = row(transport, "bandwidth", task, "");
    attempt(
        row,
        () -> {
          PerfRate rate = stream(visit.to(task));
          row.put("count", rate.count());
          fillRate(row, rate.messagesPerSecond());
        });
  }

  private static void fillRate(Map<String, Object> row, double messagesPerSecond) {
    int size = (Integer) row.get("size");
    row.put("mib_per_second", messagesPerSecond * size / (1 << 20));
    row.put("messages_per_second", messagesPerSecond);
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
      Map<String, Object> row = row(RC, "latency", task, Math.round(perSecond) + "/s");
      attempt(
          row,
          () -> {
            Pace pace = Pace.perSecond(perSecond);
            fill(row, rally(visit(task), pace));
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
    if (isMeasured(row, measurement)) {
      report.addOfPeer(row);
    }
  }

  /** Measures; otherwise adds the row with the reason. */
  private boolean isMeasured(Map<String, Object> row, Measurement measurement)
      throws IOException, InterruptedException {
    if (failures >= MAX_FAILURES || System.nanoTime() > deadline) {
      row.put(
          "result", failures >= MAX_FAILURES ? "not measured: earlier failures" : "no time left");
      report.addOfPeer(row);
      return false;
    }
    progress.accept(
        "%s, %s: %s of %s, %s"
            .formatted(
                row.get("transport"),
                row.get("program"),
                row.get("measured"),
                row.get("operation"),
                row.get("size")));
    try {
      measurement.run();
      failures = 0;
      return true;
    } catch (ImpossibleException e) {
      row.put("result", "not measured: " + e.getMessage());
    } catch (IOException | RdmaException | IllegalStateException e) {
      failures++;
      isGone = e instanceof ConnectException;
      row.put("result", "failed: " + e.getMessage());
      report.problem(
          "peer",
          "%s, %s of %s bytes: %s"
              .formatted(
                  row.get("transport"), row.get("operation"), row.get("size"), e.getMessage()));
    }
    report.addOfPeer(row);
    return false;
  }

  /** Connects an end for a task. */
  private interface Visit {
    PerfEnd to(PerfTask task) throws IOException, InterruptedException;
  }

  private static Histogram rally(PerfEnd end) throws IOException, InterruptedException {
    return rally(end, Pace.unlimited());
  }

  private static Histogram rally(PerfEnd connected, Pace pace)
      throws IOException, InterruptedException {
    try (PerfEnd end = connected) {
      return new PerfRally(end).measure(pace, _ -> {}).get(end.task().size());
    }
  }

  private static PerfRate stream(PerfEnd connected) throws IOException, InterruptedException {
    try (PerfEnd end = connected) {
      return new PerfStream(end).measure(_ -> {}).getFirst();
    }
  }

  private PerfEnd visit(PerfTask task) throws IOException, InterruptedException {
    return PerfTcpEnd.visit(connect(PeerKind.RC), task, device, TIMEOUT);
  }

  /** Connects over TCP; the server listens again a moment after the measurement before. */
  private Peer connect(PeerKind kind) throws IOException, InterruptedException {
    Peer peer = retried(() -> Peer.connect(host, port, TIMEOUT));
    kind.send(peer);
    return peer;
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
}
