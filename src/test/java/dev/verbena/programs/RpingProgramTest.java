package dev.verbena.programs;

import static dev.verbena.testing.Environment.BOOKWORM;
import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.PEERS;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PortSpace;
import dev.verbena.cm.Transfers;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import dev.verbena.testing.Run;
import dev.verbena.testing.Words;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** {@code rping}, against itself and against rdma-core's. */
@Needs(CM)
@Once(value = BOOKWORM, reason = "the messages of rping, the same in all versions")
class RpingProgramTest {
  private static final Duration SOON = Await.LIMIT;

  private final String port = Ports.free();

  private String[] server(InetAddress address, String... more) {
    return Words.of("rping", "-s", "-a", address.getHostAddress(), "-p", port, more);
  }

  private String[] client(InetAddress from, InetAddress to, String... more) {
    String[] way = {"-a", to.getHostAddress(), "-I", from.getHostAddress(), "-p", port};
    return Words.of("rping", "-c", Words.of(way, more));
  }

  private static List<String> pings(String output) {
    return output.lines().filter(line -> line.contains("ping data: ")).toList();
  }

  @DeviceTest
  @Needs(PEERS)
  void clientTalksToRpingOfC() throws Exception {
    visitsC(Rig.addressA(), Rig.addressB());
  }

  @DeviceTest
  @Needs(PEERS)
  void clientTalksToRpingOfCOverIpv6() throws Exception {
    visitsC(Rig.address6A(), Rig.address6B());
  }

  private void visitsC(InetAddress here, InetAddress there) throws Exception {
    try (Program c = Program.start(server(there, "-v"))) {
      Run java =
          Run.untilConnected(c::hasEnded, client(here, there, "-C", "3", "-v", "-V")).succeeded();
      assertEquals(3, pings(java.out()).size(), java.out());
      assertEquals(
          pings(java.out()).stream().map(line -> "server " + line).toList(), pings(c.endsWell()));
    }
  }

  @DeviceTest
  @Needs(PEERS)
  void serverTalksToRpingOfC() throws Exception {
    servesC(Rig.addressA(), Rig.addressB());
  }

  @DeviceTest
  @Needs(PEERS)
  void serverTalksToRpingOfCOverIpv6() throws Exception {
    servesC(Rig.address6A(), Rig.address6B());
  }

  private void servesC(InetAddress here, InetAddress there) throws Exception {
    CompletableFuture<Run> java = Run.inBackground(server(there, "-v", "-S", "100"));
    String c =
        Program.untilConnected(java, client(here, there, "-C", "3", "-S", "100", "-v", "-V"));
    Run server = java.join().succeeded();
    assertEquals(3, pings(c).size(), c);
    assertEquals(pings(c).stream().map(line -> "server " + line).toList(), pings(server.out()));
    assertEquals("server DISCONNECT EVENT...", server.err().strip());
  }

  @DeviceTest
  @Needs(PEERS)
  void textIsThatOfC() throws Exception {
    CompletableFuture<Run> first = Run.inBackground(server(Rig.addressB(), "-v"));
    Program.untilConnected(first, client(Rig.addressA(), Rig.addressB(), "-C", "70"));
    CompletableFuture<Run> second = Run.inBackground(server(Rig.addressB(), "-v"));
    Run.untilConnected(second::isDone, client(Rig.addressA(), Rig.addressB(), "-C", "70"))
        .succeeded();
    assertEquals(first.join().succeeded().out(), second.join().succeeded().out());
  }

  @DeviceTest
  void servesManyClients() throws InterruptedException {
    AtomicReference<Run> server = new AtomicReference<>();
    Thread serving = new Thread(() -> server.set(Run.of(server(Rig.addressB(), "-P", "-v", "-d"))));
    serving.start();
    for (int i = 0; i < 2; i++) {
      Run.untilConnected(
              () -> !serving.isAlive(), client(Rig.addressA(), Rig.addressB(), "-C", "2", "-V"))
          .succeeded();
    }
    serving.interrupt();
    serving.join(30_000);
    assertFalse(serving.isAlive(), "an interrupt does not end the server");
    assertEquals(1, server.get().status());
    assertEquals(4, pings(server.get().out()).size(), server.get().out());
  }

