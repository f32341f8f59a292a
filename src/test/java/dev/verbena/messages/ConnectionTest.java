package dev.verbena.messages;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;
import static dev.verbena.testing.Background.inBackground;
import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static dev.verbena.testing.Need.ADDRESSES;
import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.DESCRIPTORS;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.EventType;
import dev.verbena.cm.Listener;
import dev.verbena.testing.Await;
import dev.verbena.testing.Descriptors;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.WorkRequestException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.function.Executable;

/** Connections that carry messages. */
@Needs(CM)
class ConnectionTest {
  private static final Duration SOON = Await.LIMIT;

  /** Both ends of a connection between the two devices. */
  record Pair(Listener listener, Connection client, Connection server) implements AutoCloseable {

    static Pair between(InetAddress a, InetAddress b) throws Exception {
      return between(a, b, ConnectionSettings.DEFAULT, ConnectionSettings.DEFAULT);
    }

    static Pair between(
        InetAddress a, InetAddress b, ConnectionSettings client, ConnectionSettings server)
        throws Exception {
      Listener listener = Listener.open(new InetSocketAddress(b, 0));
      FutureTask<Connection> accepting =
          inBackground(() -> Connection.accept(listener.poll(SOON), server.withTimeout(SOON)));
      try {
        Connection connection =
            Connection.connect(
                new InetSocketAddress(b, listener.port()),
                client.withTimeout(SOON).withLocalAddress(new InetSocketAddress(a, 0)));
        return new Pair(listener, connection, accepting.get());
      } catch (RuntimeException e) {
        listener.close();
        try {
          accepting.get();
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

  @DeviceTest
  void exchangesMessagesOverIpv4() throws Exception {
    exchangesMessages(Rig.addressA(), Rig.addressB());
  }

  @DeviceTest
  @Needs(ADDRESSES)
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
  @Needs(ADDRESSES)
  void wildcardServesBothFamilies() throws Exception {
    try (Listener listener = Listener.open(new InetSocketAddress("::", 0))) {
      for (InetAddress[] hosts :
          List.of(
              new InetAddress[] {Rig.address6A(), Rig.address6B()},
              new InetAddress[] {Rig.addressA(), Rig.addressB()},
              new InetAddress[] {Rig.address6B(), Rig.address6A()})) {
        FutureTask<Connection> accepting =
            inBackground(() -> Connection.accept(listener.poll(SOON), DEFAULT.withTimeout(SOON)));
        try (Connection client =
                Connection.connect(
                    new InetSocketAddress(hosts[1], listener.port()),
                    ConnectionSettings.DEFAULT
                        .withLocalAddress(new InetSocketAddress(hosts[0], 0))
                        .withTimeout(SOON));
            Connection server = accepting.get()) {
          client.send("hello".getBytes(UTF_8));
          assertEquals("hello", new String(server.receive(SOON), UTF_8));
        }
      }
    }
  }

  @DeviceTest
  void exchangesPrivateData() throws Exception {
    byte[] fromClient = "client's".getBytes(UTF_8);
    byte[] fromServer = "server's, and longer".getBytes(UTF_8);
    try (Pair pair =
        Pair.between(
            Rig.addressA(),
            Rig.addressB(),
            ConnectionSettings.DEFAULT.withPrivateData(fromClient),
            ConnectionSettings.DEFAULT.withPrivateData(fromServer))) {
      assertArrayEquals(fromClient, pair.server.privateData());
      assertArrayEquals(fromServer, pair.client.privateData());
    }
  }

  @DeviceTest
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
      Await.until("the data of the write", () -> memory.getString(16).equals("written from afar"));

      memory.setString(0, "read");
      pair.client.read(own, 40, 5, remote, 0);
      assertEquals("read", own.memory().getString(40));

      assertThrows(
          IndexOutOfBoundsException.class, () -> pair.client.write(own, 0, 32, remote, 33));
      exposed.close();
      var refused =
          assertThrows(WorkRequestException.class, () -> pair.client.write(own, 0, 32, remote, 16));
      assertEquals("written from afar", memory.getString(16));
      assertEquals(CompletionStatus.REM_ACCESS_ERR, refused.status());
      assertEquals(
          pair.client.endpoint().id().queuePair().orElseThrow().number(),
          refused.queuePairNumber());
      assertFalse(refused.isTransient());
      own.close();
    }
  }

  @DeviceTest
  void agreesOnAMessageSize() throws Exception {
    for (int[] sizes : new int[][] {{4096, 100}, {100, 4096}}) {
      try (Pair pair =
          Pair.between(
              Rig.addressA(),
              Rig.addressB(),
              ConnectionSettings.DEFAULT.withMessageSize(sizes[0]).withReceives(4),
              ConnectionSettings.DEFAULT.withMessageSize(sizes[1]).withReceives(4))) {
        assertEquals(100, pair.client.messageSize());
        assertEquals(100, pair.server.messageSize());
        pair.client.send(new byte[100]);
        assertEquals(100, pair.server.receive(SOON).length);
        var tooLong =
            assertThrows(IllegalArgumentException.class, () -> pair.client.send(new byte[101]));
        assertTrue(tooLong.getMessage().contains("101"), tooLong.getMessage());
      }
    }
  }

  /**
   * RDMA CM sets the RNR NAK timer to 655 ms, the longest: 7 attempts have 6 waits, 3.9 seconds.
   */
  @DeviceTest
  void sendToAPeerThatDoesNotReceiveFails() throws Exception {
    try (Pair pair = Pair.between(Rig.addressA(), Rig.addressB())) {
      FutureTask<Integer> sending =
          inBackground(
              () -> {
                for (int sent = 0; ; sent++) {
                  try {
                    pair.client.send(new byte[] {(byte) sent});
                  } catch (WorkRequestException e) {
                    assertEquals(CompletionStatus.RNR_RETRY_EXC_ERR, e.status());
                    assertTrue(e.isTransient());
                    return sent;
                  }
                }
              });
      assertEquals(16, sending.get());
      var broken = assertThrows(WorkRequestException.class, () -> pair.client.receive(SOON));
      assertTrue(broken.getMessage().contains("RNR"), "the first cause: " + broken.getMessage());
    }
  }

  @DeviceTest
  void sendEndsAfterItsTimeoutAndTheMessageArrives() throws Exception {
    ConnectionParameters patient = ConnectionParameters.DEFAULT.withRnrRetryCount(7);
    try (Pair pair =
        Pair.between(
            Rig.addressA(),
            Rig.addressB(),
            ConnectionSettings.DEFAULT.withParameters(patient),
            ConnectionSettings.DEFAULT
                .withParameters(patient)
                .withMessageSize(4096)
                .withReceives(2))) {
      for (int i = 0; i < 2; i++) {
        pair.client.send(new byte[] {(byte) i});
      }
      pair.client.setTimeout(Duration.ofMillis(300));
      var late = assertThrows(RdmaTimeoutException.class, () -> pair.client.send(new byte[] {2}));
      assertEquals(Duration.ofMillis(300), late.timeout());
      assertTrue(late.getMessage().contains("300 ms"), late.getMessage());
      assertThrows(RdmaTimeoutException.class, () -> pair.client.awaitPosted());
      for (int i = 0; i < 3; i++) {
        assertArrayEquals(new byte[] {(byte) i}, pair.server.receive(SOON));
      }
      pair.client.setTimeout(SOON);
      pair.client.awaitPosted();
    }
  }

  @DeviceTest
  void severalRequestsAreOutstanding() throws Exception {
    try (Pair pair =
            Pair.between(
                Rig.addressA(),
                Rig.addressB(),
                ConnectionSettings.DEFAULT.withSends(8),
                ConnectionSettings.DEFAULT.withMessageSize(4096).withReceives(8));
        Arena arena = Arena.ofShared()) {
      FutureTask<Integer> receiving =
          inBackground(
              () -> {
                for (int i = 0; i < 40; i++) {
                  assertEquals("message " + i, new String(pair.server.receive(SOON), UTF_8));
                }
                return 40;
              });
      for (int i = 0; i < 40; i++) {
        pair.client.postSend(("message " + i).getBytes(UTF_8));
      }
      pair.client.awaitPosted();
      assertEquals(40, receiving.get());

      MemoryRegion far = pair.server.transfers().registerWritable(arena.allocate(64));
      MemoryRegion near = pair.client.transfers().registerMessages(arena.allocate(64));
      near.memory().setString(0, "0123456789");
      RemoteMemory remote = RemoteMemory.of(far);
      for (int i = 0; i < 10; i++) {
        pair.client.postWrite(near, 9 - i, 1, remote, i);
      }
      pair.client.awaitPosted();
      Await.until("the data of the write", () -> far.memory().getString(0).equals("9876543210"));

      MemoryRegion readable = pair.server.transfers().registerReadable(arena.allocate(64));
      readable.memory().setString(0, "abcdefghij");
      for (int i = 0; i < 10; i++) {
        pair.client.postRead(near, 9 - i, 1, RemoteMemory.of(readable), i);
      }
      pair.client.awaitPosted();
      assertEquals("jihgfedcba", near.memory().getString(0));
    }
  }

  @DeviceTest
  void atomicsReturnThePreviousValue() throws Exception {
    try (Pair pair = Pair.between(Rig.addressA(), Rig.addressB());
        Arena arena = Arena.ofShared()) {
      MemorySegment memory = arena.allocate(32, Long.BYTES);
      MemoryRegion counters = pair.server.transfers().registerAtomic(memory);
      RemoteMemory remote = RemoteMemory.of(counters);
      memory.set(ValueLayout.JAVA_LONG, 8, 40);
      assertEquals(40, pair.client.fetchAndAdd(remote, 8, 2));
      assertEquals(42, pair.client.fetchAndAdd(remote, 8, -1));
      assertEquals(41, pair.client.compareAndSwap(remote, 8, 41, Long.MIN_VALUE));
      assertEquals(Long.MIN_VALUE, pair.client.compareAndSwap(remote, 8, 41, 5));
      assertEquals(Long.MIN_VALUE, memory.get(ValueLayout.JAVA_LONG, 8));
      assertThrows(IllegalArgumentException.class, () -> pair.client.fetchAndAdd(remote, 4, 1));
      assertThrows(IndexOutOfBoundsException.class, () -> pair.client.fetchAndAdd(remote, 32, 1));
    }
  }

  /** Both queues of an end share a completion channel, which the receiver reads first. */
  @DeviceTest
  void sendsWhileAnotherThreadReceives() throws Exception {
    try (Pair pair = Pair.between(Rig.addressA(), Rig.addressB())) {
      int messages = 200;
      FutureTask<Integer> echoing = inBackground(() -> echo(pair.server, messages));
      FutureTask<Integer> receiving =
          inBackground(
              () -> {
                int last = -1;
                for (int i = 0; i < messages; i++) {
                  last = pair.client.receive(SOON)[0] & 0xff;
                }
                return last;
              });
      for (int i = 0; i < messages; i++) {
        pair.client.send(new byte[] {(byte) i});
      }
      assertEquals(messages - 1, receiving.get());
      assertEquals(messages, echoing.get());
    }
  }

  private static int echo(Connection connection, int messages) throws InterruptedException {
    for (int i = 0; i < messages; i++) {
      connection.send(connection.receive(SOON));
    }
    return messages;
  }

  @DeviceTest
  @Needs(DESCRIPTORS)
  void eachEndTakesOneDescriptor() throws Exception {
    int pairs = 20;
    List<Connection> ends = new ArrayList<>();
    try (Pair first = Pair.between(Rig.addressA(), Rig.addressB())) {
      first.client.send(new byte[1]);
      assertEquals(1, first.server.receive(SOON).length);
      long before = Descriptors.count();
      for (int i = 0; i < pairs; i++) {
        FutureTask<Connection> accepting =
            inBackground(
                () -> Connection.accept(first.listener.poll(SOON), DEFAULT.withTimeout(SOON)));
        ends.add(
            Connection.connect(
                new InetSocketAddress(Rig.addressB(), first.listener.port()),
                DEFAULT
                    .withTimeout(SOON)
                    .withLocalAddress(new InetSocketAddress(Rig.addressA(), 0))));
        ends.add(accepting.get());
      }
      int channels = ends.size() / 32 + 1;
      long added = Descriptors.count() - before;
      assertTrue(
          added <= ends.size() + channels,
          () -> "%d descriptors for %d ends".formatted(added, ends.size()));
    } finally {
      ends.forEach(Connection::close);
    }
  }

  @DeviceTest
  void peerThatEndsWithoutClosingThrows() throws Exception {
    try (Pair pair = Pair.between(Rig.addressA(), Rig.addressB())) {
      pair.client.send("last words".getBytes(UTF_8));
      FutureTask<byte[]> receiving = inBackground(() -> pair.server.receive());
      assertEquals("last words", new String(receiving.get(), UTF_8));
      FutureTask<byte[]> waiting = inBackground(() -> pair.server.receive());
      // What the kernel does for a process that is killed.
      pair.client.endpoint().close();
      var lost = assertThrows(ExecutionException.class, waiting::get);
      assertInstanceOf(ConnectionException.class, lost.getCause());
      for (int i = 0; i < 40; i++) {
        var again = assertThrows(ConnectionException.class, () -> pair.server.receive(SOON));
        assertEquals(EventType.DISCONNECTED, again.event().type());
        assertTrue(again.getMessage().contains("without closing"), again.getMessage());
      }
    }
  }

  @DeviceTest
  void closeDeliversPostedMessages() throws Exception {
    try (Pair pair = Pair.between(Rig.addressA(), Rig.addressB())) {
      for (int i = 0; i < 10; i++) {
        pair.client.postSend(new byte[] {(byte) i});
      }
      pair.client.close();
      for (int i = 0; i < 10; i++) {
        assertArrayEquals(new byte[] {(byte) i}, pair.server.receive(SOON));
      }
      assertNull(pair.server.receive(SOON));
      assertNull(pair.server.receive(SOON));
    }
  }

  /** Neither end waits until RDMA CM repeats a message, after 4 s: not in the quickest round. */
  @DeviceTest
  void bothEndsClose() throws Exception {
    Duration quickest = Await.LIMIT;
    for (int round = 0; round < 10; round++) {
      Pair pair = Pair.between(Rig.addressA(), Rig.addressB());
      long start = System.nanoTime();
      FutureTask<Void> closing =
          inBackground(
              () -> {
                pair.client.close();
                return null;
              });
      pair.server.close();
      closing.get();
      Duration took = Duration.ofNanos(System.nanoTime() - start);
      quickest = took.compareTo(quickest) < 0 ? took : quickest;
      pair.close();
    }
    assertTrue(quickest.compareTo(Duration.ofSeconds(4)) < 0, quickest::toString);
  }

  @DeviceTest
  void theFirstCauseIsReported() throws Exception {
    try (Pair pair = Pair.between(Rig.addressA(), Rig.addressB());
        Arena arena = Arena.ofShared()) {
      MemoryRegion readOnly = pair.server.transfers().registerReadable(arena.allocate(8));
      MemoryRegion own = pair.client.transfers().registerMessages(arena.allocate(8));
      FutureTask<byte[]> receiving = inBackground(() -> pair.client.receive());
      assertThrows(
          WorkRequestException.class,
          () -> pair.client.write(own, 0, 8, RemoteMemory.of(readOnly), 0));
      var flushed = assertThrows(ExecutionException.class, receiving::get);
      assertTrue(flushed.getMessage().contains("remote access error"), flushed.getMessage());
      for (int i = 0; i < 40; i++) {
        for (Executable use :
            List.<Executable>of(
                () -> pair.client.receive(SOON),
                () -> pair.client.send(new byte[1]),
                () -> pair.client.awaitPosted())) {
          var broken = assertThrows(WorkRequestException.class, use);
          assertTrue(broken.getMessage().contains("remote access error"), broken.getMessage());
        }
      }
    }
  }

  @DeviceTest
  void theListenersDomainServesAllClients() throws Exception {
    try (Listener listener = Listener.open(new InetSocketAddress(Rig.addressB(), 0));
        Arena arena = Arena.ofShared()) {
      MemorySegment board = arena.allocate(16);
      MemoryRegion shared =
          listener.domain().registerMemory(board, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      for (int client = 0; client < 2; client++) {
        FutureTask<Connection> accepting =
            inBackground(() -> Connection.accept(listener.take(), DEFAULT.withTimeout(SOON)));
        try (Connection near =
                Connection.connect(
                    new InetSocketAddress(Rig.addressB(), listener.port()),
                    DEFAULT
                        .withTimeout(SOON)
                        .withLocalAddress(new InetSocketAddress(Rig.addressA(), 0)));
            Connection far = accepting.get()) {
          MemoryRegion own = near.transfers().registerMessages(arena.allocate(8));
          own.memory().set(ValueLayout.JAVA_LONG, 0, client + 1);
          near.write(own, 0, 8, RemoteMemory.of(shared), client * 8L);
          long value = client + 1L;
          Await.until(
              "the data of the write",
              () -> board.get(ValueLayout.JAVA_LONG, (value - 1) * 8) == value);
          // A region of the listener's domain can also be named in requests of its clients.
          far.send(shared.memory().asSlice(0, 8));
          assertEquals(8, near.receive(SOON).length);
        }
      }
    }
    try (Listener everywhere = Listener.open(new InetSocketAddress(0))) {
      assertThrows(IllegalStateException.class, everywhere::domain);
    }
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void loopbackAddressThrows() {
    InetSocketAddress loopback = new InetSocketAddress(InetAddress.getLoopbackAddress(), 7471);
    var listening = assertThrows(IllegalArgumentException.class, () -> Listener.open(loopback));
    assertTrue(listening.getMessage().contains("loopback"), listening.getMessage());
    var connecting = assertThrows(RuntimeException.class, () -> Connection.connect(loopback));
    assertTrue(connecting.getMessage().contains("loopback"), connecting.getMessage());
  }

  @DeviceTest
  void addressWithoutRouteThrows() {
    InetSocketAddress nowhere = new InetSocketAddress("203.0.113.9", 7471);
    var failed = assertThrows(RuntimeException.class, () -> Connection.connect(nowhere));
    assertTrue(failed.getMessage().contains("rdma link"), failed.getMessage());
  }

  @DeviceTest
  void endOfConnectionWakesTheReceiver() throws Exception {
    try (Pair pair = Pair.between(Rig.addressA(), Rig.addressB())) {
      FutureTask<byte[]> receiving = inBackground(() -> pair.server.receive());
      pair.client.send("last words".getBytes(UTF_8));
      assertEquals("last words", new String(receiving.get(), UTF_8));
      FutureTask<byte[]> waiting = inBackground(() -> pair.server.receive());
      pair.client.close();
      assertNull(waiting.get());
      assertNull(pair.server.receive(SOON), "the end is no longer known");
      // The mark comes before the event.
      Await.until("the event", () -> pair.server.endpoint().end().isPresent());
      assertEquals(EventType.DISCONNECTED, pair.server.endpoint().end().orElseThrow().type());
      var ended = assertThrows(ConnectionException.class, () -> pair.server.send(new byte[1]));
      assertEquals(EventType.DISCONNECTED, ended.event().type());
    }
  }

  @DeviceTest
  void closeEndsAllWaits() throws Exception {
    try (Pair pair = Pair.between(Rig.addressA(), Rig.addressB())) {
      var late =
          assertThrows(
              RdmaTimeoutException.class, () -> pair.server.receive(Duration.ofMillis(50)));
      assertTrue(late.isTransient());

      FutureTask<Void> task = new FutureTask<>(() -> assertInterrupted(pair.server), null);
      Thread interrupted = new Thread(task);
      interrupted.start();
      Await.waits(interrupted);
      interrupted.interrupt();
      task.get();

      FutureTask<byte[]> closing = new FutureTask<>(() -> pair.server.receive());
      Await.waits(Thread.startVirtualThread(closing));
      pair.server.close();
      var closed = assertThrows(ExecutionException.class, closing::get);
      assertInstanceOf(IllegalStateException.class, closed.getCause());
      assertThrows(IllegalStateException.class, () -> pair.server.send(new byte[1]));
      pair.server.close();
    }
  }

  @DeviceTest
  void closesWhileInterrupted() throws Exception {
    try (Pair pair = Pair.between(Rig.addressA(), Rig.addressB())) {
      FutureTask<byte[]> receiving = inBackground(() -> pair.server.receive());
      pair.client.send("the receiver is there".getBytes(UTF_8));
      receiving.get();
      FutureTask<byte[]> waiting = inBackground(() -> pair.server.receive());
      FutureTask<Boolean> closing =
          inBackground(
              () -> {
                Thread.currentThread().interrupt();
                pair.server.close();
                return Thread.interrupted();
              });
      assertTrue(closing.get(), "the interrupt was lost");
      var closed = assertThrows(ExecutionException.class, waiting::get);
      assertInstanceOf(IllegalStateException.class, closed.getCause());
    }
  }

  private static void assertInterrupted(Connection connection) {
    assertThrows(InterruptedException.class, connection::receive);
  }
}
