package dev.verbena.cm;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;

/** Connections that carry messages. */
class ConnectionTest {
  private static final Duration SOON = Duration.ofSeconds(20);

  /** Both ends of a connection between the two devices. */
  private record Pair(Listener listener, Connection client, Connection server)
      implements AutoCloseable {

    static Pair between(InetAddress a, InetAddress b) throws Exception {
      return between(a, b, ConnectionSettings.DEFAULT, ConnectionSettings.DEFAULT);
    }

    static Pair between(
        InetAddress a, InetAddress b, ConnectionSettings client, ConnectionSettings server)
        throws Exception {
      Listener listener = Listener.open(new InetSocketAddress(b, 0));
      FutureTask<Connection> accepting =
          inBackground(() -> Connection.accept(listener.poll(SOON), server.within(SOON)));
      try {
        Connection connection =
            Connection.connect(
                new InetSocketAddress(b, listener.port()),
                client.within(SOON).from(new InetSocketAddress(a, 0)));
        return new Pair(listener, connection, accepting.get(20, TimeUnit.SECONDS));
      } catch (RuntimeException e) {
        listener.close();
        try {
          accepting.get(20, TimeUnit.SECONDS);
        } catch (ExecutionException other) {
          e.addSuppressed(other);
        }
        throw e;
      }
    }

    @Override
    public void close() {
      client.close();
      server.close();
      listener.close();
    }
  }

  static <T> FutureTask<T> inBackground(Callable<T> work) {
    FutureTask<T> task = new FutureTask<>(work);
    Thread.ofVirtual().start(task);
    return task;
  }

  @DeviceTest
  @DisplayName("S2-R01, S2-R11, S2-R12, S2-R16, S2-R17: messages both ways over IPv4")
  void exchangesMessagesOverIpv4() throws Exception {
    exchangesMessages(Rig.addressA(), Rig.addressB());
  }

  @DeviceTest
  @DisplayName("messages both ways over IPv6")
  void exchangesMessagesOverIpv6() throws Exception {
    exchangesMessages(Rig.address6A(), Rig.address6B());
  }

  private static void exchangesMessages(InetAddress a, InetAddress b) throws Exception {
    try (Pair pair = Pair.between(a, b)) {
      // More than there are buffers for, so that each is used again.
      for (int i = 0; i < 40; i++) {
        pair.client.send(("question " + i).getBytes(UTF_8));
        assertEquals("question " + i, new String(pair.server.receive(SOON), UTF_8));
        pair.server.send(("answer " + i).getBytes(UTF_8));
        assertEquals("answer " + i, new String(pair.client.receive(SOON), UTF_8));
      }
      pair.client.send(new byte[0]);
      assertArrayEquals(new byte[0], pair.server.receive(SOON));
      byte[] longest = new byte[pair.client.messageSize()];
      longest[longest.length - 1] = 7;
      pair.client.send(longest);
      MemorySegment target = MemorySegment.ofArray(new byte[longest.length]);
      assertEquals(longest.length, pair.server.receive(target, SOON));
      assertEquals(7, target.get(ValueLayout.JAVA_BYTE, longest.length - 1));
      var tooLong =
          assertThrows(
              IllegalArgumentException.class, () -> pair.client.send(new byte[longest.length + 1]));
      assertTrue(tooLong.getMessage().contains("4096"), tooLong.getMessage());
    }
  }

  @DeviceTest
  @DisplayName("S2-C09, S2-C14: a listener on :: serves both families, on every device")
  void wildcardServesBothFamilies() throws Exception {
    try (Listener listener = Listener.open(new InetSocketAddress("::", 0))) {
      for (Host[] hosts :
          List.of(
              new Host[] {Host.a6(), Host.b6()},
              new Host[] {Host.a4(), Host.b4()},
              new Host[] {Host.b6(), Host.a6()})) {
        FutureTask<Connection> accepting =
            inBackground(() -> Connection.accept(listener.poll(SOON), ConnectionSettings.DEFAULT));
        try (Connection client =
                Connection.connect(
                    hosts[1].at(listener.port()),
                    ConnectionSettings.DEFAULT.from(hosts[0].at(0)).within(SOON));
            Connection server = accepting.get(20, TimeUnit.SECONDS)) {
          client.send("hello".getBytes(UTF_8));
          assertEquals("hello", new String(server.receive(SOON), UTF_8));
        }
      }
    }
  }

  @DeviceTest
  @DisplayName("S2-C13, S2-C15, S2-C31: private data goes both ways")
  void exchangesPrivateData() throws Exception {
    byte[] fromClient = "client's".getBytes(UTF_8);
    byte[] fromServer = "server's, and longer".getBytes(UTF_8);
    try (Pair pair =
        Pair.between(
            Rig.addressA(),
            Rig.addressB(),
            ConnectionSettings.DEFAULT.withPrivateData(fromClient),
            ConnectionSettings.DEFAULT.withPrivateData(fromServer))) {
      RdmaCmTest.assertStartsWith(fromClient, pair.server.privateData());
      RdmaCmTest.assertStartsWith(fromServer, pair.client.privateData());
    }
  }

