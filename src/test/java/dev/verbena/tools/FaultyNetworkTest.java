package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.RdmaException;
import dev.verbena.VerbsException;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionSettings;
import dev.verbena.cm.Listener;
import dev.verbena.testing.AnyKernel;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Program;
import dev.verbena.testing.RdmaResources;
import dev.verbena.testing.Rig;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;

/**
 * Connections, {@code rping} and {@code perf} over a network that loses, doubles, reorders and
 * delays packets, over one that goes down, and with peers that stop or are killed: whatever waits
 * ends, and nothing is left behind.
 */
@AnyKernel
class FaultyNetworkTest {
  /** How long anything may take here before it hangs, on a machine that is slow. */
  private static final Duration PATIENCE = Duration.ofSeconds(90);

  private static final Duration SHORTLY = Duration.ofSeconds(2);
  private static final String NETDEV_B = "VERBENA_NETDEV_B";

  private Map<String, Integer> before;

  @BeforeEach
  void count() throws Exception {
    exchange(1); // Opens the devices, which librdmacm keeps open.
    before = RdmaResources.now();
  }

  /** The kernel may still be releasing what was closed last. */
  @AfterEach
  void nothingIsLeft() throws InterruptedException {
    long end = System.nanoTime() + PATIENCE.toNanos();
    Map<String, Integer> after = RdmaResources.now();
    while (!after.equals(before) && System.nanoTime() < end) {
      Thread.sleep(100);
      after = RdmaResources.now();
    }
    assertEquals(before, after);
  }

  private static void run(String... command) throws Exception {
    try (Program program = Program.start(command)) {
      program.endsWell();
    }
  }

  /** Does something while packets fare badly in both directions. */
  private static void under(String fault, Task task) throws Exception {
    String[] netdevs = {Rig.netdevA(), System.getenv(NETDEV_B)};
    try {
      for (String netdev : netdevs) {
        run(("tc qdisc add dev " + netdev + " root netem " + fault).split(" "));
      }
      task.run();
    } finally {
      for (String netdev : netdevs) {
        run("tc", "qdisc", "del", "dev", netdev, "root");
      }
    }
  }

  private interface Task {
    void run() throws Exception;
  }

  // What is done over the network

  private static Connection connect(String port) throws InterruptedException {
    return Connection.connect(
        new InetSocketAddress(Rig.addressB(), Integer.parseInt(port)),
        ConnectionSettings.DEFAULT.from(new InetSocketAddress(Rig.addressA(), 0)).within(PATIENCE));
  }

