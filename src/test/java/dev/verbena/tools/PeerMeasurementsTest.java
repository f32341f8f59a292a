package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Run;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The measurements of {@code qualify} with a peer, on software devices. */
@Tag("host")
@Tag("slow")
class PeerMeasurementsTest extends QualifyFixture {
  private static final String NO_RATE =
      "not measured: the latency, which determines the rate, is unknown";
  private static final String NO_C = "not measured: C programs cannot use a software device";

  @Test
  void peerThatIsNotThereIsAProblem() throws Exception {
    try (SoftNetwork network = network()) {
      var _ = run(network, "--peer", "127.0.0.1", "-p", Ports.free()).succeeded();
    }
    Map<?, ?> report = read();
    assertFalse(rows(report, "problems").isEmpty());
    assertEquals(0, count(rows(report, "peer"), "result", "measured"));
    assertTrue(count(rows(report, "peer"), "result", "not measured: earlier failures") > 10);
  }

  /** Whether a row is of TCP, for which software devices have no network interface. */
  private static boolean isOnTcp(Object row) {
    return "TCP socket".equals(((Map<?, ?>) row).get("transport"))
        && ("" + ((Map<?, ?>) row).get("result"))
            .contains("no socket on the address of the device");
  }

  /** Whether there was time for a measurement. */
  private static boolean isMeasured(Object row, String transport, String measured) {
    Map<?, ?> values = (Map<?, ?>) row;
    return transport.equals(values.get("transport"))
        && measured.equals(values.get("measured"))
        && "measured".equals(values.get("result"));
  }

  private static long notReached(List<?> rows, String program) {
    return rows.stream()
        .map(row -> (Map<?, ?>) row)
        .filter(row -> program.equals(row.get("program")))
        .filter(row -> "no time left".equals(row.get("result")))
        .count();
  }

  @Test
  void bothEndsMeasureAllOperations() throws Exception {
    Run run =
        Run.of("qualify", "--both-ends", "--quick", "-p", Ports.free(), "--output", "" + report())
            .succeeded();
    assertTrue(
        run.out().matches("(?s).*\nWith a peer\\S* .*\\d+ of \\d+ measured[.,].*"), run.out());
    // The first one: a busy machine has no time left for others.
    assertTrue(run.err().contains(": latency of send, 1 B, depth 1, queue pairs: 1"), run.err());
    List<?> rows = rows(read(), "peer");
    List<Object> bad = new ArrayList<>(rows);
    bad.removeIf(
        row ->
            List.of("measured", "no time left", "measured; the rate was not reached", NO_C)
                    .contains(((Map<?, ?>) row).get("result"))
                || (notReached(rows, "Verbena") > 0
                    && NO_RATE.equals(((Map<?, ?>) row).get("result")))
                || isOnTcp(row));
    assertEquals(List.of(), bad);
    for (String transport : List.of("RC", "UD", "RC by RDMA CM", "RDMA socket", "TCP socket")) {
      assertTrue(count(rows, "transport", transport) >= 2, transport);
    }
    assertEquals(4, count(rows, "result", NO_C) + notReached(rows, "perftest"), "" + rows);
    for (Object row : rows) {
      if (isMeasured(row, "UD", "bandwidth")) {
        assertTrue(((Map<?, ?>) row).containsKey("received"), "datagrams are counted: " + row);
      }
    }
    for (String operation : List.of("send", "write", "read", "atomic")) {
      assertTrue(count(rows, "operation", operation) >= 2, operation);
    }
  }

  @Test
  void peerThatIsKilledIsAProblem() throws Exception {
    String port = Ports.free();
    try (SoftNetwork network = network()) {
      var _ = network.addDevice("soft1", InetAddress.getByName("10.9.8.6"));
      network.call(
          () -> {
            var _ = Run.inBackground("qualify", "--serve", "-d", "soft1", "-p", port);
            return null;
          });
      CompletableFuture<Run> running =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return run(network, "--peer", "127.0.0.1", "-p", port);
                } catch (Exception e) {
                  throw new AssertionError(e);
                }
              },
              task -> Thread.ofPlatform().daemon().start(task));
      awaitReport(text -> text.contains("\"measured\": \"latency\""), running::isDone);
      var _ = network.faults().kill("soft1");
      var _ = running.join().succeeded();
    }
    Map<?, ?> report = read();
    assertFalse(rows(report, "problems").isEmpty());
    assertEquals(true, report.get("complete"));
    assertTrue(count(rows(report, "peer"), "result", "not measured: earlier failures") > 1);
  }
}
