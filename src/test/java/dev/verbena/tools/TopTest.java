package dev.verbena.tools;

import static dev.verbena.testing.Environment.FORKY;
import static dev.verbena.testing.Need.KERNEL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Rig;
import dev.verbena.testing.Run;
import dev.verbena.testing.Words;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.QueuePair;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.IFactory;

@Once(value = FORKY, reason = "options and output")
class TopTest {
  private static final String PAIRS =
      """
      link rxe0/1 lqpn 1 type GSI state RTS sq-psn 0 comm [ib_core]
      link rxe0/1 lqpn 17 pdn 4 rqpn 18 type RC state RTS rq-psn 5 sq-psn 6 path-mig-state MIGRATED pid 42 comm a b
      link mlx5_0/2 lqpn 99 type UD state RTS sq-psn 0 pid 43 comm java
      """;

  private static final String CONNECTIONS =
      "link rxe0/1 lqpn 17 qp-type RC state CONNECT ps TCP pid 42 comm java cm-idn 3"
          + " src-addr 10.9.0.1:4000 dst-addr 10.9.0.2:7471";

  @TempDir Path root;

  private Run top(String... options) {
    return top(
        kind -> new RdmaResource(RdmaResource.parse(kind.equals("qp") ? PAIRS : CONNECTIONS), ""),
        options);
  }

  private Run top(Top.Resources resources, String... options) {
    return run(resources, options).succeeded();
  }

  private Run run(Top.Resources resources, String... options) {
    IFactory factory =
        new IFactory() {
          @Override
          public <K> K create(Class<K> type) throws Exception {
            return type == Top.class
                ? type.cast(new Top(new Machine(root), resources))
                : CommandLine.defaultFactory().create(type);
          }
        };
    return Run.with(factory, Words.of("top", "-n", "1", options));
  }

  private void file(String name, String text) throws IOException {
    Path file = root.resolve("sys/class/infiniband/" + name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text + "\n");
  }

  private void twoDevices() throws IOException {
    file("rxe0/ports/1/state", "4: ACTIVE");
    file("rxe0/ports/1/rate", "2.5 Gb/sec (1X SDR)");
    file("rxe0/ports/1/hw_counters/sent_pkts", "7");
    file("mlx5_0/ports/2/state", "1: DOWN");
    file("mlx5_0/ports/2/counters/port_rcv_data", "250");
    file("mlx5_0/ports/2/counters/VL15_dropped", "N/A (no PMA)");
  }

  private static PortCounters port(String device, Map<Flow, Long> traffic) {
    return new PortCounters(device, "1", "ACTIVE", "100 Gb/sec (4X EDR)", traffic);
  }

  private static final RdmaResource NONE = new RdmaResource(List.of(), "");

  @Test
  void hostWithoutDevicesSaysWhatToDo() {
    Run run = run(kind -> NONE);
    assertEquals(3, run.status());
    assertEquals("", run.out());
    assertEquals(1, run.err().lines().count(), run.err());
    assertTrue(
        run.err()
            .startsWith(
                "verbena top: no RDMA device in /sys/class/infiniband: see verbena doctor."),
        run.err());
  }

  @Test
  void countersAreReadUnderTheNamesOfEachDriver() throws IOException {
    twoDevices();
    assertEquals(
        List.of(
            new PortCounters("mlx5_0", "2", "DOWN", "-", Map.of(Flow.RECEIVED_BYTES, 1000L)),
            new PortCounters(
                "rxe0", "1", "ACTIVE", "2.5 Gb/sec (1X SDR)", Map.of(Flow.SENT_PACKETS, 7L))),
        PortCounters.read(new Machine(root)));
  }