  /** Sends messages there and back, which must arrive in order and as they were sent. */
  private static void exchange(int messages) throws Exception {
    try (Listener listener = Listener.open(new InetSocketAddress(Rig.addressB(), 0))) {
      CompletableFuture<Void> echo =
          CompletableFuture.runAsync(
              () -> {
                try (Connection client =
                    Connection.accept(
                        listener.take(), ConnectionSettings.DEFAULT.within(PATIENCE))) {
                  for (int i = 0; i < messages; i++) {
                    client.send(client.receive(PATIENCE), PATIENCE);
                  }
                } catch (InterruptedException e) {
                  throw new AssertionError(e);
                }
              },
              task -> Thread.ofPlatform().daemon().start(task));
      try (Connection server = connect("" + listener.port())) {
        for (int i = 0; i < messages; i++) {
          byte[] message = ByteBuffer.allocate(1000).putInt(i).array();
          server.send(message, PATIENCE);
          assertArrayEquals(message, server.receive(PATIENCE));
        }
      }
      echo.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
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

  private static void ping(int pings) throws Exception {
    String port = Ports.free();
    runBoth(rpingServer(port), rpingClient(port, pings));
  }

  private static void measure(int messages) throws Exception {
    String port = Ports.free();
    runBoth(perfServer(port), perfClient(port, messages));
  }

  /** A server whose client never came waits for another, until it is interrupted. */
  private static void runBoth(String[] server, String[] client) throws InterruptedException {
    AtomicReference<Run> served = new AtomicReference<>();
    Thread serving = Thread.ofPlatform().daemon().start(() -> served.set(Run.of(server)));
    Run run = Run.untilConnected(client);
    if (run.status() != 0) {
      serving.interrupt();
    }
    assertTrue(serving.join(PATIENCE), () -> "does not end: " + String.join(" ", server));
    run.succeeded();
    served.get().succeeded();
  }

  // Faults of the network

  private static void everythingWorksUnder(String fault) throws Exception {
    under(
        fault,
        () -> {
          exchange(10);
          ping(3);
          measure(10);
        });
  }

  @DeviceTest
  @DisplayName("packets that get lost are sent again")
  void loss() throws Exception {
    everythingWorksUnder("loss 5%");
  }

  @DeviceTest
  @DisplayName("packets that arrive twice are taken once")
  void duplication() throws Exception {
    everythingWorksUnder("duplicate 20%");
  }

  @DeviceTest
  @DisplayName("packets that overtake others do not change the order of messages")
  void reordering() throws Exception {
    everythingWorksUnder("delay 5ms reorder 25% 50%");
  }

  @DeviceTest
  @DisplayName("packets that take 50 ms")
  void delay() throws Exception {
    everythingWorksUnder("delay 50ms");
  }

  @DeviceTest
  @DisplayName("a link that is down for two seconds: all end, well or with an error")
  void linkDown() throws Exception {
    List<Task> tasks = List.of(() -> exchange(2000), () -> ping(500), () -> measure(2000));
    List<CompletableFuture<String>> outcomes =
        tasks.stream().map(FaultyNetworkTest::outcome).toList();
    Thread.sleep(SHORTLY); // Some have begun, others connect later: all of that must end.
    run("ip", "link", "set", Rig.netdevA(), "down");
    try {
      Thread.sleep(SHORTLY);
    } finally {
      run("ip", "link", "set", Rig.netdevA(), "up");
      run("src/lab/devices", "wire");
    }
    for (CompletableFuture<String> outcome : outcomes) {
      System.out.println(
          "a link that was down: " + outcome.get(2 * PATIENCE.toSeconds(), TimeUnit.SECONDS));
    }
  }

  /** How something ended; an error is one of the network, not of the library. */
  private static CompletableFuture<String> outcome(Task task) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            task.run();
            return "done";
          } catch (RdmaException e) {
            return e.getMessage();
          } catch (ExecutionException e) {
            RdmaException ofServer = assertInstanceOf(RdmaException.class, e.getCause());
            return "the server: " + ofServer.getMessage();
          } catch (AssertionError e) {
            assertFalse(e.getMessage().contains("Exception"), e.getMessage());
            return e.getMessage().lines().reduce("", (first, next) -> next);
          } catch (Exception e) {
            throw new AssertionError(e);
          }
        },
        task2 -> Thread.ofPlatform().daemon().start(task2));
  }

  // Faults of the peer

  private static Program echo(String port) throws Exception {
    return Program.start(Program.java(EchoMain.class, digits(Rig.addressB()), port));
  }

  private static Program tool(String... command) throws Exception {
    return Program.start(Program.java(Main.class, command));
  }

  private static void signal(String signal, Program program) throws Exception {
    run("kill", "-" + signal, "" + program.process().pid());
  }

  /** Runs a client of a server that a signal hits meanwhile, and returns what became of it. */
  private static CompletableFuture<Run> client(String... client) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return Run.untilConnected(client);
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
        },
        task -> Thread.ofPlatform().daemon().start(task));
  }

  @DeviceTest
  @DisplayName("a peer that is killed: who waits for it gets an error")
  void killedPeer() throws Exception {
    String port = Ports.free();
    try (Program peer = echo(port)) {
      peer.says(EchoMain.READY);
      try (Connection server = connect(port)) {
        server.send(new byte[8], PATIENCE);
        server.receive(PATIENCE);
        peer.kill();
        assertThrows(RdmaException.class, () -> server.receive(PATIENCE));
        assertThrows(RdmaException.class, () -> server.send(new byte[8], PATIENCE));
      }
    }
    assertKilledServerIsNoticed(rpingServer(port), rpingClient(port, 0));
    assertKilledServerIsNoticed(perfServer(port), perfClient(port, 1_000_000));
  }

  /** Waits until both ends have a queue pair, and a little longer. */
  private void awaitConnected() throws InterruptedException {
    long end = System.nanoTime() + PATIENCE.toNanos();
    int connected = before.getOrDefault("qp", 0) + 2;
    while (RdmaResources.now().getOrDefault("qp", 0) < connected) {
      assertTrue(System.nanoTime() < end, "nothing connects");
      Thread.sleep(200);
    }
    Thread.sleep(SHORTLY);
  }

  private void assertKilledServerIsNoticed(String[] server, String[] client) throws Exception {
    try (Program peer = tool(server)) {
      CompletableFuture<Run> run = client(client);
      awaitConnected();
      peer.kill();
      Run ended = run.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
      assertNotEquals(0, ended.status(), ended.out());
      assertEquals(1, ended.err().lines().count(), ended.err());
    }
  }

  @DeviceTest
  @DisplayName("a peer that is stopped: each wait has an end of its own, and goes on after it")
  void stoppedPeer() throws Exception {
    String port = Ports.free();
    try (Program peer = echo(port)) {
      peer.says(EchoMain.READY);
      try (Connection server = connect(port)) {
        server.send(new byte[8], PATIENCE);
        server.receive(PATIENCE);
        signal("STOP", peer);
        var late = assertThrows(VerbsException.class, () -> server.receive(SHORTLY));
        assertEquals(Errno.ETIMEDOUT, late.errno());
        // The device takes messages as long as there are receives; then the sender waits.
        assertThrows(
            RdmaException.class,
            () -> {
              while (true) {
                server.send(new byte[8], SHORTLY);
              }
            });
        signal("CONT", peer);
      }
      // It finds the connection at its end, with an answer not sent.
      assertTrue(peer.process().waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS), peer::text);
    }
  }

  @DeviceTest
  @DisplayName("rping and perf whose peer is stopped end by their own patience or an interrupt")
  void programsWithStoppedPeer() throws Exception {
    String port = Ports.free();
    assertEndsThoughStopped(rpingServer(port), rpingClient(port, 0));
    assertEndsThoughStopped(perfServer(port), perfClient(port, 1_000_000));
  }

  private void assertEndsThoughStopped(String[] server, String[] client) throws Exception {
    try (Program peer = tool(server)) {
      AtomicReference<Run> run = new AtomicReference<>();
      Thread waiting =
          Thread.ofPlatform()
              .daemon()
              .start(
                  () -> {
                    try {
                      run.set(Run.untilConnected(client));
                    } catch (InterruptedException e) {
                      run.set(new Run(1, "", "interrupted between two attempts to connect"));
                    }
                  });
      awaitConnected();
      signal("STOP", peer);
      Thread.sleep(SHORTLY);
      waiting.interrupt();
      assertTrue(waiting.join(PATIENCE), () -> "does not end: " + String.join(" ", client));
      assertNotEquals(0, run.get().status(), run.get().out());
    }
  }
}
