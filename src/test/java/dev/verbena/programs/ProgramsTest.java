package dev.verbena.programs;

import static dev.verbena.testing.Environment.FORKY;
import static dev.verbena.testing.Need.ADDRESSES;
import static dev.verbena.testing.Need.KERNEL;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.verbena.testing.Await;
import dev.verbena.testing.CutWire;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import dev.verbena.testing.Run;
import dev.verbena.testing.Words;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The programs on real devices, against each other and against rdma-core's. */
@Once(value = FORKY, reason = "options and output")
class ProgramsTest {
  private static final String HOST = "127.0.0.1";
  private static final String GID_INDEX = "1";

  private final String port = Ports.free();

  private static String here() {
    return Rig.a().name();
  }

  private static String there() {
    return Rig.b().name();
  }

  @DeviceTest
  @Needs(KERNEL)
  void doctorFindsNoProblem() {
    Run run = Run.of("doctor");
    assertEquals(0, run.status(), run.out());
    assertTrue(
        run.out().matches("(?s).*librdmacm of rdma-core \\d+\\.\\d+ is installed.*"), run.out());
  }

  @DeviceTest
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
    assertTrue(run.out().contains("woken by a completion event"), run.out());
  }

  @DeviceTest
  @Needs(KERNEL)
  void eventsAreShown() throws Exception {
    assumeTrue(Rig.labGuest().isPresent(), "only the lab's network may be changed");
    CompletableFuture<Run> watch = Run.inBackground("events", "-d", here(), "-n", "1", "-t", "60");
    String[] address = {"10.77.0.1/24", "dev", "va"};
    Run watched =
        Await.attempt(
            "the program has opened the device",
            () -> {
              ip("add", address);
              ip("del", address);
              return watch.getNow(null);
            });
    String out = watched.succeeded().out();
    assertTrue(out.contains("port 1 of " + here() + ": GID table change"), out);
  }

  private static void ip(String action, String... address) throws Exception {
    try (Program ip = Program.start(Words.of("ip", "addr", action, address))) {
      ip.endsWell();
    }
  }

  @DeviceTest
  void eventsEndsAfterItsTimeout() {
    Run run = Run.of("events", "-d", there(), "-t", "1");
    assertEquals(1, run.status());
    assertTrue(run.err().contains("no event within 1 s"), run.err());
  }

  @DeviceTest
  void batchSendsTheExampleOfTheManualPage() {
    Run run = Run.of("batch", "-d", here(), "--peer-dev", there()).succeeded();
    assertEquals(
        """
        posted: 2 requests
        completed: request 2
        immediate data received: 0x1234
        peer's memory: the first write
                       the second write
        """,
        run.out());
  }

  @Test
  void helpOfRcExampleNamesTheDefaultPort() {
    assertTrue(Run.of("rc-example", "--help").out().contains("19875"));
  }

  @DeviceTest
  @Needs(ADDRESSES)
  void rcExampleWritesTheManualsLines() throws InterruptedException {
    CompletableFuture<Run> server =
        Run.inBackground("rc-example", "-d", there(), "-g", GID_INDEX, "-p", port);
    Run client =
        Run.untilConnected(
            server::isDone, "rc-example", "-d", here(), "-g", GID_INDEX, "-p", port, HOST);
    assertAll(
        () -> assertEquals(expected("rc-example-client"), plain(client.out()), client.err()),
        () -> assertEquals(expected("rc-example-server"), plain(server.join().out())),
        () -> assertEquals(0, client.status()),
        () -> assertEquals(0, server.join().status()));
  }

  @DeviceTest
  @Needs(ADDRESSES)
  void rcExampleReportsTheFailedStep() throws Exception {
    Map<Integer, String> lines =
        Map.of(
            0,
            "failed to exchange connection data between sides",
            RcExchange.SIZE,
            "sync error after QPs were moved to RTS",
            RcExchange.SIZE + 1,
            "sync error before RDMA ops",
            RcExchange.SIZE + 2,
            "sync error after RDMA ops");
    for (Map.Entry<Integer, String> entry : lines.entrySet()) {
      String own = Ports.free();
      CompletableFuture<Run> server =
          Run.inBackground("rc-example", "-d", there(), "-g", GID_INDEX, "-p", own);
      try (CutWire wire = new CutWire(own, entry.getKey())) {
        Run client = Run.of("rc-example", "-d", here(), "-g", GID_INDEX, "-p", wire.port(), HOST);
        assertAll(
            () -> assertEquals(entry.getValue(), firstLine(client.err()), client.out()),
            () -> assertEquals(entry.getValue(), firstLine(server.join().err())),
            () -> assertTrue(client.out().endsWith("\n\ntest result is 1\n"), client.out()),
            () -> assertEquals(1, client.status()),
            () -> assertEquals(1, server.join().status()));
      }
    }
  }

  private static String firstLine(String text) {
    return text.lines().findFirst().orElse("");
  }

  @DeviceTest
  void rcExampleNamesAPortThatTheDeviceDoesNotHave() throws Exception {
    CompletableFuture<Run> server =
        Run.inBackground("rc-example", "-d", there(), "-g", GID_INDEX, "-p", port, "-i", "9");
    try (CutWire wire = new CutWire(port, 0)) {
      Run client = Run.of("rc-example", "-d", here(), "-i", "9", "-p", wire.port(), HOST);
      assertEquals("ibv_query_port on port 9 failed", firstLine(client.err()));
    }
    assertEquals("ibv_query_port on port 9 failed", firstLine(server.join().err()));
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
}
