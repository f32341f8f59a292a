package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.testing.Program;
import dev.verbena.tools.output.JsonText;
import dev.verbena.tools.qualify.Redaction;
import dev.verbena.tools.qualify.Report;
import dev.verbena.tools.qualify.Validator;
import dev.verbena.verbs.Device;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code qualify}, on software devices. */
@Tag("host")
class QualifyTest {
  private static final int EIO = 5;
  private static final String NO_C = "not measured: C programs cannot use a software device";

  @TempDir private Path folder;

  private Path report() {
    return folder.resolve("report");
  }

  private Map<?, ?> read() throws IOException {
    String json = Files.readString(report().resolve("report.json"));
    assertEquals(List.of(), Validator.errors(json));
    return (Map<?, ?>) JsonText.parse(json);
  }

  private static List<?> rows(Map<?, ?> report, String name) {
    return (List<?>) report.get(name);
  }

  private static long count(List<?> rows, String name, Object value) {
    return rows.stream().filter(row -> value.equals(((Map<?, ?>) row).get(name))).count();
  }

  /** Runs on a device of a network of this test. */
  private Run run(SoftNetwork network, String... more) throws Exception {
    return network.call(
        () ->
            Run.of(Words.of("qualify", "--quick", "-d", "soft0", "--output", "" + report(), more)));
  }

  private static SoftNetwork network() throws IOException {
    SoftNetwork network = SoftNetwork.create();
    var _ = network.addDevice("soft0", InetAddress.getByName("10.9.8.7"));
    return network;
  }

  @Test
  void allCapabilitiesThatASoftwareDeviceAnnouncesWork() throws Exception {
    try (SoftNetwork network = network()) {
      Run run = run(network).succeeded();
      assertTrue(run.out().contains("It stores:"), run.out());
    }
    Map<?, ?> report = read();
    assertEquals(true, report.get("complete"));
    assertEquals("software device in process", report.get("kind"));
    assertEquals(List.of(), report.get("problems"));
    List<?> trials = rows(report, "conformance");
    assertEquals(0, count(trials, "finding", true), "" + trials);
    assertTrue(count(trials, "verdict", "works") > 30, "" + trials);
    assertEquals(5, rows(report, "data_path").size());
    assertEquals(
        List.of(
            "data path in C: C programs cannot use a software device",
            "direct data path: a software device has none",
            "peer: no --peer was given"),
        report.get("not_run"));
  }

  @Test
  void reportHasNoAddressAndNoName() throws Exception {
    try (SoftNetwork network = network()) {
      var _ = run(network).succeeded();
    }
    String host = Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
    for (String file : List.of("report.json", "report.md", "issue.txt")) {
      String text = Files.readString(report().resolve(file));
      for (String secret :
          List.of("10.9.8.7", "0a09:0807", folder.toString(), System.getProperty("user.dir"))) {
        assertFalse(text.contains(secret), file + " has " + secret);
      }
      for (String name : List.of(host, System.getProperty("user.name"))) {
        boolean isWord = text.matches("(?s).*(?<![\\w-])" + name + "(?![\\w-]).*");
        assertFalse(isWord && name.length() > 2 && !name.equals("root"), file + " has " + name);
      }
    }
  }

  @Test
  void callThatFailsIsALine() throws Exception {
    try (SoftNetwork network = network()) {
      var _ = network.faults().fail("ibv_create_srq", 1, EIO);
      var _ = run(network).succeeded();
    }
    List<?> trials = rows(read(), "conformance");
    assertEquals(1, count(trials, "finding", true), "" + trials);
    assertEquals(1, count(trials, "detail", "ibv_create_srq: errno 5"), "" + trials);
  }

