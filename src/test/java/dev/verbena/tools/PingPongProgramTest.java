package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import dev.verbena.verbs.Gid;
import dev.verbena.verbs.Mtu;
import dev.verbena.verbs.QueuePairAddress;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@code pingpong}, against itself and against rdma-core's programs, polling and sleeping. */
class PingPongProgramTest {
  private static final String HOST = "127.0.0.1";
  private static final String GID_INDEX = "1";
  private static final List<String[]> MODES = List.of(new String[0], new String[] {"-e"});

  /** What both ends are told. */
  private static String[] options(String device, String port, String... more) {
    return Words.of("-d", device, "-g", GID_INDEX, "-p", port, "-n", "50", more);
  }

  private static String here() {
    return Rig.a().name();
  }

  private static String there() {
    return Rig.b().name();
  }

  /** A client of a C program, polling and sleeping. */
  private static void visitC(String service, String... more) throws Exception {
    for (String[] mode : MODES) {
      String port = Ports.free();
      String[] same = Words.of(more, mode);
      String program = "ibv_" + service + "_pingpong";
      try (Program c = Program.start(Words.of(program, options(there(), port, same)))) {
        Run java =
            Run.untilConnected(
                Words.of("pingpong", "--" + service, options(here(), port, same), HOST));
        assertBounced(java);
        assertTrue(c.endsWell().contains("50 iters in "), c::text);
      }
    }
  }

  /** A server of a C program, polling and sleeping. */
  private static void serveC(String service, String... more) throws Exception {
    for (String[] mode : MODES) {
      String port = Ports.free();
      String[] same = Words.of(more, mode);
      CompletableFuture<Run> java =
          Run.inBackground(Words.of("pingpong", "--" + service, options(there(), port, same)));
      String program = "ibv_" + service + "_pingpong";
      String c = Program.untilConnected(Words.of(program, options(here(), port, same), HOST));
      assertTrue(c.contains("50 iters in "), c);
      assertBounced(java.join());
    }
  }

  private static void assertBounced(Run run) {
    assertTrue(run.succeeded().out().contains("50 iters in "), run.out());
  }

  @DeviceTest
  @Tag("P-16")
  @DisplayName("RC, client of ibv_rc_pingpong")
  void reliableClientOfC() throws Exception {
    visitC("rc");
  }

  @DeviceTest
  @Tag("P-16")
  @DisplayName("RC, server of ibv_rc_pingpong")
  void reliableServerOfC() throws Exception {
    serveC("rc");
  }

  @DeviceTest
  @Tag("P-14")
  @DisplayName("UC, client of ibv_uc_pingpong")
  void unreliableClientOfC() throws Exception {
    visitC("uc");
  }

  @DeviceTest
  @Tag("P-14")
  @DisplayName("UC, server of ibv_uc_pingpong")
  void unreliableServerOfC() throws Exception {
    serveC("uc");
  }

  @DeviceTest
  @DisplayName("UD, client of ibv_ud_pingpong")
  void datagramClientOfC() throws Exception {
    visitC("ud");
  }

  @DeviceTest
  @DisplayName("UD, server of ibv_ud_pingpong")
  void datagramServerOfC() throws Exception {
    serveC("ud");
  }

  @DeviceTest
  @DisplayName("SRQ, client of ibv_srq_pingpong")
  void sharedClientOfC() throws Exception {
    visitC("srq", "-q", "4");
  }

  @DeviceTest
  @DisplayName("SRQ, server of ibv_srq_pingpong")
  void sharedServerOfC() throws Exception {
    serveC("srq", "-q", "4");
  }

  @DeviceTest
  @DisplayName("every service against itself")
  void againstItself() throws InterruptedException {
    for (String service : List.of("--rc", "--uc", "--ud", "--srq")) {
      String port = Ports.free();
      CompletableFuture<Run> server =
          Run.inBackground(Words.of("pingpong", service, options(there(), port, "-e")));
      Run client = Run.untilConnected(Words.of("pingpong", service, options(here(), port), HOST));
      assertBounced(client);
      assertBounced(server.join());
      String bytes = (service.equals("--ud") ? 102400 : 409600) + " bytes in ";
      assertTrue(client.out().contains(bytes), client.out());
    }
  }

  @DeviceTest
  @DisplayName("more exchanges than receives are posted at a time")
  void receivesArePostedAgain() throws InterruptedException {
    for (String service : List.of("--rc", "--srq")) {
      String port = Ports.free();
      String[] small = {"-r", "3", "-q", "2"};
      CompletableFuture<Run> server =
          Run.inBackground(Words.of("pingpong", service, options(there(), port, small)));
      assertBounced(
          Run.untilConnected(Words.of("pingpong", service, options(here(), port, small), HOST)));
      assertBounced(server.join());
    }
  }

  @Test
  @DisplayName(
      "ibv_srq_pingpong's exchange has 256 lines, of which those without queue pair are zero")
  void theSharedExchangeHasALineForEveryPossibleQueuePair() {
    QueuePairAddress address =
        QueuePairAddress.of(0x11, Gid.parse("::1")).withPsn(0xabcdef).withLid(1);
    byte[] bytes = new PingPongExchange(List.of(address, address), 256, Mtu.MTU_1024).bytes();
    assertEquals(256 * PingPongAddress.SIZE, bytes.length);
    assertArrayEquals(
        PingPongAddress.bytes(address),
        Arrays.copyOfRange(bytes, PingPongAddress.SIZE, 2 * PingPongAddress.SIZE));
    assertArrayEquals(
        PingPongAddress.NOTHING,
        Arrays.copyOfRange(bytes, 255 * PingPongAddress.SIZE, bytes.length));
  }

  @Test
  void wrongUsageIsTwo() {
    assertAll(
        List.of(
                "--iters 0",
                "--size 0",
                "-r 1",
                "--srq -q 0",
                "--srq -q 256",
                "--srq -q 3 -r 2",
                "--rc --uc",
                "one two")
            .stream()
            .map(
                line ->
                    () -> assertEquals(2, Run.of(("pingpong " + line).split(" ")).status(), line)));
  }
}
