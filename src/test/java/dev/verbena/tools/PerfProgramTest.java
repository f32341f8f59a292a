package dev.verbena.tools;

import static dev.verbena.testing.Environment.BOOKWORM;
import static dev.verbena.testing.Need.CM;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Rig;
import dev.verbena.testing.Run;
import dev.verbena.testing.Words;
import dev.verbena.tools.PerfTask.Operation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code perf}, connected over TCP and by RDMA CM. */
@Once(value = BOOKWORM, reason = "options and output; the rates come from the same loops")
class PerfProgramTest {
  private static final List<String> OPERATIONS = List.of("send", "write", "read", "atomic");

  private static final Pattern BANDWIDTH =
      Pattern.compile("(.*): ([.0-9]+) MiB/s, ([0-9]+) messages/s");

  private static final Pattern LINE = Pattern.compile("<polyline [^>]*points=\"([^\"]*)\"");

  @TempDir private Path folder;

  private final String port = Ports.free();

  /** Runs both ends over TCP, and returns the client's run. */
  private Run overTcp(String measurement, String... task) throws InterruptedException {
    return overTcpWith(measurement, measurement, task);
  }

  private Run overTcpWith(String served, String measurement, String... task)
      throws InterruptedException {
    CompletableFuture<Run> server =
        Run.inBackground("perf", served, "-d", Rig.b().name(), "-p", port);
    Run client =
        Run.untilConnected(
            server::isDone,
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
            server::isDone,
            Words.of("perf", measurement, "-R", "--from", here, "-p", port, task, there));
    server.join().succeeded();
    return client.succeeded();
  }

  /** How many points the line of a chart has. */
  private static long points(Path chart) throws IOException {
    Matcher line = LINE.matcher(Files.readString(chart));
    assertTrue(line.find(), "no line");
    return line.group(1).chars().filter(c -> c == ',').count();
  }

  private static double number(String name, String json) {
    Matcher number = Pattern.compile('"' + Pattern.quote(name) + "\": ([-+.0-9E]+)").matcher(json);
    assertTrue(number.find(), json);
    return Double.parseDouble(number.group(1));
  }

  /** Of thirty, in nanoseconds: more than a microsecond, and less than the program's patience. */
  private static void assertLatency(String json, String operation) {
    assertTrue(json.contains("\"operation\": \"" + operation), json);
    assertEquals(30, number("count", json));
    double last = 100;
    for (String name : List.of("min", "p50.0", "p90.0", "p99.0", "max")) {
      assertTrue(number(name, json) >= last, name + " of " + json);
      last = number(name, json);
    }
    assertTrue(last < 10e9, json);
  }

  @DeviceTest
  void theClientChoosesWhatIsMeasured() throws InterruptedException {
    Run bandwidth = overTcpWith("lat", "bw", "-n", "64", "-w", "16");
    assertTrue(BANDWIDTH.matcher(bandwidth.out()).find(), bandwidth::out);
    Run latency = overTcpWith("bw", "lat", "-n", "10", "-w", "1");
    assertTrue(latency.out().startsWith("send, 64 B, 10 times:"), latency::out);
  }

  @DeviceTest
  void latencyOfEveryOperationIsMeasured() throws InterruptedException, IOException {
    for (String operation : OPERATIONS) {
      Path chart = folder.resolve(operation + ".svg");
      String[] task = {
        "-o", operation, "-n", "30", "-w", "10", "--json", "--chart", chart.toString()
      };
      assertLatency(overTcp("lat", task).out(), operation);
      assertTrue(points(chart) > 30, "a point for each percentile");
    }
  }

  @DeviceTest
  void latencyOfAWriteIsThatOfTheMemoryOrOfTheCompletion() throws InterruptedException {
    String memory = overTcp("lat", "-o", "write", "-n", "30", "-w", "300", "--sizes", "1:64").out();
    assertTrue(memory.contains("write"), memory);
    assertFalse(memory.contains("completion"), memory);
    String completion = overTcp("lat", "-o", "write", "-n", "30", "--completion").out();
    assertTrue(completion.startsWith("write, until the completion, 64 B, 30 times:"), completion);
  }