  @Test
  void deviceThatDisappearsEndsTheTrials() throws Exception {
    try (SoftNetwork network = network()) {
      CompletableFuture<Run> running =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return run(network);
                } catch (Exception e) {
                  throw new AssertionError(e);
                }
              },
              task -> Thread.ofPlatform().daemon().start(task));
      Path json = report().resolve("report.json");
      Await.until("the first step", () -> Files.exists(json) || running.isDone());
      network.removeDevice("soft0");
      var _ = running.join().succeeded();
    }
    Map<?, ?> report = read();
    assertFalse(rows(report, "problems").isEmpty(), "the steps after it failed");
    assertEquals(true, report.get("complete"));
  }

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
    var _ =
        Run.of("qualify", "--both-ends", "--quick", "-p", Ports.free(), "--output", "" + report())
            .succeeded();
    List<?> rows = rows(read(), "peer");
    List<Object> bad = new ArrayList<>(rows);
    bad.removeIf(
        row ->
            List.of("measured", "no time left", "measured; the rate was not reached", NO_C)
                    .contains(((Map<?, ?>) row).get("result"))
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

  /** Waits until the report satisfies a condition, which it must before the program ends. */
  private void awaitReport(Predicate<String> condition, BooleanSupplier hasEnded) {
    Path json = report().resolve("report.json");
    Await.until(
        "the report",
        () -> {
          try {
            return hasEnded.getAsBoolean()
                || (Files.exists(json) && condition.test(Files.readString(json)));
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        });
    assertFalse(hasEnded.getAsBoolean(), "it ended before");
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

  @Test
  void interruptedRunLeavesAPartialReport() throws Exception {
    String[] command = {
      "qualify", "--both-ends", "--quick", "-p", Ports.free(), "--output", "" + report()
    };
    try (Program program = Program.start(Program.java(Main.class, command))) {
      awaitReport(
          text -> text.contains("\"verdict\": \"works\""), () -> !program.process().isAlive());
      program.process().destroy(); // SIGTERM; Ctrl-C sends SIGINT, and the JVM ends the same way.
      int _ = program.process().waitFor();
    }
    Map<?, ?> report = read();
    assertEquals(false, report.get("complete"));
    assertEquals("conformance", report.get("running"));
    assertFalse(rows(report, "conformance").isEmpty());
  }

  @Test
  void aFailureOfTheChildProcessIsInTheReport() throws Exception {
    try (SoftNetwork network = network()) {
      Device device = network.call(() -> Device.named("soft0")); // Which the child does not have.
      Report report = new Report(report(), new Redaction(Map.of()), "", "", true);
      IllegalStateException e =
          assertThrows(
              IllegalStateException.class,
              () -> DataPathChild.run(device, new DeviceOptions(), 10, report));
      assertTrue(e.getMessage().matches("(?s).*exit status 1: \\S.*"), e.getMessage());
    }
  }

  @Test
  void wrongUsage() throws IOException {
    assertEquals(2, Run.of("qualify", "--serve", "--peer", "x").status());
    Files.createDirectories(report());
    assertEquals(
        2,
        Run.of("qualify", "--both-ends", "-p", Ports.free(), "--output", "" + report()).status());
  }

  @Test
  void verificationNamesWhatIsWrong() throws IOException {
    Path file = folder.resolve("wrong.json");
    Files.writeString(
        file, "{\"format\": \"verbena-report\", \"version\": 2, \"kind\": \"10.1.2.3\"}");
    Run run = Run.of("qualify", "--verify", "" + file);
    assertEquals(1, run.status());
    assertTrue(run.out().contains("address or path at .kind: 10.1.2.3"), run.out());
    assertTrue(run.out().contains("conformance is missing"), run.out());
    Files.writeString(file, "{\"format\": ");
    assertTrue(Run.of("qualify", "--verify", "" + file).out().contains("not JSON"));
    Files.write(file, new byte[] {(byte) 0xff, 0});
    assertTrue(Run.of("qualify", "--verify", "" + file).err().contains("not text in UTF-8"));
    Files.delete(file);
    assertTrue(Run.of("qualify", "--verify", "" + file).err().contains("there is no file"));
    assertEquals(2, Run.of("qualify", "--both-ends", "--peer", "192.0.2.9").status());
  }
}