  @DeviceTest
  void failedClientDoesNotAffectOthers() throws Exception {
    AtomicReference<Run> server = new AtomicReference<>();
    Thread serving = new Thread(() -> server.set(Run.of(server(Rig.addressB(), "-P", "-v"))));
    serving.start();
    Run.untilConnected(() -> !serving.isAlive(), client(Rig.addressA(), Rig.addressB(), "-C", "1"))
        .succeeded();
    try (Connection client = connect();
        Arena arena = Arena.ofShared()) {
      client.send(endless(client, arena));
      assertNull(client.receive(), "the server ends the connection");
    }
    for (int i = 0; i < 5; i++) {
      try (Connection client = connect();
          Arena arena = Arena.ofShared()) {
        client.send(endless(client, arena));
      }
    }
    Run.untilConnected(
            () -> !serving.isAlive(), client(Rig.addressA(), Rig.addressB(), "-C", "1", "-V"))
        .succeeded();
    serving.interrupt();
    serving.join(30_000);
    assertFalse(serving.isAlive(), "an interrupt does not end the server");
    List<String> lines =
        server.get().err().lines().takeWhile(line -> !line.endsWith(": interrupted")).toList();
    assertTrue(
        lines.contains("the client's ping of 64 bytes is not terminated by 0"), lines::toString);
    assertEquals(8, lines.size(), "one line for each client: " + lines);
  }

  private Connection connect() throws InterruptedException {
    return Connection.connect(
        new InetSocketAddress(Rig.addressB(), Integer.parseInt(port)),
        ConnectionSettings.DEFAULT
            .withMessageSize(RpingBuffer.SIZE)
            .withReceives(2)
            .withLocalAddress(new InetSocketAddress(Rig.addressA(), 0)));
  }

  /** The message of a client whose ping is a text without an end. */
  private static byte[] endless(Connection server, Arena arena) {
    return RpingBuffer.bytes(
        server
            .endpoint()
            .id()
            .domain()
            .registerMemory(
                arena.allocate(64).fill((byte) 'x'),
                AccessFlag.LOCAL_WRITE,
                AccessFlag.REMOTE_READ));
  }

  @DeviceTest
  void clientWithLargerPingsIsReported() throws InterruptedException {
    CompletableFuture<Run> server = Run.inBackground(server(Rig.addressB()));
    Run client =
        Run.untilConnected(server::isDone, client(Rig.addressA(), Rig.addressB(), "-S", "1000"));
    assertAll(
        () -> assertEquals(1, client.status(), client.out()),
        () -> assertEquals(1, server.join().status()),
        () -> assertTrue(server.join().err().contains("-S 1000"), server.join().err()));
  }

  @DeviceTest
  void receivedDataIsCompared() throws Exception {
    InetSocketAddress here = new InetSocketAddress(Rig.addressB(), Integer.parseInt(port));
    String[] once = client(Rig.addressA(), Rig.addressB(), "-C", "1");
    try (Listener listener = Listener.open(here)) {
      CompletableFuture<Run> comparing = Run.inBackground(Words.of(once, "-V"));
      answerWithOtherBytes(listener.take());
      assertEquals(1, comparing.join().status(), comparing.join().out());
      assertTrue(comparing.join().err().contains("data mismatch!"), comparing.join().err());
      CompletableFuture<Run> trusting = Run.inBackground(once);
      answerWithOtherBytes(listener.take());
      trusting.join().succeeded();
    }
  }

  /** A server of one ping, which writes back what differs in one byte. */
  private static void answerWithOtherBytes(Endpoint request) throws Exception {
    ConnectionSettings settings =
        ConnectionSettings.DEFAULT
            .withMessageSize(RpingBuffer.SIZE)
            .withReceives(2)
            .withTimeout(SOON);
    try (Arena arena = Arena.ofShared();
        Connection client = Connection.accept(request, settings)) {
      RemoteMemory source = RpingBuffer.of(client.receive());
      MemoryRegion data =
          client
              .endpoint()
              .id()
              .domain()
              .registerMemory(arena.allocate(source.length()), AccessFlag.LOCAL_WRITE);
      client.read(data, 0, source.length(), source, 0);
      client.send(new byte[RpingBuffer.SIZE]);
      data.memory().set(ValueLayout.JAVA_BYTE, 20, (byte) '!');
      client.write(data, 0, source.length(), RpingBuffer.of(client.receive()), 0);
      client.send(new byte[RpingBuffer.SIZE]);
      assertNull(client.receive(), "the client ends the connection");
    }
  }

