package dev.verbena.cm;

import static dev.verbena.testing.Need.CM;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;

/** librdmacm's synchronous mode: a client and a server from the addresses to the data. */
@Needs(CM)
class SynchronousTest {
  private static final Duration SOON = Await.LIMIT;
  private static final QueuePairCapacity CAPACITY =
      QueuePairCapacity.of(4).withSendSges(2).withReceiveSges(2).withMaxInlineData(16);
  private static final String PORT = "7474";

  private static AddressInfo passive() throws InterruptedException {
    return AddressQuery.of(Rig.addressB().getHostAddress(), PORT)
        .flag(AddressInfo.Flag.PASSIVE)
        .portSpace(PortSpace.TCP)
        .queuePairType(QueuePairType.RC)
        .resolve(SOON)
        .getFirst();
  }

  private static AddressInfo active() throws InterruptedException {
    return AddressQuery.of(Rig.addressB().getHostAddress(), PORT)
        .portSpace(PortSpace.TCP)
        .queuePairType(QueuePairType.RC)
        .source(new InetSocketAddress(Rig.addressA(), 0))
        .resolve(SOON)
        .getFirst();
  }

  /** C waits in it: so a thread of its own, which no virtual thread's carrier is. */
  private static <T> FutureTask<T> inThread(Callable<T> work) {
    FutureTask<T> task = new FutureTask<>(work);
    Thread.ofPlatform().daemon().start(task);
    return task;
  }

  private static void assertDone(Transfers transfers, long id) throws InterruptedException {
    Completions done = new Completions(1);
    assertEquals(1, transfers.awaitSends(done, SOON));
    assertTrue(done.isSuccess(0), () -> done.describe(0));
    assertEquals(id, done.id(0));
  }

  private static void assertReceived(Transfers transfers, long id) throws InterruptedException {
    Completions got = new Completions(1);
    assertEquals(1, transfers.awaitReceives(got, SOON));
    assertTrue(got.isSuccess(0), () -> got.describe(0));
    assertEquals(id, got.id(0));
  }

  @DeviceTest
  void clientAndServerExchangeData() throws Exception {
    try (Arena arena = Arena.ofShared();
        ConnectionId listener = SynchronousMode.createEndpoint(passive(), null, CAPACITY)) {
      listener.listen(1);
      FutureTask<String> serving = inThread(() -> serve(listener, arena));
      try (ConnectionId client = SynchronousMode.createEndpoint(active(), null, CAPACITY)) {
        assertEquals(Optional.empty(), client.channel());
        assertEquals(QueuePairState.INIT, client.queuePair().orElseThrow().state());
        Transfers transfers = client.queues().transfers();
        MemoryRegion inbox = transfers.registerMessages(arena.allocate(64));
        assertTrue(transfers.receive(1, inbox, 0, 64));
        client.connect(ConnectionParameters.DEFAULT, new byte[] {9});
        RdmaCmTest.assertStartsWith(new byte[] {8}, client.lastEvent().orElseThrow().privateData());

        assertReceived(transfers, 1);
        RemoteMemory remote =
            RemoteMemory.fromBytes(
                inbox.memory().asSlice(0, RemoteMemory.SIZE).toArray(ValueLayout.JAVA_BYTE));
        exchange(transfers, arena, remote);
        assertEquals("written", serving.get());
        client.disconnect();
        assertEquals(QueuePairState.ERR, client.queuePair().orElseThrow().state());
        assertNotConnected(client);
        inbox.close();
      }
    }
  }

  /** librdmacm would wait for an event that does not follow, and the identifier never close. */
  @DeviceTest
  void disconnectAfterAFailedConnectThrows() throws Exception {
    try (ConnectionId client = SynchronousMode.createEndpoint(active(), null, CAPACITY)) {
      assertNotConnected(client);
      var refused = assertThrows(VerbsException.class, client::connect);
      assertEquals(EventType.REJECTED, client.lastEvent().orElseThrow().type(), refused::toString);
      assertNotConnected(client);
    }
  }

  private static void assertNotConnected(ConnectionId id) throws Exception {
    FutureTask<IllegalStateException> disconnecting =
        inThread(() -> assertThrows(IllegalStateException.class, id::disconnect));
    String message = disconnecting.get().getMessage();
    assertTrue(message.contains("not connected"), message);
  }

