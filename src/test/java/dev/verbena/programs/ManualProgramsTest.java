package dev.verbena.programs;

import static dev.verbena.testing.Environment.BOOKWORM;
import static dev.verbena.testing.Need.CM;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Rig;
import dev.verbena.testing.Run;
import dev.verbena.testing.Words;
import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.Failure;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** {@code srq} and {@code apm}, which have no counterpart in rdma-core. */
@Needs(CM)
@Once(value = BOOKWORM, reason = "options and output")
class ManualProgramsTest {
  private final String port = Ports.free();

  private String[] srq(String... more) {
    return Words.of("srq", "-a", Rig.addressB().getHostAddress(), "-p", port, more);
  }

  @DeviceTest
  void srqServesSrq() throws InterruptedException {
    String[] sizes = {"-c", "10", "-l", "5000", "-q", "3", "-w", "4"};
    CompletableFuture<Run> server = Run.inBackground(srq(Words.of("-s", sizes)));
    Run client = Run.untilConnected(server::isDone, srq(sizes)).succeeded();
    // Ten messages are batches of four, four and two, over three connections in turn.
    assertEquals(
        List.of(
            "send count: 1, qp_num: a",
            "send count: 2, qp_num: b",
            "send count: 3, qp_num: c",
            "send count: 4, qp_num: a",
            "recv count: 1",
            "send count: 5, qp_num: a",
            "send count: 6, qp_num: b",
            "send count: 7, qp_num: c",
            "send count: 8, qp_num: a",
            "recv count: 2",
            "send count: 9, qp_num: a",
            "send count: 10, qp_num: b",
            "recv count: 3"),
        named(client.out()));
    List<String> served = named(server.join().succeeded().out());
    assertEquals("waiting for connection from client...", served.getFirst());
    assertEquals(
        List.of("send count: 1", "send count: 2", "send count: 3"),
        served.stream().filter(line -> line.startsWith("send")).toList());
    assertEquals(
        IntStream.rangeClosed(1, 10).mapToObj(i -> "recv count: " + i + ",").toList(),
        served.stream()
            .filter(line -> line.startsWith("recv"))
            .map(line -> line.substring(0, line.indexOf(',') + 1))
            .toList());
    assertEquals(
        3,
        served.stream()
            .filter(line -> line.contains("qp_num: "))
            .map(this::letter)
            .distinct()
            .count());
  }

  private char letter(String line) {
    return line.charAt(line.length() - 1);
  }

  /** Numbers of queue pairs become letters, in the order in which they are named. */
  private static List<String> named(String out) {
    List<String> numbers =
        out.lines()
            .filter(line -> line.contains("qp_num: "))
            .map(line -> line.replaceAll(".*qp_num: ", ""))
            .distinct()
            .toList();
    return out.lines()
        .map(
            line -> {
              int at = line.indexOf("qp_num: ");
              return at < 0
                  ? line
                  : line.substring(0, at + 8)
                      + (char) ('a' + numbers.indexOf(line.substring(at + 8)));
            })
        .toList();
  }

  @DeviceTest
  void srqRunsWithTheDefaultsOfTheManual() throws InterruptedException {
    CompletableFuture<Run> server = Run.inBackground(srq("-s"));
    Run client = Run.untilConnected(server::isDone, srq()).succeeded();
    assertTrue(client.out().endsWith("recv count: 2\n"), client.out());
    assertTrue(server.join().succeeded().out().endsWith("send count: 2\n"));
  }

  @DeviceTest
  void srqDetectsTheEndOfTheClient() throws InterruptedException {
    CompletableFuture<Run> server = Run.inBackground(srq("-s", "-c", "5", "-w", "4"));
    Run client = Run.untilConnected(server::isDone, srq("-c", "4", "-w", "4"));
    assertAll(
        () -> assertEquals(1, server.join().status()),
        () -> assertTrue(server.join().err().contains("has disconnected"), server.join().err()),
        () -> assertEquals(0, client.status(), client.err()));
  }

  @DeviceTest
  void apmReportsMissingPathMigration() {
    String address = Rig.addressB().getHostAddress();
    Run client = Run.of("apm", "-a", address, "-w", "10", "-m", "3");
    Run server = Run.of("apm", "-s", "-p", port);
    assertAll(
        () -> assertEquals(Cli.UNSUPPORTED, client.status(), client.err()),
        () -> assertEquals(Cli.UNSUPPORTED, server.status(), server.err()),
        () ->
            assertEquals(
                """
                mode: client
                address: %s
                port: 51216
                count: 100
                length: 1000000
                alt_dlid: 0
                alt_port: 0
                mig_after: 3
                msec_wait: 10

                rdma_getaddrinfo
                rdma_create_ep
                """
                    .formatted(address),
                client.out()),
        () ->
            assertEquals(
                "device does not support auto path migration!",
                client.err().lines().findFirst().orElseThrow()),
        () ->
            assertEquals(
                "device does not support auto path migration!",
                server.err().lines().findFirst().orElseThrow()));
  }

  @Test
  void wrongUsageIsTwo() {
    assertAll(
        () -> assertWrong("server address required (use -a)!", "srq"),
        () -> assertWrong("server address required (use -a)!", "srq", "-s"),
        () -> assertWrong("-c, -l, -q and -w", "srq", "-a", "::1", "-q", "0"),
        () -> assertWrong("server address must be specified for client mode", "apm"),
        () -> assertWrong("-d and -r must be used together", "apm", "-s", "-d", "3"),
        () ->
            assertWrong(
                "num_iterations_then_migrate must be less than msg_count",
                "apm",
                "-s",
                "-m",
                "5",
                "-c",
                "4"));
  }

  private static void assertWrong(String line, String... args) {
    Run run = Run.of(args);
    assertEquals(2, run.status(), run.err());
    assertTrue(run.err().startsWith(line), run.err());
  }

  @Test
  void pauseOfThePeerIsAddedToThePatience() {
    assertEquals(Duration.ofSeconds(25), MigratingConnection.patience(1000, 15_000));
  }

  @Test
  void alternateLidIsSentInFourBytes() {
    byte[] data = AlternateAddress.ofLid(0xabcd).privateData();
    assertEquals(4, data.length);
    assertEquals(AlternateAddress.ofLid(0xabcd), AlternateAddress.of(data));
    Failure failure = assertThrows(Failure.class, () -> AlternateAddress.of(new byte[2]));
    assertEquals("unexpected private data len: 2", failure.getMessage());
  }
}
