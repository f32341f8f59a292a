package dev.verbena.programs;

import static dev.verbena.testing.Environment.TRIXIE;
import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.KERNEL;
import static dev.verbena.testing.Need.PEERS;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.RdmaException;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.cm.Listener;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Netem;
import dev.verbena.testing.Once;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Program;
import dev.verbena.testing.RdmaResources;
import dev.verbena.testing.Rig;
import dev.verbena.testing.Run;
import dev.verbena.testing.Words;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/**
 * Connections, {@code rping} and {@code perf} over a network that loses, doubles, reorders and
 * delays packets, over one that goes down, and with peers that stop or are killed: whatever waits
 * ends, and nothing is left behind.
 */
@Needs({CM, PEERS, KERNEL})
@Once(
    value = TRIXIE,
    reason =
        "limits and retries of Java programs; the kernel repeats packets as the specification says")
class FaultyNetworkTest {
  private static final Duration SHORTLY = Duration.ofMillis(500);

  private Map<String, Integer> before;

  @BeforeEach
  void count() throws Exception {
    exchange(1); // Opens the devices, which librdmacm keeps open.
    before = RdmaResources.now();
  }

  /** The kernel may still be releasing what was closed last. */
  @AfterEach
  void nothingIsLeft() throws InterruptedException {
    RdmaResources.await(before::equals);
  }

  private static void run(String... command) throws Exception {
    try (Program program = Program.start(command)) {
      program.endsWell();
    }
  }

  // What is done over the network

  private static Connection connect(String port) throws InterruptedException {
    return Connection.connect(
        new InetSocketAddress(Rig.addressB(), Integer.parseInt(port)),
        ConnectionSettings.DEFAULT
            .withLocalAddress(new InetSocketAddress(Rig.addressA(), 0))
            .withTimeout(Await.LIMIT));
  }

  /** Sends messages there and back, which must arrive in order and as they were sent. */
  static void exchange(int messages) throws Exception {
    exchange(messages, Await.LIMIT);
  }

  /** The same; each message must arrive within a time. */
  static void exchange(int messages, Duration patience) throws Exception {
    try (Listener listener = Listener.open(new InetSocketAddress(Rig.addressB(), 0))) {
      CompletableFuture<Void> answered = new CompletableFuture<>();
      CompletableFuture<Void> echo =
          CompletableFuture.runAsync(
              () -> {
                try (Connection client =
                    Connection.accept(
                        listener.take(), ConnectionSettings.DEFAULT.withTimeout(Await.LIMIT))) {
                  client.setTimeout(patience);
                  for (int i = 0; i < messages; i++) {
                    client.send(client.receive(patience));
                  }
                  answered.complete(null);
                  client.receive(patience); // The end of the connection.
                } catch (InterruptedException e) {
                  throw new AssertionError(e);
                }
              },
              task -> Thread.ofPlatform().daemon().start(task));
      try (Connection server = connect("" + listener.port())) {
        server.setTimeout(patience);
        for (int i = 0; i < messages; i++) {
          byte[] message = ByteBuffer.allocate(1000).putInt(i).array();
          server.send(message);
          assertArrayEquals(message, server.receive(patience));
        }
        // An end that closes flushes what is not acknowledged yet.
        CompletableFuture.anyOf(answered, echo).get();
      }
      echo.get();
    }
  }

  private static String[] rpingServer(String port) {
    return Words.of("rping", "-s", "-a", digits(Rig.addressB()), "-p", port);
  }

  private static String[] rpingClient(String port, int pings) {
    String[] way = {"-c", "-V", "-C", "" + pings, "-I", digits(Rig.addressA()), "-p", port};
    return Words.of("rping", "-a", digits(Rig.addressB()), way);
  }

  private static String[] perfServer(String port) {
    return Words.of("perf", "lat", "--cm", "--from", digits(Rig.addressB()), "-p", port);
  }

  private static String[] perfClient(String port, int messages) {
    String[] way = {"--from", digits(Rig.addressA()), "-p", port, digits(Rig.addressB())};
    return Words.of("perf", "lat", "--cm", "-w", "1", "-n", "" + messages, way);
  }

  private static String digits(InetAddress address) {
    return address.getHostAddress();
  }

  static void ping(int pings) throws Exception {
    String port = Ports.free();
    runBoth(rpingServer(port), rpingClient(port, pings));
  }

  static void measure(int messages) throws Exception {
    String port = Ports.free();
    runBoth(perfServer(port), perfClient(port, messages));
  }

  /** A server whose client never came waits for another, until it is interrupted. */
  private static void runBoth(String[] server, String[] client) throws InterruptedException {
    AtomicReference<Run> served = new AtomicReference<>();
    Thread serving = Thread.ofPlatform().daemon().start(() -> served.set(Run.of(server)));
    Run run = Run.untilConnected(() -> !serving.isAlive(), client);
    if (run.status() != 0) {
      serving.interrupt();
    }
    serving.join();
    run.succeeded();
    served.get().succeeded();
  }

  // Faults of the network