  /** Reads what the server exposes, writes into it, and sends word. */
  private static void exchange(Transfers transfers, Arena arena, RemoteMemory remote)
      throws InterruptedException {
    try (MemoryRegion own = transfers.registerMessages(arena.allocate(64))) {
      assertTrue(transfers.read(2, own, 0, 8, remote.address(), remote.rkey()));
      assertDone(transfers, 2);
      assertEquals("exposed", own.memory().getString(0));

      SendList two = new SendList(1, 2);
      two.read(0)
          .id(3)
          .local(own, 32, 2)
          .local(own, 16, 6)
          .remote(remote.address(), remote.rkey())
          .signaled();
      assertEquals(1, transfers.post(two));
      assertDone(transfers, 3);
      assertEquals("ex", own.memory().getString(32));
      assertEquals("posed", own.memory().getString(16));

      own.memory().setString(40, "wri");
      own.memory().setString(48, "tt..");
      two.write(0)
          .id(4)
          .local(own, 40, 3)
          .local(own, 48, 2)
          .remote(remote.address() + 32, remote.rkey())
          .signaled();
      assertEquals(1, transfers.post(two));
      assertDone(transfers, 4);
      own.memory().setString(0, "en");
      assertTrue(transfers.write(5, own, 0, 3, remote.address() + 37, remote.rkey()));
      assertDone(transfers, 5);

      two.send(0).id(6).local(own, 0, 1).local(own, 1, 2).signaled();
      assertEquals(1, transfers.post(two));
      assertDone(transfers, 6);
      assertTrue(transfers.sendInline(7, MemorySegment.ofArray(new byte[] {'b', 'y', 'e', 0})));
      assertDone(transfers, 7);
    }
  }

