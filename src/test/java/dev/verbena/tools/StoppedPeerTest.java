package dev.verbena.tools;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.ConnectionException;
import dev.verbena.programs.PingPongAddress;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Run;
import dev.verbena.testing.Words;
import dev.verbena.tools.PerfTask.Operation;
import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.DeviceOptions;
import dev.verbena.tools.command.Link;
import dev.verbena.tools.command.Patience;
import dev.verbena.tools.command.Peer;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Programs whose peer is connected, but does nothing more: a stopped process, for example. */
@Tag("host")
class StoppedPeerTest {
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final InetAddress HERE = InetAddress.ofLiteral("10.77.0.1");
  private static final InetAddress THERE = InetAddress.ofLiteral("10.77.0.2");
  private static final PerfTask WRITES = new PerfTask(Operation.WRITE, 8, 0, 1);

  private final SoftNetwork network = SoftNetwork.create();

  private final Device device = network.addDevice("soft0", HERE);

  @BeforeEach
  void addAnotherDevice() {
    var _ = network.addDevice("soft1", THERE);
  }

  @AfterEach
  void close() {
    network.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"perf lat", "perf bw", "pingpong", "pingpong --srq", "pingpong --xrc"})
  void clientNamesWhatTheServerDidNotSend(String program) throws Exception {
    try (ServerSocket server = new ServerSocket(0)) {
      Run run = run(program, "-p", Integer.toString(server.getLocalPort()), "localhost");
      assertLacks("queue pair", run);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"perf lat", "perf bw", "pingpong", "pingpong --xrc"})
  void serverNamesWhatTheClientDidNotSend(String program) throws Exception {
    String port = Ports.free();
    FutureTask<Run> serving = new FutureTask<>(() -> run(program, "-p", port));
    Thread.ofPlatform().daemon().start(serving);
    try (Socket _ = connect(port)) {
      assertLacks(program.startsWith("perf") ? "what to measure" : "queue pair", serving.get());
    }
  }

  private Run run(String program, String... more) throws Exception {
    return network.call(() -> Run.of(Words.of(program.split(" "), "--timeout", "1", more)));
  }

  private static Socket connect(String port) throws IOException {
    while (true) {
      try {
        return new Socket("localhost", Integer.parseInt(port));
      } catch (IOException _) {
        Thread.onSpinWait();
      }
    }
  }

  private static void assertLacks(String what, Run run) {
    assertEquals(Cli.FAILED, run.status(), run.err());
    assertTrue(run.err().contains(" is connected but has not sent "), run.err());
    assertTrue(run.err().matches("(?s).*" + what + "s? within 1 s.*"), run.err());
  }

  /** A server that sends the address of a queue pair that there is not. */
  @ParameterizedTest
  @ValueSource(strings = {"pingpong --ud", "pingpong --ud -e"})
  void clientWithoutAnAnswerEnds(String program) throws Exception {
    try (ServerSocket server = new ServerSocket(0)) {
      String port = Integer.toString(server.getLocalPort());
      FutureTask<Run> client = new FutureTask<>(() -> run(program, "-p", port, "localhost"));
      Thread.ofPlatform().daemon().start(client);
      try (Socket peer = server.accept()) {
        byte[] line = peer.getInputStream().readNBytes(PingPongAddress.SIZE);
        System.arraycopy("000999".getBytes(US_ASCII), 0, line, "0000:".length(), 6);
        peer.getOutputStream().write(line);
        assertTrue(client.get().err().contains("no completion within 1 s"), client.get()::err);
      }
    }
  }

  @Test
  void clientThatStopsMeasuringIsNoticedOverTcp() throws Exception {
    String port = Ports.free();
    FutureTask<Run> serving = new FutureTask<>(() -> run("perf lat -d soft0", "-p", port));
    Thread.ofPlatform().daemon().start(serving);
    try (PerfEnd _ = network.call(() -> visit(port))) {
      assertStopped(serving.get().err());
    }
  }

  /** Connects once the peer listens. */
  private static PerfEnd visit(String port) throws IOException {
    while (true) {
      try {
        return PerfTcpEnd.visit(
            Peer.connect("localhost", Integer.parseInt(port), Patience.WITH_PEER),
            WRITES,
            new DeviceOptions(),
            Patience.WITH_PEER);
      } catch (IOException e) {
        if (!e.getMessage().contains("refused")) {
          throw e;
        }
      }
    }
  }

  @Test
  void clientThatStopsMeasuringIsNoticedOverRdmaCm() throws Exception {
    InetSocketAddress address = new InetSocketAddress(THERE, Integer.parseInt(Ports.free()));
    FutureTask<PerfEnd> serving = new FutureTask<>(() -> PerfCmEnd.serve(address, SECOND));
    network.call(() -> Thread.ofPlatform().daemon().start(serving));
    try (PerfEnd _ = network.call(() -> visit(new InetSocketAddress(HERE, 0), address));
        PerfEnd server = serving.get()) {
      var e = assertThrows(IllegalStateException.class, server::awaitLeave);
      assertStopped(e.getMessage());
    }
  }

  /** Connects once the peer listens. */
  private static PerfEnd visit(InetSocketAddress local, InetSocketAddress server)
      throws InterruptedException {
    while (true) {
      try {
        return PerfCmEnd.visit(local, server, WRITES, Patience.WITH_PEER);
      } catch (ConnectionException e) {
        if (!e.getMessage().contains("no listener")) {
          throw e;
        }
      }
    }
  }

  private static void assertStopped(String message) {
    assertTrue(
        message.contains(
            "within 1 s has neither completed an operation nor sent the end of its measurement"),
        message);
  }

  /** An end connected to itself, whose peer completes an operation before each look at it. */
  private static final class LookingEnd extends PerfEnd {
    private static final int LOOKS = 5;

    private int looks;

    LookingEnd(Device device, Duration timeout) {
      super(WRITES, new Link(device, bufferSize(WRITES), 1), timeout);
      link().queuePair().connect(link().address());
      knows(RemoteMemory.of(link().region()));
    }

    @Override
    boolean hasLeft(Duration time) {
      looks++;
      completed(looks);
      return looks == LOOKS;
    }

    @Override
    void leave() {}
  }

  @Test
  void clientThatIsStillMeasuringIsAwaited() throws Exception {
    try (LookingEnd end = new LookingEnd(device, Duration.ofNanos(1))) {
      end.link().setWaiting(Patience.WITH_PEER, false); // Of the reads that look at the peer.
      end.awaitLeave();
      assertEquals(LookingEnd.LOOKS, end.looks);
    }
  }

  @Test
  void serverThatDoesNotAnswerIsAwaitedForTheTimeout() throws Exception {
    try (LookingEnd end = new LookingEnd(device, SECOND)) {
      var message = assertThrows(IllegalStateException.class, () -> end.link().take(1));
      assertEquals("no completion within 1 s", message.getMessage());
      PolledWrites writes = new PolledWrites(end, WRITES.size());
      var write = assertThrows(IllegalStateException.class, () -> writes.await(0));
      assertEquals("the peer has not written message 0 within 1 s", write.getMessage());
    }
  }

  /** The number of completed operations is not where a message is. */
  @ParameterizedTest
  @ValueSource(ints = {1, 3, 8, 4097})
  void counterIsBehindTheMessages(int size) {
    long buffer = PerfEnd.bufferSize(new PerfTask(Operation.SEND, size, 0, 1));
    assertTrue(buffer >= 2L * size + Long.BYTES, "" + buffer);
    assertEquals(0, buffer % Long.BYTES);
  }

  @ParameterizedTest
  @ValueSource(strings = {"-i 7", "-g 99", "-d wrong0"})
  void serverRefusesAWrongDeviceBeforeItWaits(String option) throws Exception {
    for (String program : new String[] {"perf lat ", "perf bw "}) {
      Run run = run(program + option, "-p", Ports.free());
      assertEquals(Cli.FAILED, run.status());
      assertTrue(run.err().matches("(?s).*(no port 7|index 99 of 16|wrong0).*"), run.err());
    }
  }
}