  @DeviceTest
  void messagesArriveInOrder() throws Exception {
    List<String> faults =
        List.of("loss 5%", "duplicate 20%", "delay 5ms reorder 25% 50%", "delay 50ms");
    for (String fault : faults) {
      Netem.under(fault, () -> exchange(10));
    }
  }

  @DeviceTest
  void programsEndWell() throws Exception {
    Netem.under(
        "delay 50ms 20ms loss 5% duplicate 5%",
        () -> {
          ping(3);
          measure(10);
        });
  }

  // Faults of the peer

  @DeviceTest
  void perfWithoutAnswerEnds() {
    assertNotEquals(0, Run.of(perfClient(Ports.free(), 1)).status());
  }

  private static Program echo(String port) throws Exception {
    return Program.start(Program.java(EchoMain.class, digits(Rig.addressB()), port));
  }

  private static Program tool(String... command) throws Exception {
    return Program.start(Program.java(Run.programOf(command), command));
  }

  private static void signal(String signal, Program program) throws Exception {
    run("kill", "-" + signal, "" + program.process().pid());
  }

  /** A run of a client in a thread of its own, which can be interrupted. */
  private record Client(CompletableFuture<Run> run, Thread thread) {
    static Client start(Program server, String... client) {
      CompletableFuture<Run> run = new CompletableFuture<>();
      Thread thread =
          Thread.ofPlatform()
              .daemon()
              .start(
                  () -> {
                    try {
                      run.complete(Run.untilConnected(server::hasEnded, client));
                    } catch (InterruptedException | RuntimeException | Error e) {
                      run.completeExceptionally(e);
                    }
                  });
      return new Client(run, thread);
    }

    Run ended() throws Exception {
      return run.get();
    }
  }

  @DeviceTest
  void peersOfAKilledProgramGetAnError() throws Exception {
    String port = Ports.free();
    try (Program peer = echo(port)) {
      peer.says(EchoMain.READY);
      try (Connection server = connect(port)) {
        server.send(new byte[8]);
        server.receive(Await.LIMIT);
        peer.kill();
        assertThrows(RdmaException.class, () -> server.receive(Await.LIMIT));
        assertThrows(RdmaException.class, () -> server.send(new byte[8]));
      }
    }
    assertKilledServerIsNoticed(Program.start(rpingServer(port)), rpingClient(port, 0));
    assertKilledServerIsNoticed(tool(perfServer(port)), perfClient(port, 1_000_000));
  }

  /** Waits until both ends have a queue pair, and a little longer. */
  private void awaitConnected(CompletableFuture<Run> client) throws Exception {
    int connected = before.getOrDefault("qp", 0) + 2;
    RdmaResources.await(
        now -> {
          assertFalse(client.isDone(), () -> "ended early: " + client.join());
          return now.getOrDefault("qp", 0) >= connected;
        });
    Await.pass(SHORTLY, "the programs exchange messages");
  }

  private void assertKilledServerIsNoticed(Program server, String[] client) throws Exception {
    try (server) {
      Client running = Client.start(server, client);
      awaitConnected(running.run());
      server.kill();
      Run ended = running.ended();
      assertNotEquals(0, ended.status(), ended.out());
      assertEquals(1, withoutProgress(ended.err()).count(), ended.err());
    }
  }

  /**
   * The lines but for those of a run's progress, which a slow machine prints before the server is
   * killed.
   */
  private static Stream<String> withoutProgress(String err) {
    return err.lines().filter(line -> !line.matches(".*: \\d+ of \\d+ \\(\\d+ %\\)"));
  }

  @DeviceTest
  void waitsForAStoppedPeerEndAndContinue() throws Exception {
    String port = Ports.free();
    try (Program peer = echo(port)) {
      peer.says(EchoMain.READY);
      try (Connection server = connect(port)) {
        server.send(new byte[8]);
        server.receive(Await.LIMIT);
        signal("STOP", peer);
        server.setTimeout(SHORTLY);
        assertThrows(RdmaTimeoutException.class, () -> server.receive(SHORTLY));
        // The device takes messages as long as there are receives; then the sender waits.
        assertThrows(
            RdmaException.class,
            () -> {
              while (true) {
                server.send(new byte[8]);
              }
            });
        signal("CONT", peer);
      }
      // It finds the connection at its end, with an answer not sent.
      int _ = peer.exitStatus();
    }
  }

  @DeviceTest
  void programsWithAStoppedPeerEnd() throws Exception {
    String port = Ports.free();
    assertEndsThoughStopped(Program.start(rpingServer(port)), rpingClient(port, 0));
    assertEndsThoughStopped(tool(perfServer(port)), perfClient(port, 1_000_000));
  }

  private void assertEndsThoughStopped(Program server, String[] client) throws Exception {
    try (server) {
      Client running = Client.start(server, client);
      awaitConnected(running.run());
      signal("STOP", server);
      Await.pass(SHORTLY, "the client waits for the stopped server");
      running.thread().interrupt();
      Run ended = running.ended();
      assertNotEquals(0, ended.status(), ended.out());
    }
  }
}
