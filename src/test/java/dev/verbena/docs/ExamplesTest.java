package dev.verbena.docs;

import static dev.verbena.testing.DeviceKind.EFA;
import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static dev.verbena.testing.Environment.SOFT;
import static dev.verbena.testing.Need.CM;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaException;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.attributes.Counter;
import dev.verbena.attributes.Statistics;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.Listener;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.On;
import dev.verbena.testing.Once;
import dev.verbena.testing.Rig;
import dev.verbena.verbs.Verbena;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** The programs of examples compile without a warning, and print what they should. */
@Once(value = SOFT, reason = "the examples compile and run")
class ExamplesTest {
  private static final Path EXAMPLES = Path.of("examples");

  /** These run in {@code FirstProgramsTest}. */
  private static final Set<String> IN_TWO_TERMINALS = Set.of("CmServer", "CmClient", "LostDevice");

  @TempDir private static Path classes;

  /** Compiled together: a compiler takes its time under emulation. */
  @BeforeAll
  static void compile() throws IOException {
    StringWriter messages = new StringWriter();
    PrintWriter out = new PrintWriter(messages);
    String library =
        location(Verbena.class) + File.pathSeparator + location(dev.verbena.raw.rdma_h.class);
    List<String> arguments =
        new ArrayList<>(
            List.of("-Xlint:all,-path", "-proc:none", "-d", classes.toString(), "-cp", library));
    sources().stream().map(Path::toString).forEach(arguments::add);
    int status =
        ToolProvider.findFirst("javac")
            .orElseThrow()
            .run(out, out, arguments.toArray(String[]::new));
    assertEquals("", messages.toString());
    assertEquals(0, status);
  }

  private static Path location(Class<?> type) {
    return Path.of(URI.create(type.getProtectionDomain().getCodeSource().getLocation().toString()));
  }

  private static List<Path> sources() throws IOException {
    try (Stream<Path> files = Files.list(EXAMPLES)) {
      return files.filter(file -> file.toString().endsWith(".java")).sorted().toList();
    }
  }

  @Test
  @Tag("host")
  void everyExampleIsListed() throws IOException {
    String page = Files.readString(EXAMPLES.resolve("README.md"));
    sources().stream()
        .map(source -> source.getFileName().toString())
        .forEach(name -> assertTrue(page.contains("](" + name + ")"), name));
  }

  /** With the value of VERBENA_SOFT and the arguments of its row, each says something and ends. */
  @TestFactory
  @Tag("host")
  Stream<DynamicTest> eachExampleRunsOnTheSoftwareDevicesOfItsRow() throws IOException {
    Pattern row =
        Pattern.compile("(?m)^\\| \\[(\\w+)].* \\| `([^`|]+)` \\|(?: `([^`|]+)`)?  ?\\|$");
    List<MatchResult> rows =
        row.matcher(Files.readString(EXAMPLES.resolve("README.md"))).results().toList();
    assertEquals(sources().size(), rows.size() + IN_TWO_TERMINALS.size());
    return rows.stream()
        .map(
            found ->
                DynamicTest.dynamicTest(
                    found.group(1),
                    () -> {
                      String argument = found.group(3);
                      String[] arguments =
                          argument == null ? new String[0] : new String[] {argument};
                      try (SoftNetwork network = SoftNetwork.of(found.group(2))) {
                        String said = network.call(() -> printed(found.group(1), arguments));
                        assertFalse(said.isBlank());
                      }
                    }));
  }

  /** Those that have no default for an argument. */
  @Test
  @Tag("host")
  void anExampleWithoutItsArgumentsPrintsItsUsage() throws Exception {
    List<String> names = new ArrayList<>();
    for (Path source : sources()) {
      String text = Files.readString(source);
      if (text.contains("args[") && !text.contains("args.length > 0")) {
        names.add(source.getFileName().toString().replace(".java", ""));
      }
    }
    assertTrue(names.containsAll(IN_TWO_TERMINALS), names::toString);
    for (String name : names) {
      String usage = printed(name);
      assertTrue(usage.matches("Usage: " + name + " .+\n"), usage);
    }
  }

