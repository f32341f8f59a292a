package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Run;
import dev.verbena.testing.Words;
import dev.verbena.tools.PerfTask.Operation;
import dev.verbena.tools.command.DeviceOptions;
import dev.verbena.tools.output.Json;
import dev.verbena.tools.qualify.Redaction;
import dev.verbena.tools.qualify.Report;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * {@code perf} and {@code qualify} report the latency that a network has: each packet takes 10 ms,
 * an RDMA read two packets, and half a round trip of messages one.
 */
@Tag("host")
class AgreementTest {
  private static final double DELAY = 10e6;

  /** The part of the delay that the least time may be longer, on a busy machine. */
  private static final double SLACK = 0.5;

  private static final int SIZE = 256;

  @TempDir private Path folder;

  private SoftNetwork network;

  /** Runs a server, and what a client does. */
  private void beside(FutureTask<?> server, FutureTask<?> client) throws Exception {
    network.call(() -> Thread.ofPlatform().daemon().start(server));
    network.call(() -> Thread.ofPlatform().daemon().start(client));
    client.get();
    server.get();
  }

  private double ofPerf(String operation) throws Exception {
    String port = Ports.free();
    FutureTask<Run> server =
        new FutureTask<>(() -> Run.of("perf", "lat", "-d", "soft1", "-p", port).succeeded());
    FutureTask<Run> client =
        new FutureTask<>(
            () ->
                Run.untilConnected(
                        server::isDone,
                        Words.of(
                            "perf",
                            "lat",
                            "-d",
                            "soft0",
                            "-p",
                            port,
                            "-o",
                            operation,
                            "-s",
                            "" + SIZE,
                            "-n",
                            "30",
                            "-w",
                            "2",
                            "--json",
                            "127.0.0.1"))
                    .succeeded());
    beside(server, client);
    Map<?, ?> tree = (Map<?, ?>) Json.parse(client.get().out());
    return (Double) ((Map<?, ?>) tree.get("latency")).get("min");
  }

  /** The least time of each operation, as the report has it. */
  private Map<String, Double> ofQualify() throws Exception {
    int port = Integer.parseInt(Ports.free());
    Path output = folder.resolve("report");
    Report report = new Report(output, new Redaction(Map.of()), "", "", true);
    FutureTask<Void> server =
        new FutureTask<>(
            () -> {
              new PeerServer(port, device("soft1"), PeerMeasurements.TIMEOUT).run(_ -> {});
              return null;
            });
    FutureTask<Void> client =
        new FutureTask<>(
            () -> {
              var peer =
                  new PeerMeasurements(
                      "127.0.0.1",
                      port,
                      device("soft0"),
                      true,
                      Duration.ofMinutes(10),
                      report,
                      _ -> {});
              for (Operation operation : List.of(Operation.SEND, Operation.READ)) {
                var _ = peer.latency(operation, SIZE, false);
              }
              peer.end();
              return null;
            });
    network.call(() -> Thread.ofPlatform().daemon().start(server));
    network.call(() -> Thread.ofPlatform().daemon().start(client));
    client.get();
    report.end();
    Map<String, Double> least = new LinkedHashMap<>();
    var tree = (Map<?, ?>) Json.parse(Files.readString(output.resolve("report.json")));
    for (Object item : (List<?>) tree.get("peer")) {
      Map<?, ?> row = (Map<?, ?>) item;
      assertEquals("measured", row.get("result"), "" + row);
      least.put((String) row.get("operation"), (Double) row.get("min_ns"));
    }
    return least;
  }

  private static DeviceOptions device(String name) {
    DeviceOptions options = new DeviceOptions();
    var _ = new picocli.CommandLine(options).parseArgs("-d", name);
    return options;
  }

  private static void assertNear(double expected, double measured, String what) {
    // The histograms of both have three digits.
    double least = expected * 0.999;
    assertTrue(measured >= least, what + ": less than the network's delay: " + measured);
    assertTrue(measured < expected + SLACK * DELAY, what + ": " + measured);
  }

  @Test
  void perfAndQualifyMeasureTheDelayOfTheNetwork() throws Exception {
    try (SoftNetwork created = SoftNetwork.create()) {
      network = created;
      var _ = network.addDevice("soft0", InetAddress.getByName("10.9.8.1"));
      var _ = network.addDevice("soft1", InetAddress.getByName("10.9.8.2"));
      var _ = network.faults().delay(Duration.ofNanos((long) DELAY));
      assertNear(DELAY, ofPerf("send"), "send of perf");
      assertNear(2 * DELAY, ofPerf("read"), "read of perf");
      Map<String, Double> report = ofQualify();
      assertNear(DELAY, report.get("send"), "send of qualify");
      assertNear(2 * DELAY, report.get("read"), "read of qualify");
    }
  }
}