  @DeviceTest
  @Needs(CM)
  void latencyOverRdmaCmIsMeasured() throws InterruptedException {
    for (String operation : OPERATIONS) {
      assertLatency(
          overCm("lat", "-o", operation, "-n", "30", "-w", "10", "--json").out(), operation);
    }
    String memory = overCm("lat", "-o", "write", "-n", "30", "-w", "10", "--sizes", "1:64").out();
    assertFalse(memory.contains("completion"), memory);
  }

  @DeviceTest
  void bandwidthOfEveryOperationIsMeasured() throws InterruptedException {
    for (String operation : OPERATIONS) {
      String size = operation.equals("atomic") ? "8 B" : "4 KiB";
      Run run = overTcp("bw", "-o", operation, "-n", "60", "-w", "16", "-s", "4096");
      Matcher line = BANDWIDTH.matcher(run.out().strip());
      assertTrue(line.matches(), run.out());
      assertEquals(operation + ", " + size + ", 64 times", line.group(1), "whole batches of 16");
      double bytes = Double.parseDouble(line.group(3)) * (size.equals("8 B") ? 8 : 4096);
      assertEquals(bytes / (1 << 20), Double.parseDouble(line.group(2)), 0.1);
    }
  }

  @DeviceTest
  @Needs(CM)
  void bandwidthOverRdmaCmIsMeasured() throws InterruptedException, IOException {
    for (String operation : OPERATIONS) {
      Path chart = folder.resolve(operation + ".svg");
      String[] task = {
        "-o", operation, "-n", "640", "-w", "16", "-s", "4096", "--json", "--chart", "" + chart
      };
      String json = overCm("bw", task).out();
      double size = operation.equals("atomic") ? 8 : 4096;
      assertEquals(size, number("size", json));
      assertEquals(640, number("count", json));
      assertTrue(number("messages_per_second", json) > 1, json);
      double bytes = number("messages_per_second", json) * size;
      assertEquals(bytes, number("bytes_per_second", json), bytes / 1e6);
      assertTrue(points(chart) < 640, "at most a point for each batch");
    }
  }

  @DeviceTest
  void missingListenerIsReportedInOneLine() {
    for (String[] way :
        List.of(
            Words.of("-p", port, "127.0.0.1"),
            Words.of("-R", "-p", port, Rig.addressB().getHostAddress()))) {
      Run run = Run.of(Words.of("perf", "lat", way));
      assertEquals(1, run.status());
      assertEquals(1, run.err().lines().count(), run.err());
    }
  }

  @DeviceTest
  void serverWithAWrongDeviceFailsWithoutAClient() throws Exception {
    CompletableFuture<Run> server = Run.inBackground("perf", "lat", "-d", "wrong0", "-p", port);
    Run run = server.get();
    assertEquals(1, run.status());
    assertTrue(run.err().contains("wrong0") && run.err().contains(Rig.a().name()), run.err());
    assertEquals(1, run.err().lines().count(), run.err());
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
            "lat --completion",
            "lat -o read --completion localhost",
            "bw -o write --completion",
            "lat a b",
            "lat --rate 0 x",
            "lat --rate nan x",
            "lat --sizes 5 x",
            "lat --sizes 1:99999999999 x",
            "lat --sizes 1:64 -s 8 x",
            "lat --sizes 1:64 -o atomic x",
            "lat --json --csv x",
            "lat -n 0 x",
            "bw -s 0 x",
            "lat -s -1 x",
            "lat --both-ends x",
            "bw -q 0",
            "bw -q 65",
            "bw -q 2 --cm x")) {
      assertEquals(2, Run.of(("perf " + line).split(" ")).status(), line);
    }
  }

  @Test
  void taskHasTwentyFourBytes() {
    PerfTask task = new PerfTask(Operation.READ, 4096, 10, 20);
    PerfTask sweep =
        new PerfTask(
            Operation.SEND, 1000, 0, 1, new PerfPlan(2, 8, 64, true, true, true, false, 32));
    byte[] padded = Arrays.copyOf(task.bytes(), 56);
    assertAll(
        () -> assertEquals(24, task.bytes().length),
        () -> assertEquals(task, PerfTask.of(padded)),
        () -> assertEquals(sweep, PerfTask.of(sweep.bytes())),
        () -> assertEquals(List.of(2, 16, 128), sweep.sizes()),
        () -> assertThrows(IllegalArgumentException.class, () -> PerfTask.of(new byte[23])),
        () -> assertThrows(IllegalArgumentException.class, () -> PerfTask.of(new byte[24])));
  }
}
