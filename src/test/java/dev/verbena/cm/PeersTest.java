package dev.verbena.cm;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.opentest4j.TestAbortedException;

/** Java against rdma-core's own programs, in both directions. */
class PeersTest {
  private static final Duration SOON = Duration.ofSeconds(20);

  /** A program of rdma-core's that runs, and must end well. */
  private record Program(String name, Process process, Path output) implements AutoCloseable {
    static Program start(String... command) throws IOException {
      Path output = Files.createTempFile("peer", ".log");
      try {
        Process process =
            new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        return new Program(String.join(" ", command), process, output);
      } catch (IOException e) {
        throw new TestAbortedException(command[0] + " is not installed", e);
      }
    }

    String endsWell() throws Exception {
      assertTrue(process.waitFor(30, TimeUnit.SECONDS), () -> name + " does not end: " + text());
      assertEquals(0, process.exitValue(), () -> name + ": " + text());
      return text();
    }

    private String text() {
      try {
        return Files.readString(output);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public void close() throws IOException {
      process.destroyForcibly();
      Files.delete(output);
    }
  }

  /** Connects as soon as the program listens. */
  private static Connection connect(InetAddress from, InetAddress to, int port, int size)
      throws Exception {
    ConnectionSettings settings =
        ConnectionSettings.DEFAULT
            .withMessages(size, 16)
            .from(new InetSocketAddress(from, 0))
            .within(SOON);
    for (int attempt = 0; ; attempt++) {
      try {
        return Connection.connect(new InetSocketAddress(to, port), settings);
      } catch (ConnectionException e) {
        boolean tooEarly =
            e.event().rejectReason().filter(r -> r == RejectReason.INVALID_SERVICE_ID).isPresent();
        if (!tooEarly || attempt == 40) {
          throw e;
        }
        Thread.sleep(250);
      }
    }
  }

  private static Connection accept(Listener listener, int size) throws Exception {
    Endpoint request = listener.poll(SOON);
    assertTrue(request != null, "the program did not connect");
    return Connection.accept(
        request, ConnectionSettings.DEFAULT.withMessages(size, 16).within(SOON));
  }

  private static String host(InetAddress address) {
    return address.getHostAddress();
  }

  /** rping's message: where a buffer is, in network order. */
  private static byte[] buffer(MemoryRegion region) {
    return ByteBuffer.allocate(16)
        .putLong(region.start())
        .putInt(region.rkey())
        .putInt((int) region.length())
        .array();
  }

  private static RemoteMemory buffer(byte[] message) {
    ByteBuffer buffer = ByteBuffer.wrap(message);
    long address = buffer.getLong();
    int rkey = buffer.getInt();
    return new RemoteMemory(address, buffer.getInt(), rkey);
  }

  @DeviceTest
  @DisplayName("rping -s serves a Java client")
  void clientOfRping() throws Exception {
    try (Program rping =
            Program.start(
                "rping", "-s", "-a", host(Rig.addressB()), "-p", "7481", "-C", "3", "-v");
        Arena arena = Arena.ofShared();
        Connection server = connect(Rig.addressA(), Rig.addressB(), 7481, 16)) {
      MemoryRegion source = exposed(server, arena);
      MemoryRegion sink = exposed(server, arena);
      for (int i = 0; i < 3; i++) {
        source.memory().setString(0, "rdma-ping-" + i + ": from Java");
        server.send(buffer(source));
        server.receive(SOON);
        server.send(buffer(sink));
        server.receive(SOON);
        assertEquals("rdma-ping-" + i + ": from Java", sink.memory().getString(0));
      }
      server.endpoint().close();
      assertTrue(rping.endsWell().contains("rdma-ping-2: from Java"), rping::text);
    }
  }

  @DeviceTest
  @DisplayName("rping -c is served by Java, over IPv4")
  void serverOfRping() throws Exception {
    servesRping(Rig.addressA(), Rig.addressB());
  }

  @DeviceTest
  @DisplayName("rping -c is served by Java, over IPv6")
  void serverOfRpingOverIpv6() throws Exception {
    servesRping(Rig.address6A(), Rig.address6B());
  }

  private static void servesRping(InetAddress a, InetAddress b) throws Exception {
    try (Listener listener = Listener.open(new InetSocketAddress(b, 0));
        Program rping =
            Program.start(
                "rping",
                "-c",
                "-a",
                host(b),
                "-I",
                host(a),
                "-p",
                "" + listener.port(),
                "-C",
                "3",
                "-v",
                "-V");
        Arena arena = Arena.ofShared();
        Connection client = accept(listener, 16)) {
      MemoryRegion data = exposed(client, arena);
      for (int i = 0; i < 3; i++) {
        RemoteMemory source = buffer(client.receive(SOON));
        client.read(data, 0, source.length(), source, 0);
        assertTrue(data.memory().getString(0).startsWith("rdma-ping-" + i));
        client.send(new byte[16]);
        RemoteMemory sink = buffer(client.receive(SOON));
        client.write(data, 0, source.length(), sink, 0);
        client.send(new byte[16]);
      }
      assertNull(client.receive(SOON));
      client.endpoint().close();
      assertTrue(rping.endsWell().contains("rdma-ping-2"), rping::text);
    }
  }

  private static MemoryRegion exposed(Connection connection, Arena arena) {
    return connection
        .endpoint()
        .id()
        .domain()
        .registerMemory(
            arena.allocate(64),
            AccessFlag.LOCAL_WRITE,
            AccessFlag.REMOTE_READ,
            AccessFlag.REMOTE_WRITE);
  }

  @DeviceTest
  @DisplayName("ucmatose serves a Java client")
  void clientOfUcmatose() throws Exception {
    try (Program ucmatose =
            Program.start(
                "ucmatose", "-b", host(Rig.addressB()), "-p", "7482", "-C", "5", "-S", "100");
        Connection server = connect(Rig.addressA(), Rig.addressB(), 7482, 100)) {
      for (int i = 0; i < 5; i++) {
        assertEquals(100, server.receive(SOON).length);
      }
      for (int i = 0; i < 5; i++) {
        server.send(new byte[100]);
      }
      assertNull(server.receive(SOON), "the end of the connection was expected");
      assertTrue(ucmatose.endsWell().contains("data transfers complete"), ucmatose::text);
    }
  }

  @DeviceTest
  @DisplayName("ucmatose -s is served by Java")
  void serverOfUcmatose() throws Exception {
    try (Listener listener = Listener.open(new InetSocketAddress(Rig.addressB(), 0));
        Program ucmatose =
            Program.start(
                "ucmatose",
                "-s",
                host(Rig.addressB()),
                "-b",
                host(Rig.addressA()),
                "-p",
                "" + listener.port(),
                "-C",
                "5",
                "-S",
                "100");
        Connection client = accept(listener, 100)) {
      for (int i = 0; i < 5; i++) {
        client.send(new byte[100]);
      }
      for (int i = 0; i < 5; i++) {
        assertEquals(100, client.receive(SOON).length);
      }
      client.endpoint().close();
      assertTrue(ucmatose.endsWell().contains("data transfers complete"), ucmatose::text);
    }
  }

  @DeviceTest
  @DisplayName("rdma_server serves a Java client")
  void clientOfRdmaServer() throws Exception {
    try (Program rdmaServer =
            Program.start("rdma_server", "-s", host(Rig.addressB()), "-p", "7483");
        Connection server = connect(Rig.addressA(), Rig.addressB(), 7483, 16)) {
      server.send("from Java".getBytes(UTF_8));
      assertEquals(16, server.receive(SOON).length);
      server.endpoint().close();
      rdmaServer.endsWell();
    }
  }

  @DeviceTest
  @DisplayName("rdma_client is served by Java")
  void serverOfRdmaClient() throws Exception {
    try (Listener listener = Listener.open(new InetSocketAddress(Rig.addressB(), 0));
        Program rdmaClient =
            Program.start("rdma_client", "-s", host(Rig.addressB()), "-p", "" + listener.port());
        Connection client = accept(listener, 16)) {
      assertEquals(16, client.receive(SOON).length);
      client.send(new byte[16]);
      rdmaClient.endsWell();
    }
  }

  @DeviceTest
  @DisplayName("a killed peer disconnects")
  void aKilledPeerDisconnects() throws Exception {
    try (Program rping =
            Program.start("rping", "-s", "-a", host(Rig.addressB()), "-p", "7484", "-C", "3");
        Connection server = connect(Rig.addressA(), Rig.addressB(), 7484, 16)) {
      assertEquals(List.of(), server.endpoint().end().stream().toList());
      rping.process().destroyForcibly().waitFor();
      assertNull(server.receive(SOON));
      assertEquals(EventType.DISCONNECTED, server.endpoint().end().orElseThrow().type());
    }
  }
}