  @DeviceTest
  void programsOfOneDevicePrintWhatArrived() throws Exception {
    assertEquals("written\n", printed("RcWrite"));
    assertEquals("sent\n", printed("SendReceiveEvents"));
    assertEquals("datagram\n", printed("UdDatagram"));
    assertEquals("40 plus 2\n42 was replaced by 7\n", printed("Atomics"));
    assertEquals("first, second\n", printed("SharedReceives"));
    assertEquals("through a window\n", printed("MemoryWindows"));
    assertEquals("RDMA_READ of the client\nread\n", printed("ExtendedQueue"));
  }

  @Test
  @Tag("host")
  void countersBecomeMetrics() throws Exception {
    Statistics counted =
        new Statistics(
            Map.of("other", 7L),
            List.of(
                new Statistics.OfPort(1, Map.of("link_downed", 42L), Map.of("link_downed", 3L))),
            Map.of("client_waits", 5L));
    URL[] path = {classes.toUri().toURL()};
    try (var loader = new URLClassLoader(path, ExamplesTest.class.getClassLoader())) {
      var text =
          loader
              .loadClass("Metrics")
              .getDeclaredMethod("text", String.class, Counter.class, Set.class);
      text.setAccessible(true);
      Set<String> described = new HashSet<>();
      StringBuilder printed = new StringBuilder();
      for (Counter counter : counted.counters()) {
        printed.append(text.invoke(null, "mlx5_0", counter, described));
      }
      assertEquals(
          """
          rdma_other_total{device="mlx5_0",source="hw_counters"} 7
          # HELP rdma_link_downed_total The link failed, and packets with it. (times)
          # TYPE rdma_link_downed_total counter
          rdma_link_downed_total{device="mlx5_0",port="1",source="counters"} 42
          rdma_link_downed_total{device="mlx5_0",port="1",source="hw_counters"} 3
          # HELP rdma_client_waits_total A call waited since the limit was reached: raise withSends of both ends. (times)
          # TYPE rdma_client_waits_total counter
          rdma_client_waits_total{device="mlx5_0",source="messages"} 5
          """,
          printed.toString());
    }
  }

  @DeviceTest
  @On({SOFTWARE, EFA})
  void aMessageOverSrdReturns() throws Exception {
    if (Rig.isSoftware()) {
      try (SoftNetwork network = SoftNetwork.of("2,profile=efa")) {
        assertEquals("ping\n", network.call(() -> printed("SrdPingPong")));
      }
    } else {
      assertEquals("ping\n", printed("SrdPingPong"));
    }
  }

  @DeviceTest
  @On({SOFTWARE, MLX5})
  void aMessageOverDcReturns() throws Exception {
    if (Rig.isSoftware()) {
      try (SoftNetwork network = SoftNetwork.of("2,profile=connectx5")) {
        assertEquals("ping\n", network.call(() -> printed("DcPingPong")));
      }
    } else {
      assertEquals("ping\n", printed("DcPingPong"));
    }
  }

  @DeviceTest
  void messagesInARingArriveInOrderAndComplete() throws Exception {
    long messages = Rig.isSoftware() ? 100_000 : 2_000;
    // Seven words of each message: 0, 8, ... 48 times its number.
    long sum = messages * (messages + 1) / 2 * (8 + 16 + 24 + 32 + 40 + 48);
    assertEquals(messages + " messages, sum " + sum + "\n", printed("OneSidedRing", "" + messages));
  }

  @DeviceTest
  @Needs(CM)
  void virtualThreadsServeTheirClients() throws Exception {
    String printed = null;
    while (printed == null) {
      try {
        printed = printed("VirtualThreads", Rig.addressB().getHostAddress());
      } catch (ExecutionException e) {
        if (!isTimeout(e.getCause())) {
          throw e;
        }
      }
    }
    assertEquals("6 bytes\n", printed);
  }

  @DeviceTest
  void manyQueuePairsShareTheirQueues() throws Exception {
    assertEquals("64 clients, sum 2016\n", printed("ManyQueuePairs"));
  }

  @DeviceTest
  @Needs(CM)
  void requestsAreAnswered() throws Exception {
    assertEquals(
        "ONE\nTHREE\nTWO\nFOUR\n", printed("RequestResponse", Rig.addressB().getHostAddress()));
    assertEquals(
        "1000 values are equal\n", printed("KeyValueCache", Rig.addressB().getHostAddress()));
  }