  @DeviceTest
  void theClientMayLeaveEarly() throws Exception {
    CompletableFuture<Run> server = Run.inBackground(server(Rig.addressB(), "-v"));
    // The memory outlives the connection: the write that is seen may still be in progress.
    try (Arena arena = Arena.ofShared();
        Endpoint client = connectRaw()) {
      Transfers transfers = client.id().queues().transfers();
      MemoryRegion region =
          client
              .id()
              .domain()
              .registerMemory(
                  arena.allocate(64),
                  AccessFlag.LOCAL_WRITE,
                  AccessFlag.REMOTE_READ,
                  AccessFlag.REMOTE_WRITE);
      MemoryRegion messages = transfers.registerMessages(arena.allocate(2L * RpingBuffer.SIZE));
      MemorySegment.copy(
          MemorySegment.ofArray(RpingBuffer.bytes(region)),
          0,
          messages.memory(),
          0,
          RpingBuffer.SIZE);
      region.memory().setString(0, "rdma-ping-0: a");
      Completions completions = new Completions(1);
      // There is no receive for the second go-ahead, so that nothing acknowledges it.
      assertTrue(transfers.receive(0, messages, RpingBuffer.SIZE, RpingBuffer.SIZE));
      assertTrue(transfers.send(0, messages, 0, RpingBuffer.SIZE));
      assertEquals(1, transfers.awaitReceives(completions, SOON));
      region.memory().fill((byte) 0);
      assertTrue(transfers.send(0, messages, 0, RpingBuffer.SIZE));
      assertEquals(1, transfers.awaitSends(completions, SOON));
      // The server writes before it sends the second go-ahead.
      Await.until("a write", () -> region.memory().get(ValueLayout.JAVA_BYTE, 0) != 0);
    }
    Run served = server.join().succeeded();
    assertEquals(List.of("server ping data: rdma-ping-0: a"), pings(served.out()));
    assertEquals("server DISCONNECT EVENT...", served.err().strip());
  }

  /** Connects without posting receives, as soon as the server listens. */
  private Endpoint connectRaw() throws InterruptedException {
    InetSocketAddress here = new InetSocketAddress(Rig.addressA(), 0);
    InetSocketAddress there = new InetSocketAddress(Rig.addressB(), Integer.parseInt(port));
    while (true) {
      Endpoint endpoint = Endpoint.resolve(PortSpace.TCP, here, there, SOON);
      try {
        endpoint.id().queues().createQueuePair(QueuePairCapacity.of(4));
        endpoint.connect(ConnectionParameters.DEFAULT, new byte[0], SOON);
        return endpoint;
      } catch (ConnectionException e) { // The server does not listen yet.
        endpoint.close();
        assertTrue(e.getMessage().contains("no listener on the port"), e.getMessage());
      }
    }
  }

  @DeviceTest
  void missingListenerIsReportedInOneLine() {
    Run run = Run.of(client(Rig.addressA(), Rig.addressB()));
    assertAll(
        () -> assertEquals(1, run.status()),
        () -> assertEquals(1, run.err().lines().count(), run.err()),
        () -> assertTrue(run.err().contains("no listener on the port"), run.err()));
  }

  @Test
  void wrongUsageIsTwo() {
    for (String line :
        List.of(
            "",
            "-s -c",
            "-c",
            "-s -S 25",
            "-s -S 65536",
            "-s -C -1",
            "-s -a no:such:host",
            "-c -a ::1 -P",
            "-s -I ::1")) {
      Run run = Run.of(("rping " + line).strip().split(" "));
      assertEquals(2, run.status(), line + run.err());
    }
  }
}