  @DeviceTest
  @DisplayName("S2-R04, S2-R13, S2-R14: reads and writes of the peer's memory")
  void readsAndWritesThePeersMemory() throws Exception {
    try (Pair pair = Pair.between(Rig.addressA(), Rig.addressB());
        Arena arena = Arena.ofShared()) {
      MemorySegment memory = arena.allocate(64);
      MemoryRegion exposed =
          pair.server
              .endpoint()
              .id()
              .domain()
              .registerMemory(
                  memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
      pair.server.send(RemoteMemory.of(exposed).toBytes());
      RemoteMemory remote = RemoteMemory.fromBytes(pair.client.receive(SOON));
      assertEquals(64, remote.length());

      MemoryRegion own = pair.client.transfers().registerMessages(arena.allocate(64));
      own.memory().setString(0, "written from afar");
      pair.client.write(own, 0, 32, remote, 16);
      assertEquals("written from afar", memory.getString(16));

      memory.setString(0, "read");
      pair.client.read(own, 40, 5, remote, 0);
      assertEquals("read", own.memory().getString(40));

      assertThrows(
          IndexOutOfBoundsException.class, () -> pair.client.write(own, 0, 32, remote, 33));
      exposed.close();
      var refused =
          assertThrows(VerbsException.class, () -> pair.client.write(own, 0, 32, remote, 16));
      assertEquals("written from afar", memory.getString(16));
      assertTrue(refused.getMessage().contains("REM"), refused.getMessage());
      own.close();
    }
  }

  @DeviceTest
  @DisplayName("S2-M11: the end of the connection ends what waits for the peer")
  void theEndWakesTheReceiver() throws Exception {
    try (Pair pair = Pair.between(Rig.addressA(), Rig.addressB())) {
      FutureTask<byte[]> receiving = inBackground(() -> pair.server.receive());
      pair.client.send("last words".getBytes(UTF_8));
      assertEquals("last words", new String(receiving.get(20, TimeUnit.SECONDS), UTF_8));
      FutureTask<byte[]> waiting = inBackground(() -> pair.server.receive());
      pair.client.close();
      assertNull(waiting.get(20, TimeUnit.SECONDS));
      assertNull(pair.server.receive(SOON), "the end is no longer known");
      assertEquals(EventType.DISCONNECTED, pair.server.endpoint().end().orElseThrow().type());
      var ended = assertThrows(ConnectionException.class, () -> pair.server.send(new byte[1]));
      assertEquals(EventType.DISCONNECTED, ended.event().type());
    }
  }

  @DeviceTest
  @DisplayName("closing, interrupting and the clock end a wait")
  void waitsEnd() throws Exception {
    try (Pair pair = Pair.between(Rig.addressA(), Rig.addressB())) {
      var late =
          assertThrows(VerbsException.class, () -> pair.server.receive(Duration.ofMillis(50)));
      assertEquals(Errno.ETIMEDOUT, late.errno());

      FutureTask<Void> task = new FutureTask<>(() -> assertInterrupted(pair.server), null);
      Thread interrupted = new Thread(task);
      interrupted.start();
      Thread.sleep(100);
      interrupted.interrupt();
      task.get(20, TimeUnit.SECONDS);

      FutureTask<byte[]> closing = inBackground(() -> pair.server.receive());
      Thread.sleep(100);
      pair.server.close();
      var closed = assertThrows(ExecutionException.class, () -> closing.get(20, TimeUnit.SECONDS));
      assertInstanceOf(IllegalStateException.class, closed.getCause());
      assertThrows(IllegalStateException.class, () -> pair.server.send(new byte[1]));
      pair.server.close();
    }
  }

  @DeviceTest
  @DisplayName(
      "closing by a thread that is interrupted waits for the receiver, as any closing does")
  void closesWhileInterrupted() throws Exception {
    try (Pair pair = Pair.between(Rig.addressA(), Rig.addressB())) {
      FutureTask<byte[]> receiving = inBackground(() -> pair.server.receive());
      pair.client.send("the receiver is there".getBytes(UTF_8));
      receiving.get(20, TimeUnit.SECONDS);
      FutureTask<byte[]> waiting = inBackground(() -> pair.server.receive());
      FutureTask<Boolean> closing =
          inBackground(
              () -> {
                Thread.currentThread().interrupt();
                pair.server.close();
                return Thread.interrupted();
              });
      assertTrue(closing.get(20, TimeUnit.SECONDS), "the interrupt was lost");
      var closed = assertThrows(ExecutionException.class, () -> waiting.get(20, TimeUnit.SECONDS));
      assertInstanceOf(IllegalStateException.class, closed.getCause());
    }
  }

  private static void assertInterrupted(Connection connection) {
    assertThrows(InterruptedException.class, connection::receive);
  }
}