  private static String serve(ConnectionId listener, Arena arena) throws Exception {
    try (ConnectionId server = listener.takeRequest()) {
      ConnectionEvent request = server.lastEvent().orElseThrow();
      assertEquals(EventType.CONNECT_REQUEST, request.type());
      RdmaCmTest.assertStartsWith(new byte[] {9}, request.privateData());
      Transfers transfers = server.queues().transfers();
      MemorySegment memory = arena.allocate(64);
      memory.setString(0, "exposed");
      MemoryRegion readable = transfers.registerReadable(memory);
      MemoryRegion writable = transfers.registerWritable(memory);
      MemoryRegion inbox = transfers.registerMessages(arena.allocate(64));
      ReceiveList two = new ReceiveList(1, 2);
      two.id(0, 21);
      two.local(0, 0, inbox, 0, 1);
      two.local(0, 1, inbox, 8, 8);
      assertEquals(1, transfers.post(two));
      assertTrue(transfers.receive(22, inbox, 16, 16));
      server.accept(ConnectionParameters.DEFAULT, new byte[] {8});

      // One description for reading and writing: the larger right goes with the region for writing.
      assertFalse(readable.rkey() == writable.rkey());
      MemoryRegion both =
          server
              .domain()
              .registerMemory(
                  memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
      MemoryRegion outbox = transfers.registerMessages(arena.allocate(64));
      outbox.memory().copyFrom(MemorySegment.ofArray(RemoteMemory.of(both).toBytes()));
      assertTrue(transfers.send(23, outbox, 0, RemoteMemory.SIZE));
      assertDone(transfers, 23);
      assertReceived(transfers, 21);
      assertEquals('e', inbox.memory().get(ValueLayout.JAVA_BYTE, 0));
      assertEquals("n", inbox.memory().getString(8));
      assertReceived(transfers, 22);
      assertEquals("bye", inbox.memory().getString(16));
      return memory.getString(32);
    }
  }

  @DeviceTest
  void rejectionIsAVerbsExceptionWithItsEvent() throws Exception {
    try (ConnectionId listener = SynchronousMode.createEndpoint(passive(), null, CAPACITY)) {
      listener.listen(1);
      FutureTask<Void> refusing =
          inThread(
              () -> {
                try (ConnectionId server = listener.takeRequest()) {
                  server.reject(new byte[] {7, 7});
                }
                return null;
              });
      try (ConnectionId client = SynchronousMode.createEndpoint(active(), null, CAPACITY)) {
        var refused = assertThrows(VerbsException.class, client::connect);
        assertEquals("rdma_connect", refused.function());
        assertEquals("ECONNREFUSED", Errno.name(refused.errno()));
        ConnectionEvent event = client.lastEvent().orElseThrow();
        assertEquals(EventType.REJECTED, event.type());
        assertEquals(RejectReason.CONSUMER_DEFINED, event.rejectReason().orElseThrow());
        RdmaCmTest.assertStartsWith(new byte[] {7, 7}, event.privateData());
      }
      refusing.get();
    }
  }

  @DeviceTest
  void eachStepWaitsAndAChannelContinues() throws Exception {
    try (Listener listener = Listener.open(new InetSocketAddress(Rig.addressB(), 0));
        ConnectionId client = SynchronousMode.createId(PortSpace.TCP)) {
      InetSocketAddress server = new InetSocketAddress(Rig.addressB(), listener.port());
      client.resolveAddress(new InetSocketAddress(Rig.addressA(), 0), server, SOON);
      client.resolveRoute(SOON);
      client.queues().createQueuePair(CAPACITY);
      try (EventChannel channel = EventChannel.open()) {
        client.migrate(channel);
        client.connect();
        Endpoint request = listener.poll(SOON);
        request.id().queues().createQueuePair(CAPACITY);
        FutureTask<Void> accepting =
            Background.inBackground(
                () -> {
                  request.accept(ConnectionParameters.DEFAULT, new byte[0], SOON);
                  return null;
                });
        assertEquals(client, Identifiers.next(channel, EventType.ESTABLISHED).id());
        accepting.get();
        client.migrateToSynchronous();
        assertEquals(Optional.empty(), client.channel());
        request.close();
      }
      assertTrue(client.isOpen(), "closed with a channel that it had left");
      client.disconnect();
    }
  }

  @DeviceTest
  void endpointsHaveAQueuePairOrNone() throws Exception {
    try (ConnectionId bare = SynchronousMode.createEndpoint(active(), null, null)) {
      assertEquals(Optional.empty(), bare.queuePair());
      ProtectionDomain domain = bare.context().allocateProtectionDomain();
      ConnectionId client = SynchronousMode.createEndpoint(active(), domain, CAPACITY);
      assertEquals(domain, client.domain());
      assertEquals(domain, client.queuePair().orElseThrow().domain());
      domain.close();
      assertFalse(client.isOpen(), "an endpoint outlives the domain of its queue pair");
    }
    byte[] destination = active().destinationBytes();
    assertEquals(16, destination.length);
    assertArrayEquals(Rig.addressB().getAddress(), Arrays.copyOfRange(destination, 4, 8));
  }

  @DeviceTest
  void listenerIsClosedFirst() throws Exception {
    try (ConnectionId listener = SynchronousMode.createEndpoint(passive(), null, CAPACITY);
        ConnectionId client = SynchronousMode.createEndpoint(active(), null, CAPACITY)) {
      listener.listen(1);
      FutureTask<Void> connecting =
          inThread(
              () -> {
                assertThrows(VerbsException.class, client::connect);
                return null;
              });
      ConnectionId request = listener.takeRequest();
      FutureTask<Void> closing = inThread(() -> close(listener));
      closing.get();
      request.close();
      connecting.get();
    }
  }

  private static Void close(ConnectionId id) {
    id.close();
    return null;
  }

  @DeviceTest
  void requestsAreOnTheListenersDomain() throws Exception {
    try (EventChannel channel = EventChannel.open();
        ConnectionId bare = SynchronousMode.createEndpoint(active(), null, null);
        ConnectionId client = SynchronousMode.createEndpoint(active(), null, CAPACITY)) {
      ProtectionDomain domain =
          Contexts.list().stream()
              .filter(context -> context.device().name().equals(Rig.b().name()))
              .findAny()
              .orElseThrow()
              .allocateProtectionDomain();
      ConnectionId listener = SynchronousMode.createEndpoint(passive(), domain, CAPACITY);
      listener.listen(1);
      FutureTask<Void> connecting =
          inThread(
              () -> {
                assertThrows(VerbsException.class, client::connect);
                return null;
              });
      ConnectionId request = listener.takeRequest();
      listener.migrate(channel);
      assertEquals(domain, request.domain());
      assertEquals(domain, request.queuePair().orElseThrow().domain());
      request.migrate(channel);
      bare.migrate(channel);
      domain.close();
      assertFalse(request.isOpen(), "a request outlives the domain of its queue pair");
      assertFalse(listener.isOpen(), "a listener outlives the domain of its requests");
      connecting.get();
    }
  }
}
