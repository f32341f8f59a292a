package dev.verbena.programs;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.LoggedMessages;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Run;
import dev.verbena.testing.Words;
import dev.verbena.tools.command.Cli;
import java.util.List;
import java.util.logging.Level;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The programs with {@code --both-ends}: server and client in one JVM, on software devices. */
@Tag("host")
class BothEndsTest {
  private static final String GROUP = "239.1.2.3";

  /**
   * A run of both ends, which ends well, reports its kind of device, and creates no queue that the
   * library warns of.
   */
  private static Run run(String line, String... more) {
    Run run;
    try (LoggedMessages warnings =
        new LoggedMessages("dev.verbena", Level.WARNING, "completion queue ")) {
      run = Run.of(Words.of(line.split(" ", -1), "--both-ends", more)).succeeded();
      assertEquals(List.of(), warnings.all());
    }
    assertEquals(
        "Both ends run in this process, on software devices: the server on soft0, the client on"
            + " soft1.",
        run.err().lines().findFirst().orElseThrow());
    return run;
  }

  /** A run of both ends that meet on a TCP port. */
  private static Run runByTcp(String line) {
    return run(line, "-p", Ports.free());
  }

  private static void assertPrints(Run run, String... lines) {
    List<String> printed = run.out().lines().toList();
    assertAll(
        List.of(lines).stream()
            .map(line -> () -> assertTrue(printed.contains(line), line + " in " + run.out())));
  }

  @Test
  void rcExample() {
    assertPrints(
        runByTcp("rc-example"),
        "Message is: 'SEND operation      '",
        "Contents of server's buffer: 'RDMA read operation '",
        "server: Contents of server buffer: 'RDMA write operation'",
        "server: test result is 0",
        "test result is 0");
  }

  @ParameterizedTest
  @ValueSource(strings = {"--rc", "--uc", "--ud", "--srq", "--rc -e"})
  void pingpong(String service) {
    String out = runByTcp("pingpong -n 20 " + service).out();
    assertTrue(out.contains("\n20 iters in "), out);
    assertTrue(out.contains("\nserver: 20 iters in "), out);
  }

  @Test
  void pingpongOverXrc() {
    assertPrints(runByTcp("pingpong --xrc -n 20"), "success", "server: success");
  }

  @Test
  void rping() {
    List<String> pings =
        run("rping -v").out().lines().filter(line -> line.startsWith("ping data: ")).toList();
    assertEquals(10, pings.size());
    assertEquals(3, run("rping -v -V -C 3").out().split("\nping data: ", -1).length - 1);
  }

  @Test
  void mckey() {
    assertPrints(
        run("mckey -C 3 -m " + GROUP),
        "mckey: starting client",
        "server: mckey: starting server",
        "return status 0",
        "server: return status 0");
  }

  @Test
  void mc() {
    assertPrints(run("mc -c 3 -m " + GROUP), "sent message 3", "server: received message 3");
  }

  @Test
  void srq() {
    assertPrints(run("srq -c 4"), "recv count: 1", "server: send count: 1");
  }

  @ParameterizedTest
  @ValueSource(strings = {"send", "write", "read", "atomic"})
  void latency(String operation) {
    String out = runByTcp("perf lat -n 20 -w 0 -o " + operation).out();
    assertTrue(out.startsWith(operation), out);
  }

  @Test
  void bandwidthOverRdmaCm() {
    String out = run("perf bw --cm --json -n 20 -w 0").out();
    assertTrue(out.startsWith("{"), out);
  }

  @Test
  void latencyOfSeveralSizes() {
    List<String> lines =
        runByTcp("perf lat -n 20 -w 4 --sizes 1:4096:16 --csv").out().lines().toList();
    assertTrue(lines.getFirst().startsWith("operation,bytes,count,min_ns,p50_ns"), "" + lines);
    assertEquals(
        List.of("send,1,20", "send,16,20", "send,256,20", "send,4096,20"),
        lines.stream().skip(1).map(line -> line.replaceFirst("(,\\d+){7}$", "")).toList());
  }

  @Test
  void latencyAtAFixedRateIsOfRoundTrips() {
    String out = runByTcp("perf lat -n 20 -w 4 --rate 200 --json").out();
    assertTrue(out.contains("\"operation\": \"send, round trip\""), out);
  }

