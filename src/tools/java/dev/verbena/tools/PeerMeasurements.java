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
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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
    connect(PeerKind.END).close();
  }

  private void measure() throws IOException, InterruptedException {
    deadline = start + (long) (SHARE_OF_RC / 2 * limit);
    warmUp();
    Map<Operation, Map<Integer, Long>> estimates = new LinkedHashMap<>();
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
    List<Filling> transports =
        List.of(
            this::byCm,
            this::datagrams,
            () -> streams(PeerKind.RDMA_SOCKET),
            () -> streams(PeerKind.TCP_SOCKET),
            this::perftest);
    for (Filling transport : transports) {
      // It is tried although another one has failed, if the server still answers.
      failures = isGone ? failures : 0;
      transport.run();
    }
  }

  /** Exchanges messages for a while, so that the JVMs of both ends compile their code. */
  private void warmUp() throws IOException, InterruptedException {
    PerfTask task = new PerfTask(Operation.SEND, 1, 0, WARM_UP_OPERATIONS);
    Map<String, Object> row = row(RC, "latency", task);
    long end = System.nanoTime() + 10 * budgetNanos();
    boolean isWarm =
        isMeasured(
            row,
            () -> {
              while (System.nanoTime() < end) {
                var _ = rally(visit(task), Pace.unlimited());
              }
            });
    if (!isWarm) {
      report.addOfPeer(row);
    }
  }

  /** Measures writes with fewer outstanding operations. */
  private void depths(Map<Integer, Long> medians) throws IOException, InterruptedException {
    for (int depth : quick ? new int[] {1, 16} : new int[] {1, 4, 16, 64}) {
      for (int size : quick ? new int[] {LARGE} : new int[] {SMALL, LARGE}) {
        int n = number(medians.getOrDefault(size, budgetNanos()), 1);
        bandwidth(RC, stream(Operation.WRITE, size, n, 1, depth), this::visit);
      }
    }
  }

  private void byCm() throws IOException, InterruptedException {
    for (Operation operation : Operation.values()) {
      int size = operation == Operation.ATOMIC ? Long.BYTES : SMALL;
      var _ = latency(CM, single(operation, size, PROBES, false), this::visitByCm);
    }
    for (Operation operation : List.of(Operation.SEND, Operation.WRITE)) {
      bandwidth(CM, stream(operation, LARGE, 2 * Link.DEPTH, 1, Link.DEPTH), this::visitByCm);
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
    for (int size : PerfPlan.sizes(1, factor(), mtu)) {
      PerfTask probe = new PerfTask(Operation.SEND, size, 0, PROBES);
      latency(row("UD", "latency", probe), probe, task -> datagrams(task, Datagrams::latency));
    }
    PerfTask task =
        stream(Operation.SEND, mtu, 16 * Link.DEPTH, 1, Link.DEPTH)
            .with(Link.DEPTH, 16 * Link.DEPTH);
    Map<String, Object> row = row("UD", "bandwidth", task);
    attempt(
        row,
        () -> {
          Datagrams.Rate rate = datagrams(task, Datagrams::bandwidth);
          row.put("received", rate.received());
          fillRate(row, task.total(), rate.perSecond());
        });
  }

  private <T> T datagrams(PerfTask task, Measurement<Datagrams, T> measurement)
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
    for (int size : quick ? List.of(SMALL) : List.of(SMALL, LARGE)) {
      PerfTask probe = new PerfTask(Operation.SEND, size, 0, PROBES);
      latency(
          streamRow(kind, "latency", probe), probe, task -> stream(kind, task, StreamEnd::latency));
    }
    PerfPlan plan = new PerfPlan(LARGE, 2, 1, false, true, false, false, Link.DEPTH);
    PerfTask task = new PerfTask(Operation.SEND, LARGE, 0, 4 * Link.DEPTH, plan);
    Map<String, Object> row = streamRow(kind, "bandwidth", task);
    attempt(row, () -> fillRate(row, task.total(), stream(kind, task, StreamEnd::bandwidth)));
  }

  private static Map<String, Object> streamRow(PeerKind kind, String measured, PerfTask task) {
    String transport = kind == PeerKind.RDMA_SOCKET ? "RDMA socket" : "TCP socket";
    Map<String, Object> row = row(transport, measured, task);
    row.put("operation", "stream");
    row.put("waits_by", "blocking");
    row.put("depth", 1);
    return row;
  }

  private <T> T stream(PeerKind kind, PerfTask task, Measurement<StreamEnd, T> call)
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
      PerfTask task =
          isLatency
              ? single(test.operation(), test.size(), n, false)
              : stream(test.operation(), test.size(), n, 1, Link.DEPTH);
      Map<String, Object> java = row(RC, isLatency ? "latency" : "bandwidth", task);
      Map<String, Object> c = new LinkedHashMap<>(java);
      c.put("program", "perftest");
      List<Double> ofC = new ArrayList<>();
      List<Double> ofJava = new ArrayList<>();
      attempt(
          c,
          () -> {
            Perftest.require(device);
            while (ofC.size() < rounds && (ofC.isEmpty() || System.nanoTime() < deadline)) {
              try (Peer peer = connect(PeerKind.PERFTEST)) {
                int serverPort = port + PeerServer.PERFTEST_PORT;
                ofC.add(test.measure(peer, device, host, serverPort, n));
              }
              ofJava.add(
                  isLatency
                      ? rally(visit(task), Pace.unlimited()).getValueAtPercentile(50) / 1000.0
                      : stream(visit(task)).mebibytesPerSecond());
            }
            inTurns(c, ofC, n, isLatency);
            inTurns(java, ofJava, n, isLatency);
            report.addOfPeer(java);
          });
    }
  }

  private static void inTurns(
      Map<String, Object> row, List<Double> values, int n, boolean isLatency) {
    List<Double> sorted = values.stream().sorted().toList();
    row.put("count", n);
    row.put("rounds", values);
    double median = (sorted.get((sorted.size() - 1) / 2) + sorted.get(sorted.size() / 2)) / 2;
    if (isLatency) {
      row.put("p50_ns", Math.round(1000 * median));
    } else {
      row.put("mib_per_second", median);
    }
  }

  /** The factor from one size to the next. */
  private int factor() {
    return quick ? QUICK_FACTOR : FACTOR;
  }

  private List<Integer> sizes(Operation operation) {
    return operation == Operation.ATOMIC
        ? List.of(Long.BYTES)
        : PerfPlan.sizes(1, factor(), LARGEST);
  }

  /** Returns the task of a latency, of which that of write is measured by polled memory. */
  private static PerfTask single(Operation operation, int size, int number, boolean events) {
    boolean polled = operation == Operation.WRITE && !events;
    PerfPlan plan = new PerfPlan(size, 2, 1, false, false, events, polled, Link.DEPTH);
    return new PerfTask(operation, size, number, number, plan);
  }

  private static PerfTask stream(
      Operation operation, int size, int number, int queuePairs, int depth) {
    PerfPlan plan = new PerfPlan(size, 2, queuePairs, false, true, false, false, depth);
    return new PerfTask(operation, size, Link.BATCH, number, plan);
  }

  private static Map<String, Object> row(String transport, String measured, PerfTask task) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("transport", transport);
    row.put("program", "Verbena");
    row.put("measured", measured);
    row.put("operation", task.operation().toString());
    row.put("size", task.size());
    row.put("waits_by", task.plan().events() ? "events" : "polling");
    row.put("rate", "");
    row.put("queue_pairs", task.plan().queuePairs());
    row.put("depth", task.plan().stream() ? task.plan().depth() : 1);
    row.put("result", "measured");
    return row;
  }

  /** Measures; returns the median of each size, in nanoseconds. */
  private Map<Integer, Long> latencies(Operation operation, boolean events)
      throws IOException, InterruptedException {
    Map<Integer, Long> medians = new LinkedHashMap<>();
    for (int size : sizes(operation)) {
      if (latency(operation, size, events).get("p50_ns") instanceof Long median) {
        medians.put(size, median);
      }
    }
    return medians;
  }

  /** Measures one size; returns its row. */
  Map<String, Object> latency(Operation operation, int size, boolean events)
      throws IOException, InterruptedException {
    return latency(RC, single(operation, size, PROBES, events), this::visit);
  }

  private Map<String, Object> latency(
      String transport, PerfTask probe, Measurement<PerfTask, PerfEnd> visit)
      throws IOException, InterruptedException {
    Map<String, Object> row = row(transport, "latency", probe);
    latency(row, probe, task -> rally(visit.of(task), Pace.unlimited()));
    return row;
  }

  private void latency(
      Map<String, Object> row, PerfTask probe, Measurement<PerfTask, Histogram> measurement)
      throws IOException, InterruptedException {
    TimedLatency latency =
        new TimedLatency(budgetNanos(), probe.operation() == Operation.SEND ? 2 : 1);
    attempt(row, () -> fill(row, latency.measure(probe, measurement)));
  }

  private int iterations(double nanos) {
    return TimedLatency.iterations(budgetNanos(), nanos);
  }

  private static void fill(Map<String, Object> row, Histogram times) {
    row.put("count", times.getTotalCount());
    Histograms.values(times).forEach((name, nanos) -> row.put(name + "_ns", nanos));
    row.remove("p99.99_ns");
  }

  private void bandwidths(Operation operation, int queuePairs, Map<Integer, Long> medians)
      throws IOException, InterruptedException {
    for (int size : sizes(operation)) {
      int n = number(medians.getOrDefault(size, budgetNanos()), queuePairs);
      bandwidth(RC, stream(operation, size, n, queuePairs, Link.DEPTH), this::visit);
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

  private void bandwidth(String transport, PerfTask task, Measurement<PerfTask, PerfEnd> visit)
      throws IOException, InterruptedException {
    Map<String, Object> row = row(transport, "bandwidth", task);
    attempt(
        row,
        () -> {
          PerfRate rate = stream(visit.of(task));
          fillRate(row, rate.count(), rate.messagesPerSecond());
        });
  }

  private static void fillRate(Map<String, Object> row, long count, double messagesPerSecond) {
    int size = (Integer) row.get("size");
    row.put("count", count);
    row.put("mib_per_second", messagesPerSecond * size / (1 << 20));
    row.put("messages_per_second", messagesPerSecond);
  }

  /** Measures small operations that begin at half the rate at which they follow each other. */
  private void fixedRates(Map<Operation, Map<Integer, Long>> medians)
      throws IOException, InterruptedException {
    for (Operation operation : List.of(Operation.SEND, Operation.WRITE, Operation.READ)) {
      int size = sizes(operation).stream().filter(s -> s >= SMALL).findFirst().orElseThrow();
      Long nanos = medians.get(operation).get(size);
      if (nanos == null) {
        Map<String, Object> row = row(RC, "latency", single(operation, size, PROBES, false));
        row.put("rate", "unknown");
        attempt(
            row,
            () -> {
              throw new ImpossibleException("the latency, which determines the rate, is unknown");
            });
        continue;
      }
      double perSecond = SHARE * 1e9 / (nanos * (operation == Operation.SEND ? 2 : 1));
      int n = iterations(1e9 / perSecond);
      PerfTask task = single(operation, size, n, false).with(n / 2, n);
      Map<String, Object> row = row(RC, "latency", task);
      row.put("rate", Math.round(perSecond) + "/s");
      attempt(
          row,
          () -> {
            Pace pace = Pace.perSecond(perSecond, System::nanoTime);
            fill(row, rally(visit(task), pace));
            if (pace.isMissed()) {
              row.put("result", "measured; the rate was not reached");
            }
          });
    }
  }

  /** Fills a row, or adds those of a transport. */
  private interface Filling {
    void run() throws IOException, InterruptedException;
  }

  /** Measures, unless the time is over or the peer is gone; adds the row with its result. */
  private void attempt(Map<String, Object> row, Filling filling)
      throws IOException, InterruptedException {
    boolean _ = isMeasured(row, filling);
    report.addOfPeer(row);
  }

  /** Measures; otherwise the result of the row is the reason. */
  private boolean isMeasured(Map<String, Object> row, Filling filling)
      throws IOException, InterruptedException {
    if (failures >= MAX_FAILURES || System.nanoTime() > deadline) {
      row.put(
          "result", failures >= MAX_FAILURES ? "not measured: earlier failures" : Report.NO_TIME);
      return false;
    }
    progress.accept(
        "%s, %s: %s of %s, %s B, depth %s, queue pairs: %s"
            .formatted(
                row.get("transport"),
                row.get("program"),
                row.get("measured"),
                row.get("operation"),
                row.get("size"),
                row.get("depth"),
                row.get("queue_pairs")));
    try {
      filling.run();
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
    return false;
  }

  private static Histogram rally(PerfEnd connected, Pace pace)
      throws IOException, InterruptedException {
    try (PerfEnd end = connected) {
      List<Histogram> all = new ArrayList<>();
      new PerfRally(end).measure(pace, Progress.none(), (times, _) -> all.add(times));
      return all.getFirst();
    }
  }

  private static PerfRate stream(PerfEnd connected) throws IOException, InterruptedException {
    try (PerfEnd end = connected) {
      List<PerfRate> rates = new ArrayList<>();
      new PerfStream(end).measure(Progress.none(), rates::add);
      return rates.getFirst();
    }
  }

  private PerfEnd visit(PerfTask task) throws IOException, InterruptedException {
    return PerfTcpEnd.visit(connect(PeerKind.RC), task, device, TIMEOUT);
  }

  /** Connects over TCP; the server listens again a moment after the measurement before. */
  private Peer connect(PeerKind kind) throws IOException, InterruptedException {
    long start = System.nanoTime();
    while (true) {
      try {
        Peer peer = Peer.connect(host, port, TIMEOUT);
        peer.sendText(kind.name());
        return peer;
      } catch (ConnectException e) {
        if (System.nanoTime() - start > CONNECT.toNanos()) {
          throw e;
        }
        Thread.sleep(10);
      }
    }
  }
}
