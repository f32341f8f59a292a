package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.testing.LoggedMessages;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Program;
import dev.verbena.testing.Run;
import dev.verbena.tools.command.DeviceOptions;
import dev.verbena.tools.qualify.Redaction;
import dev.verbena.tools.qualify.Report;
import dev.verbena.verbs.Device;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.logging.Level;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@code qualify}, on software devices. */
@Tag("host")
class QualifyTest extends QualifyFixture {
  private static final int EIO = 5;

  @Test
  void allCapabilitiesThatASoftwareDeviceAnnouncesWork() throws Exception {
    try (SoftNetwork network = network();
        LoggedMessages warnings = new LoggedMessages("dev.verbena", Level.WARNING, "")) {
      Run run = run(network).succeeded();
      assertTrue(run.out().contains("It stores:"), run.out());
      assertEquals(List.of(), warnings.all(), "of errors that trials cause");
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
    // The step of which the report was read, or a later one.
    Object running = report.get("running");
    assertTrue(List.of("conformance", "data path", "peer").contains(running), "" + running);
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
  void reportIsThereWhileItIsReplaced() throws Exception {
    Report report = new Report(report(), new Redaction(Map.of()), "", "", true);
    report.begin("first");
    CompletableFuture<Void> writing =
        CompletableFuture.runAsync(
            () -> {
              try {
                for (int i = 0; i < 500; i++) {
                  report.begin("step " + i);
                }
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            });
    while (!writing.isDone()) {
      assertTrue(Files.exists(report().resolve("report.json")));
    }
    writing.join();
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