  @DeviceTest
  @Needs(CM)
  void messagesAreProcessedOnceOverSeveralConnections() throws Exception {
    assertEquals("sum 1275, reconnected\n", printed("Reconnect", Rig.addressB().getHostAddress()));
  }

  @DeviceTest
  @Needs(CM)
  void theClientWritesIntoTheMemoryOfTheServer() throws Exception {
    String address = Rig.addressB().getHostAddress();
    PrintStream before = System.out;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
    try {
      FutureTask<Void> server = start("CmServer", address);
      while (!hasVisited(address)) {
        if (server.isDone()) {
          server = start("CmServer", address);
        }
        Await.pass(Duration.ofMillis(100), "the server does not listen yet");
      }
      server.get();
    } finally {
      System.setOut(before);
    }
    assertEquals("from the client\n", printed.toString(StandardCharsets.UTF_8));
  }

  @Test
  @Tag("host")
  void aClientConnectsAgainOnADeviceThatWasLostAndCameBack() throws Exception {
    InetAddress client = InetAddress.getByName("192.0.2.1");
    InetAddress address = InetAddress.getByName("192.0.2.2");
    try (SoftNetwork network = SoftNetwork.create()) {
      var _ = network.addDevice("soft0", client);
      var _ = network.addDevice("soft1", address);
      try (Listener listener =
          network.call(() -> Listener.open(new InetSocketAddress(address, 7473)))) {
        CountDownLatch underWay = new CountDownLatch(100);
        Thread.ofPlatform().daemon().start(() -> serve(listener, underWay));
        FutureTask<String> printing =
            new FutureTask<>(
                () ->
                    network.call(
                        () -> printed("LostDevice", "client", address.getHostAddress(), "1000")));
        Thread.ofPlatform().start(printing);
        underWay.await();
        var _ = network.faults().loseDevice("soft0");
        var _ = network.addDevice("soft0", client);
        String printed = printing.get();
        assertTrue(printed.contains("after "), printed);
        assertTrue(printed.endsWith("1000 numbers\n"), printed);
      }
    }
  }

  /** Returns what the clients send, until the listener is closed. */
  private static void serve(Listener listener, CountDownLatch messages) {
    // The client's device sends nothing when it is lost.
    ConnectionSettings settings = ConnectionSettings.DEFAULT.withKeepAlive(Duration.ofMillis(200));
    while (true) {
      try (Connection connection = Connection.accept(listener, settings)) {
        for (byte[] message = connection.receive();
            message != null;
            message = connection.receive()) {
          connection.send(message);
          messages.countDown();
        }
      } catch (RdmaException e) {
        // The device of the client was lost; the client connects again.
      } catch (IllegalStateException | InterruptedException e) {
        return;
      }
    }
  }

  private static FutureTask<Void> start(String program, String... arguments) {
    var task =
        new FutureTask<Void>(
            () -> {
              run(program, arguments);
              return null;
            });
    Thread.ofPlatform().start(task);
    return task;
  }

  /**
   * Whether the client reached the server. It does not before the server listens, nor on a machine
   * that is too slow for the ten seconds in which the programs connect.
   */
  private static boolean hasVisited(String address) throws Exception {
    try {
      run("CmClient", address);
      return true;
    } catch (ConnectionException | RdmaTimeoutException e) {
      return false;
    }
  }

  /** Of the ten seconds in which the programs connect, on a machine that is too slow for them. */
  private static boolean isTimeout(Throwable thrown) {
    return thrown instanceof RdmaTimeoutException;
  }

  private static String printed(String program, String... arguments) throws Exception {
    PrintStream before = System.out;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
    try {
      run(program, arguments);
    } finally {
      System.setOut(before);
    }
    return printed.toString(StandardCharsets.UTF_8);
  }

  private static void run(String program, String... arguments) throws Exception {
    URL[] path = {classes.toUri().toURL()};
    try (var loader = new URLClassLoader(path, ExamplesTest.class.getClassLoader())) {
      var main = loader.loadClass(program).getMethod("main", String[].class);
      main.invoke(null, (Object) arguments);
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof Exception cause) {
        throw cause;
      }
      throw e;
    }
  }
}
