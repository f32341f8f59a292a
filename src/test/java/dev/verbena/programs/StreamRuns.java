package dev.verbena.programs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.testing.Await;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import dev.verbena.testing.Run;
import dev.verbena.testing.Words;
import java.net.InetAddress;
import java.util.concurrent.CompletableFuture;

/** Runs of rstream or riostream, in Java and in C, with a few transfers whose data is verified. */
record StreamRuns(String program, String port) {
  private static final String[] SMALL = {"-S", "5000", "-C", "20", "-I", "3", "-T", "v"};

  StreamRuns(String program) {
    this(program, Ports.free());
  }

  String[] server(InetAddress address, String... more) {
    return Words.of(program, "-b", address.getHostAddress(), "-p", port, Words.of(SMALL, more));
  }

  String[] client(InetAddress from, InetAddress to, String... more) {
    String[] way = {"-s", to.getHostAddress(), "-b", from.getHostAddress(), "-p", port};
    return Words.of(program, Words.of(way, Words.of(SMALL, more)));
  }

  /** The lines of the output without times, and without those about keepalive. */
  private static String shape(String output) {
    return output
        .replaceAll(" +[0-9.]+s +[0-9.]+ +[0-9.]+", " times")
        .replaceAll("Keepalive: .*\\n.*\\n", "")
        .strip();
  }

  private static void assertOutput(String output) {
    assertEquals(
        "name      bytes   xfers   iters   total       time     Gb/sec    usec/xfer\n"
            + "custom    4.8k    20      3       585k times",
        shape(output));
  }

  void javaTalksToC(String... ofJava) throws Exception {
    try (Program c = Program.start(server(Rig.addressB()))) {
      Run java =
          Run.untilConnected(c::hasEnded, client(Rig.addressA(), Rig.addressB(), ofJava))
              .succeeded();
      assertOutput(java.out());
      assertOutput(c.endsWell());
    }
  }

  void cTalksToJava(String... ofJava) throws Exception {
    CompletableFuture<Run> java = Run.inBackground(server(Rig.addressB(), ofJava));
    // The C program ends with 0 where it cannot connect.
    assertOutput(
        Await.attempt(
            "the server listens",
            () -> {
              boolean isLast = java.isDone();
              try (Program client = Program.start(client(Rig.addressA(), Rig.addressB()))) {
                int _ = client.exitStatus();
                return isLast || client.text().contains("custom") ? client.text() : null;
              }
            }));
    assertOutput(java.join().succeeded().out());
  }

  /** Returns the output of the client. */
  String javaTalksToItself(InetAddress from, InetAddress to, String[] ofServer, String... ofClient)
      throws Exception {
    CompletableFuture<Run> server = Run.inBackground(server(to, ofServer));
    Run client = Run.untilConnected(server::isDone, client(from, to, ofClient)).succeeded();
    assertOutput(client.out());
    assertOutput(server.join().succeeded().out());
    return client.out();
  }
}
