package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import dev.verbena.tools.PerfTask.Operation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code perf}, connected over TCP and by RDMA CM. */
class PerfProgramTest {
  private static final List<String> OPERATIONS = List.of("send", "write", "read", "atomic");

  @TempDir private Path folder;

  private final String port = Ports.free();

  /** Runs both ends over TCP, and returns the client's run. */
  private Run overTcp(String measurement, String... task) throws InterruptedException {
    CompletableFuture<Run> server =
        Run.inBackground("perf", measurement, "-d", Rig.b().name(), "-p", port);
    Run client =
        Run.untilConnected(
            Words.of("perf", measurement, "-d", Rig.a().name(), "-p", port, task, "127.0.0.1"));
    server.join().succeeded();
    return client.succeeded();
  }

  /** Runs both ends by RDMA CM, and returns the client's run. */
  private Run overCm(String measurement, String... task) throws InterruptedException {
    String here = Rig.addressA().getHostAddress();
    String there = Rig.addressB().getHostAddress();
    CompletableFuture<Run> server =
        Run.inBackground("perf", measurement, "--cm", "--from", there, "-p", port);
    Run client =
        Run.untilConnected(
            Words.of("perf", measurement, "-R", "--from", here, "-p", port, task, there));
    server.join().succeeded();
    return client.succeeded();
  }

  @DeviceTest
  void latencyOfEveryOperation() throws InterruptedException, IOException {
    for (String operation : OPERATIONS) {
      Path chart = folder.resolve(operation + ".svg");
      String[] task = {
        "-o", operation, "-n", "30", "-w", "10", "--json", "--chart", chart.toString()
      };
      Run run = overTcp("lat", task);
      assertTrue(run.out().contains("\"count\": 30"), run.out());
      assertTrue(Files.readString(chart).contains("<polyline"));
    }
  }

  @DeviceTest
  @DisplayName("S2-C13: latency of every operation, connected by RDMA CM")
  void latencyByConnectionManager() throws InterruptedException {
    for (String operation : OPERATIONS) {
      Run run = overCm("lat", "-o", operation, "-n", "30", "-w", "10", "--json");
      assertTrue(run.out().contains("\"count\": 30"), run.out());
    }
  }

  @DeviceTest
  void bandwidthOfEveryOperation() throws InterruptedException {
    for (String operation : OPERATIONS) {
      Run run = overTcp("bw", "-o", operation, "-n", "64", "-w", "16", "-s", "4096");
      assertTrue(run.out().contains("MiB/s"), run.out());
    }
  }

  @DeviceTest
  @DisplayName("S2-C13: bandwidth of every operation, connected by RDMA CM")
  void bandwidthByConnectionManager() throws InterruptedException, IOException {
    for (String operation : OPERATIONS) {
      Path chart = folder.resolve(operation + ".svg");
      String[] task = {
        "-o", operation, "-n", "640", "-w", "16", "-s", "4096", "--json", "--chart", "" + chart
      };
      Run run = overCm("bw", task);
      assertTrue(run.out().contains("\"count\": 640"), run.out());
      assertTrue(Files.readString(chart).contains("<svg"));
    }
  }

  @DeviceTest
  void whereNobodyListensIsSaidInOneLine() {
    for (String[] way :
        List.of(
            Words.of("-p", port, "127.0.0.1"),
            Words.of("-R", "-p", port, Rig.addressB().getHostAddress()))) {
      Run run = Run.of(Words.of("perf", "lat", way));
      assertEquals(1, run.status());
      assertEquals(1, run.err().lines().count(), run.err());
    }
  }

  @Test
  void wrongUsageIsTwo() {
    for (String line :
        List.of(
            "lat --cm -d rxe0",
            "bw --cm -g 1",
            "bw --cm -i 2",
            "lat --from ::1",
            "bw -o jump",
            "lat a b")) {
      assertEquals(2, Run.of(("perf " + line).split(" ")).status(), line);
    }
  }

  @Test
  void theTaskTravelsInSixteenBytes() {
    PerfTask task = new PerfTask(Operation.READ, 4096, 10, 20);
    byte[] padded = Arrays.copyOf(task.bytes(), 56);
    assertAll(
        () -> assertEquals(16, task.bytes().length),
        () -> assertEquals(task, PerfTask.of(padded)),
        () -> assertThrows(IllegalArgumentException.class, () -> PerfTask.of(new byte[15])),
        () -> assertThrows(IllegalArgumentException.class, () -> PerfTask.of(new byte[16])));
  }
}
