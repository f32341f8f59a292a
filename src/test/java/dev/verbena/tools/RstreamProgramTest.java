package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import java.net.InetAddress;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@code rstream}, against itself and against rdma-core's. */
class RstreamProgramTest {
  private static final String[] SMALL = {"-S", "5000", "-C", "20", "-I", "3", "-T", "v"};

  private final String port = Ports.free();

  private String[] server(InetAddress address, String... more) {
    return Words.of("rstream", "-b", address.getHostAddress(), "-p", port, Words.of(SMALL, more));
  }

  private String[] client(InetAddress from, InetAddress to, String... more) {
    String[] way = {"-s", to.getHostAddress(), "-b", from.getHostAddress(), "-p", port};
    return Words.of("rstream", Words.of(way, Words.of(SMALL, more)));
  }

  private static Run javaUntilConnected(String... args) throws InterruptedException {
    for (int attempt = 0; ; attempt++) {
      Run run = Run.of(args);
      if (attempt == 100 || !run.err().contains("refused")) {
        return run;
      }
      Thread.sleep(200);
    }
  }

  /** The lines of the output without times. */
  private static String shape(String output) {
    return output.replaceAll(" +[0-9.]+s +[0-9.]+ +[0-9.]+", " times").strip();
  }

  private static void assertOutput(String output) {
    assertEquals(
        "name      bytes   xfers   iters   total       time     Gb/sec    usec/xfer\n"
            + "custom    4.8k    20      3       585k times",
        shape(output));
  }

  @DeviceTest
  void clientTalksToRstreamOfC() throws Exception {
    try (Program c = Program.start(server(Rig.addressB()))) {
      Run java = javaUntilConnected(client(Rig.addressA(), Rig.addressB())).succeeded();
      assertOutput(java.out());
      assertOutput(c.endsWell());
    }
  }

  @DeviceTest
  void serverTalksToRstreamOfC() throws Exception {
    CompletableFuture<Run> java = Run.inBackground(server(Rig.addressB(), "-T", "a"));
    // rstream of C ends with 0 where it cannot connect.
    String c = "";
    for (int attempt = 0; attempt < 100 && !c.contains("custom"); attempt++) {
      try (Program client = Program.start(client(Rig.addressA(), Rig.addressB()))) {
        int _ = client.exitStatus();
        c = client.text();
      }
      Thread.sleep(200);
    }
    assertOutput(c);
    assertOutput(java.join().succeeded().out());
  }

  @DeviceTest
  void blockingClientTalksToItself() throws Exception {
    CompletableFuture<Run> server = Run.inBackground(server(Rig.addressB(), "-T", "b"));
    Run client = javaUntilConnected(client(Rig.addressA(), Rig.addressB(), "-T", "b")).succeeded();
    assertOutput(client.out());
    assertOutput(server.join().succeeded().out());
  }

  @Test
  @Tag("host")
  void talksOverTcp() throws Exception {
    InetAddress here = InetAddress.getLoopbackAddress();
    CompletableFuture<Run> server = Run.inBackground(server(here, "-T", "s"));
    Run client = javaUntilConnected(client(here, here, "-T", "s", "-T", "a")).succeeded();
    assertOutput(client.out());
    assertOutput(server.join().succeeded().out());
  }

  @Test
  @Tag("host")
  void argumentsAreChecked() {
    assertEquals(2, Run.of("rstream", "-S", "x").status());
    assertEquals(2, Run.of("rstream", "-C", "0").status());
    assertEquals(2, Run.of("rstream", "-T", "unknown").status());
    assertTrue(Run.of("rstream", "--help").out().contains("-b"));
  }
}