  @Test
  void ratesAreTheChangesPerSecondOfPortsThatWereThere() {
    PortCounters now = port("a", Map.of(Flow.SENT_BYTES, 5000L, Flow.SENT_PACKETS, 9L));
    PortCounters added = port("b", Map.of(Flow.SENT_BYTES, 5000L));
    HostActivity activity =
        new HostActivity(
            List.of(now, added), List.of(port("a", Map.of(Flow.SENT_BYTES, 1000L))), 2, NONE, NONE);
    assertEquals(2000, activity.perSecond(now, Flow.SENT_BYTES).orElseThrow());
    assertTrue(activity.perSecond(now, Flow.SENT_PACKETS).isEmpty());
    assertTrue(activity.perSecond(now, Flow.RECEIVED_BYTES).isEmpty());
    assertTrue(activity.perSecond(added, Flow.SENT_BYTES).isEmpty());
  }

  @Test
  void tablesListPortsQueuePairsAndConnections() throws IOException {
    twoDevices();
    List<String> lines = top().out().lines().skip(1).toList();
    assertEquals(
        """
        port      state   rate                 received  sent  packets received  packets sent
        mlx5_0/2  DOWN    -                    0 B/s     -     -                 -
        rxe0/1    ACTIVE  2.5 Gb/sec (1X SDR)  -         -     -                 0/s

        port      QPN  type  state  remote QPN  process
        rxe0/1    1    GSI   RTS    -           [ib_core]
        rxe0/1    17   RC    RTS    18          42 a b
        mlx5_0/2  99   UD    RTS    -           43 java

        port    QPN  state    from           to             process
        rxe0/1  17   CONNECT  10.9.0.1:4000  10.9.0.2:7471  42 java
        """,
        String.join("\n", lines));
  }

  @Test
  void oneDeviceCanBeChosenAndRowsAreLimited() throws IOException {
    twoDevices();
    String out = top("-d", "rxe0", "-r", "1").out();
    assertFalse(out.contains("mlx5_0"), out);
    assertTrue(out.contains("1 more queue pairs: --rows, --json"), out);
    assertTrue(top("-d", "rxe").out().contains("no RDMA device rxe in /sys/class/infiniband"));
  }

  @Test
  void jsonHasAllWordsOfTheKernel() throws IOException {
    twoDevices();
    String out = top("--json").out();
    assertTrue(out.contains("\"path-mig-state\": \"MIGRATED\""), out);
    assertTrue(out.contains("\"comm\": \"a b\""), out);
    assertTrue(out.contains("\"dst-addr\": \"10.9.0.2:7471\""), out);
    assertTrue(out.contains("\"received_bytes_per_second\": 0.0"), out);
    assertTrue(out.contains("\"received_bytes_per_second\": null"), out);
  }

  @Test
  void missingProgramIsReportedInsteadOfAnEmptyTable() throws IOException {
    twoDevices();
    Top.Resources missing = kind -> new RdmaResource(List.of(), "no program rdma");
    String out = top(missing).out();
    assertTrue(out.contains("\nqueue pairs not shown: no program rdma\n"), out);
    assertTrue(out.contains("\nconnections not shown: no program rdma\n"), out);
    assertTrue(top(missing, "--json").out().contains("\"queue_pairs\": null"));
  }

  @DeviceTest
  @Needs(KERNEL)
  void queuePairsOfThisProcessAreShown() {
    try (Context context = Rig.a().open()) {
      QueuePair pair =
          QueuePair.builder(context.allocateProtectionDomain(), QueuePairType.RC)
              .completions(context.createCompletionQueue(16))
              .create();
      Run run = Run.of("top", "-n", "1", "-r", "1000", "-d", Rig.a().name()).succeeded();
      String name = Rig.a().name();
      assertTrue(
          run.out()
              .lines()
              .anyMatch(
                  line -> line.matches(name + "/. +" + pair.number() + " +RC +RESET .* \\d+ .*")),
          run.out());
      assertTrue(
          run.out().lines().anyMatch(line -> line.matches(name + "/1 .* \\d+/s +\\d+/s")),
          run.out());
    }
  }
}
