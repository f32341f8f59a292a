package dev.verbena.programs;

import static dev.verbena.testing.Environment.BOOKWORM;
import static dev.verbena.testing.Need.ADDRESSES;
import static dev.verbena.testing.Need.PEERS;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.Gid;
import dev.verbena.address.Mtu;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import dev.verbena.testing.Run;
import dev.verbena.testing.Words;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** {@code pingpong}, against itself and against rdma-core's programs, polling and sleeping. */
@Once(
    value = BOOKWORM,
    reason = "the exchange with ibv_*_pingpong over TCP, the same in all versions")
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
                c::hasEnded,
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
      String c = Program.untilConnected(java, Words.of(program, options(here(), port, same), HOST));
      assertTrue(c.contains("50 iters in "), c);
      assertBounced(java.join());
    }
  }

  private static void assertBounced(Run run) {
    assertTrue(run.succeeded().out().contains("50 iters in "), run.out());
  }

  @DeviceTest
  @Needs(PEERS)
  void rcClientTalksToIbvRcPingpong() throws Exception {
    visitC("rc");
  }

  @DeviceTest
  @Needs(PEERS)
  void rcServerTalksToIbvRcPingpong() throws Exception {
    serveC("rc");
  }

  @DeviceTest
  @Needs(PEERS)
  void ucClientTalksToIbvUcPingpong() throws Exception {
    visitC("uc");
  }

  @DeviceTest
  @Needs(PEERS)
  void ucServerTalksToIbvUcPingpong() throws Exception {
    serveC("uc");
  }

  @DeviceTest
  @Needs(PEERS)
  void udClientTalksToIbvUdPingpong() throws Exception {
    visitC("ud");
  }

  @DeviceTest
  @Needs(PEERS)
  void udServerTalksToIbvUdPingpong() throws Exception {
    serveC("ud");
  }

  @DeviceTest
  @Needs(PEERS)
  void srqClientTalksToIbvSrqPingpong() throws Exception {
    visitC("srq", "-q", "4");
  }

  @DeviceTest
  @Needs(PEERS)
  void srqServerTalksToIbvSrqPingpong() throws Exception {
    serveC("srq", "-q", "4");
  }

  /** A message over UC is lost if one of its packets is late: it has one packet. */
  @DeviceTest
  @Needs(ADDRESSES)
  void everyServiceTalksToItself() throws InterruptedException {
    for (String service : List.of("--rc", "--uc", "--ud", "--srq")) {
      String port = Ports.free();
      boolean small = service.equals("--uc") || service.equals("--ud");
      String[] size = small ? new String[] {"-s", "1024"} : new String[0];
      CompletableFuture<Run> server =
          Run.inBackground(
              Words.of("pingpong", service, options(there(), port, Words.of(size, "-e"))));
      Run client =
          Run.untilConnected(
              server::isDone, Words.of("pingpong", service, options(here(), port, size), HOST));
      assertBounced(client);
      assertBounced(server.join());
      String bytes = (small ? 102400 : 409600) + " bytes in ";
      assertTrue(client.out().contains(bytes), client.out());
    }
  }

  @DeviceTest
  @Needs(ADDRESSES)
  void receivesArePostedAgain() throws InterruptedException {
    for (String service : List.of("--rc", "--srq")) {
      String port = Ports.free();
      String[] small = {"-r", "3", "-q", "2"};
      CompletableFuture<Run> server =
          Run.inBackground(Words.of("pingpong", service, options(there(), port, small)));
      assertBounced(
          Run.untilConnected(
              server::isDone, Words.of("pingpong", service, options(here(), port, small), HOST)));
      assertBounced(server.join());
    }
  }

  @Test
  void srqExchangeHasALineForEveryPossibleQueuePair() {
    QueuePairAddress address =
        QueuePairAddress.of(0x11, Gid.parse("::1")).withPsn(0xabcdef).withLid(1);
    byte[] bytes =
        new PingPongExchange(List.of(address, address), 256, Mtu.MTU_1024, Duration.ZERO).bytes();
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