  @ParameterizedTest
  @ValueSource(strings = {"send", "write", "read", "atomic"})
  void bandwidthInBothDirections(String operation) {
    String out = runByTcp("perf bw -n 160 -w 16 -s 512 -b -q 3 -o " + operation).out();
    assertTrue(out.startsWith(operation + ", 3 queue pairs, both directions, "), out);
    assertTrue(out.contains(", 480 times: "), out);
  }

  @Test
  void bandwidthOfSeveralSizesByEvents() {
    List<String> lines =
        runByTcp("perf bw -n 64 -w 16 --sizes 64:1024:4 -e -b").out().lines().toList();
    assertEquals(
        List.of("send, both directions, MiB/s", "bytes count", "64 64", "256 64", "1024 64"),
        lines.stream()
            .map(line -> line.strip().replaceAll(" +", " "))
            .map(line -> line.replaceFirst("^(\\w+ \\w+) [^ ]+ [^ ]+$", "$1"))
            .toList());
  }

  @Test
  void fileOfTheChartIsOpenedBeforeTheMeasurement() {
    Run run =
        Run.of("perf", "lat", "--both-ends", "-p", Ports.free(), "--chart", "/nosuch/folder/x.svg");
    assertEquals(Cli.FAILED, run.status());
    assertTrue(run.err().contains("the chart cannot be written"), run.err());
    assertEquals("", run.out());
  }

  @Test
  void packets() {
    assertPrints(
        run("packets send --dmac 02:00:00:00:00:0a -n 20 --offload"),
        "20 packets, 1280 bytes; checksums by the device",
        "server: 20 packets, 1280 bytes; 20 with good checksums");
  }

  @Test
  void apmMigrates() {
    Run run = run("apm -c 20 -m 1 -w 20 -l 1000");
    assertPrints(
        run,
        "loading alt path - local port: 2, dgid: ::ffff:198.51.100.1",
        "recv: 19",
        "QP path migrated",
        "server: QP path migrated");
  }

  @Test
  void apmPausesBriefly() {
    assertPrints(run("apm -l 1000"), "msec_wait: 10", "server: msec_wait: 10", "recv: 99");
    assertPrints(run("apm -l 1000 -c 2 -w 3"), "msec_wait: 3", "server: msec_wait: 3");
  }

  @Test
  void traceOfBothEnds() {
    Run run = runByTcp("pingpong -n 1 --trace");
    assertTrue(run.err().contains("sent 192.0.2.2 > 192.0.2.1 RC_SEND_"), run.err());
  }

  @Test
  void profileOfBothEnds() {
    run("rping -C 1 -v --profile=siw", "-p", Ports.free());
    Run noCm = Run.of("rping", "--both-ends", "--profile", "efa", "-p", Ports.free());
    assertEquals(Cli.FAILED, noCm.status());
    assertTrue(noCm.err().contains("profile efa: RDMA CM does not use an EFA"), noCm.err());
    Run byHand = Run.of("pingpong", "--both-ends", "--profile", "siw", "-p", Ports.free());
    assertTrue(byHand.err().contains("connected by RDMA CM"), byHand.err());
    Run unknown = Run.of("pingpong", "--both-ends", "--profile", "cx4");
    assertEquals(2, unknown.status());
    assertTrue(unknown.err().contains("connectx5"), unknown.err());
    Run alone = Run.of("pingpong", "--profile", "siw");
    assertEquals(2, alone.status());
    assertTrue(alone.err().contains("--profile requires --both-ends"), alone.err());
  }

  @Test
  void failureOfTheServerEndsTheRun() {
    Run run = Run.of("perf", "lat", "--both-ends", "-i", "7", "-p", Ports.free());
    assertEquals(Cli.FAILED, run.status());
  }

  @Test
  void failureOfTheClientEndsTheServer() {
    Run run = Run.of("rping", "--both-ends", "-P");
    assertEquals(2, run.status());
    assertTrue(run.err().contains("-P is an option of the server"), run.err());
  }

  @Test
  void wrongUsageIsFoundByTheServer() {
    Run run = Run.of("rping", "--both-ends", "-S", "1");
    assertFalse(run.out().contains("ping data"), run.out());
    assertTrue(run.err().contains("server: "), run.err());
    assertTrue(run.err().contains("Invalid size 1"), run.err());
  }
}
