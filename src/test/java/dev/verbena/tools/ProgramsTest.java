package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.io.TempDir;

/** The programs on real devices, against each other and against rdma-core's. */
class ProgramsTest {
  private static final String HOST = "127.0.0.1";
  private static final String GID_INDEX = "1";

  @TempDir private Path folder;

  private final String port = Ports.free();

  private static String here() {
    return Rig.a().name();
  }

  private static String there() {
    return Rig.b().name();
  }

  @DeviceTest
  void doctorFindsNoProblem() {
    Run run = Run.of("doctor");
    assertEquals(0, run.status(), run.out());
  }

  @DeviceTest
  @DisplayName("P-09 devinfo shows device, port and GIDs")
  void devinfoShowsAll() {
    Run text = Run.of("devinfo", "-d", here());
    Run json = Run.of("devinfo", "-d", here(), "--json");
    assertAll(
        () -> assertEquals(0, text.status(), text.err()),
        () -> assertTrue(text.out().contains("RoCE v2"), text.out()),
        () -> assertTrue(text.out().contains("max_qp_wr:"), text.out()),
        () -> assertTrue(json.out().contains("\"hca_id\": \"" + here() + "\""), json.out()));
  }

  @DeviceTest
  void demoEndsWell() {
    Run run = Run.of("demo", "-d", here(), "--peer-dev", there(), "-n", "20");
    assertEquals(0, run.status(), run.err());
    assertTrue(run.out().contains("It works."), run.out());
  }

  @DeviceTest
  @DisplayName("P-01, S2-X01: both ends, line for line")
  void rcExampleWritesTheManualsLines() throws InterruptedException {
    CompletableFuture<Run> server =
        Run.inBackground("rc-example", "-d", there(), "-g", GID_INDEX, "-p", port);
    Run client = Run.untilConnected("rc-example", "-d", here(), "-g", GID_INDEX, "-p", port, HOST);
    assertAll(
        () -> assertEquals(expected("rc-example-client"), plain(client.out()), client.err()),
        () -> assertEquals(expected("rc-example-server"), plain(server.join().out())),
        () -> assertEquals(0, client.status()),
        () -> assertEquals(0, server.join().status()));
  }

  /** Numbers that differ from run to run become letters. */
  private String plain(String out) {
    return out.replaceAll("addr=0x[0-9a-f]+", "addr=<p>")
        .replaceAll("(key|number|address) ?= ?0x[0-9a-f]+", "$1=<x>")
        .replaceAll("found \\d+ device", "found <n> device")
        .replaceAll("(GID =).*", "$1 <gid>")
        .replace(port, "<port>")
        .replace("\"" + here() + "\"", "\"<device>\"")
        .replace("\"" + there() + "\"", "\"<device>\"");
  }

  private static String expected(String name) {
    try (var in = ProgramsTest.class.getResourceAsStream(name + ".txt")) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  @DeviceTest
  void latencyOfEveryOperation() throws InterruptedException, IOException {
    for (String operation : List.of("send", "write", "read", "atomic")) {
      Path chart = folder.resolve(operation + ".svg");
      CompletableFuture<Run> server = Run.inBackground("perf", "lat", "-d", there(), "-p", port);
      Run client =
          Run.untilConnected(
              "perf",
              "lat",
              "-d",
              here(),
              "-p",
              port,
              "-o",
              operation,
              "-n",
              "30",
              "-w",
              "10",
              "--json",
              "--chart",
              chart.toString(),
              HOST);
      assertEquals(0, client.status(), client.err());
      assertEquals(0, server.join().status(), server.join().err());
      assertTrue(client.out().contains("\"count\": 30"), client.out());
      assertTrue(Files.readString(chart).contains("<polyline"));
    }
  }

  @DeviceTest
  void bandwidthOfEveryOperation() throws InterruptedException {
    for (String operation : List.of("send", "write", "read", "atomic")) {
      CompletableFuture<Run> server = Run.inBackground("perf", "bw", "-d", there(), "-p", port);
      Run client =
          Run.untilConnected(
              "perf", "bw", "-d", here(), "-p", port, "-o", operation, "-n", "64", "-w", "16", "-s",
              "4096", HOST);
      assertEquals(0, client.status(), client.err());
      assertEquals(0, server.join().status(), server.join().err());
      assertTrue(client.out().contains("MiB/s"), client.out());
    }
  }
}
