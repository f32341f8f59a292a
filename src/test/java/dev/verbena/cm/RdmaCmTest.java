package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.EnhancedConnection;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairCapacity;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.QueuePairType;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;

/** RDMA CM by events, as rdma-core's test_rdmacm.py tests it. */
class RdmaCmTest {
  static final Duration SOON = Duration.ofSeconds(20);
  static final QueuePairCapacity SMALL = QueuePairCapacity.of(4);

  /** The next event, which must be of a type. */
  static ConnectionEvent next(EventChannel channel, EventType type) throws InterruptedException {
    ConnectionEvent event = channel.poll(SOON);
    assertNotNull(event, "waited in vain for " + type);
    assertEquals(type, event.type(), event::toString);
    return event;
  }

  static ConnectionId listening(EventChannel channel, InetAddress address) {
    ConnectionId listener = channel.createId(PortSpace.TCP);
    listener.bind(new InetSocketAddress(address, 0));
    listener.listen(8);
    return listener;
  }

  static ConnectionId resolved(EventChannel channel, InetAddress from, InetSocketAddress to)
      throws InterruptedException {
    ConnectionId id = channel.createId(PortSpace.TCP);
    id.resolveAddress(new InetSocketAddress(from, 0), to, SOON);
    next(channel, EventType.ADDRESS_RESOLVED);
    id.resolveRoute(SOON);
    next(channel, EventType.ROUTE_RESOLVED);
    return id;
  }

  static InetSocketAddress at(ConnectionId listener, InetAddress address) {
    return new InetSocketAddress(address, listener.localPort());
  }

  @DeviceTest
  @DisplayName("S2-C01..C04, C09..C13, C15, C18, C27, C31, C32: a connection over IPv4")
  void connectsOverIpv4() throws InterruptedException {
    connects(Rig.addressA(), Rig.addressB());
  }

  @DeviceTest
  @DisplayName("S2-C09, C10: a connection over IPv6")
  void connectsOverIpv6() throws InterruptedException {
    connects(Rig.address6A(), Rig.address6B());
  }

  private static void connects(InetAddress a, InetAddress b) throws InterruptedException {
    byte[] hello = "hello from the active side".getBytes(StandardCharsets.US_ASCII);
    byte[] welcome = "welcome".getBytes(StandardCharsets.US_ASCII);
    try (EventChannel active = EventChannel.open();
        EventChannel passive = EventChannel.open()) {
      ConnectionId listener = listening(passive, b);
      ConnectionId client = resolved(active, a, at(listener, b));
      assertEquals(Rig.a().name(), client.context().device().name());
      assertEquals(a, client.localAddress().orElseThrow().getAddress());
      assertEquals(at(listener, b), client.peerAddress().orElseThrow());
      assertEquals(listener.localPort(), client.peerPort());
      assertEquals(1, client.portNumber());
      client.queues().createQueuePair(SMALL);
      client.connect(ConnectionParameters.DEFAULT.withReadDepth(3), hello);

      ConnectionEvent request = next(passive, EventType.CONNECT_REQUEST);
      assertEquals(listener, request.listener().orElseThrow());
      assertStartsWith(hello, request.privateData());
      assertEquals(3, request.connection().orElseThrow().responderResources());
      assertEquals(7, request.connection().orElseThrow().retryCount());
      ConnectionId server = request.id();
      assertEquals(Rig.b().name(), server.context().device().name());
      server.queues().createQueuePair(SMALL);
      server.accept(ConnectionParameters.DEFAULT, welcome);

      ConnectionEvent established = next(active, EventType.ESTABLISHED);
      assertStartsWith(welcome, established.privateData());
      assertEquals(client, established.id());
      next(passive, EventType.ESTABLISHED);

      client.disconnect();
      assertEquals(server, next(passive, EventType.DISCONNECTED).id());
      server.disconnect();
      assertEquals(client, next(active, EventType.DISCONNECTED).id());
    }
  }

  @DeviceTest
  @DisplayName("S2-C33: every event has C's name")
  void eventsHaveNames() {
    for (EventType type : EnumSet.range(EventType.ADDRESS_RESOLVED, EventType.TIMEWAIT_EXIT)) {
      assertTrue(
          type.text().startsWith("RDMA_CM_EVENT_"), () -> type + " is called " + type.text());
    }
    assertEquals("RDMA_CM_EVENT_MULTICAST_JOIN", EventType.MULTICAST_JOINED.text());
    assertEquals("RDMA_CM_EVENT_TIMEWAIT_EXIT", EventType.TIMEWAIT_EXIT.text());
  }

  @DeviceTest
  @DisplayName("S2-C23, C24: the devices that RDMA CM can use")
  void listsDevices() {
    List<String> names = Contexts.list().stream().map(c -> c.device().name()).toList();
    assertTrue(names.contains(Rig.a().name()) && names.contains(Rig.b().name()), names::toString);
    assertSame(Contexts.list().getFirst(), Contexts.list().getFirst());
  }

  @DeviceTest
  @DisplayName("S2-C16, S2-M09: a refusal arrives with its reason and private data")
  void rejects() throws InterruptedException {
    try (EventChannel active = EventChannel.open();
        EventChannel passive = EventChannel.open()) {
      ConnectionId listener = listening(passive, Rig.addressB());
      byte[] sorry = {1, 2, 3};
      for (RejectReason reason :
          List.of(RejectReason.CONSUMER_DEFINED, RejectReason.VENDOR_OPTION_NOT_SUPPORTED)) {
        ConnectionId client = resolved(active, Rig.addressA(), at(listener, Rig.addressB()));
        client.queues().createQueuePair(SMALL);
        client.connect();
        ConnectionId request = next(passive, EventType.CONNECT_REQUEST).id();
        if (reason == RejectReason.CONSUMER_DEFINED) {
          request.reject(sorry);
        } else {
          request.rejectEnhanced(sorry);
        }
        ConnectionEvent refusal = next(active, EventType.REJECTED);
        assertEquals(reason, refusal.rejectReason().orElseThrow());
        assertStartsWith(sorry, refusal.privateData());
        assertTrue(refusal.isFailure());
        request.close();
        client.close();
      }
    }
  }

  @DeviceTest
  @DisplayName("S2-M09: nobody listens")
  void nobodyListens() throws InterruptedException {
    InetSocketAddress nobody = new InetSocketAddress(Rig.addressB(), 4);
    try (EventChannel channel = EventChannel.open()) {
      ConnectionId client = resolved(channel, Rig.addressA(), nobody);
      client.queues().createQueuePair(SMALL);
      client.connect();
      ConnectionEvent refusal = next(channel, EventType.REJECTED);
      assertEquals(RejectReason.INVALID_SERVICE_ID, refusal.rejectReason().orElseThrow());
    }
    ConnectionSettings settings =
        ConnectionSettings.DEFAULT.from(new InetSocketAddress(Rig.addressA(), 0)).within(SOON);
    var refused =
        assertThrows(ConnectionException.class, () -> Connection.connect(nobody, settings));
    assertTrue(refused.getMessage().contains("nobody listens"), refused.getMessage());
    assertTrue(refused.getMessage().contains("10.9.0.2"), refused.getMessage());
  }

  @DeviceTest
  @DisplayName("S2-C09, C10, S2-M02: addresses that are not on an RDMA device")
  void addressesWithoutDevice() throws Exception {
    try (EventChannel channel = EventChannel.open()) {
      ConnectionId id = channel.createId(PortSpace.TCP);
      InetSocketAddress elsewhere = new InetSocketAddress("192.0.2.1", 7471);
      var unbound = assertThrows(VerbsException.class, () -> id.bind(elsewhere));
      assertTrue(unbound.getMessage().contains("192.0.2.1"), unbound.getMessage());
      assertThrows(
          IllegalArgumentException.class,
          () -> id.bind(InetSocketAddress.createUnresolved("nowhere.invalid", 1)));
      assertThrows(
          IllegalArgumentException.class, () -> id.resolveAddress(null, elsewhere, Duration.ZERO));
    }
    Exception failure =
        assertThrows(
            RuntimeException.class,
            () ->
                Endpoint.resolve(
                    PortSpace.TCP, null, new InetSocketAddress("192.0.2.1", 7471), SOON));
    if (failure instanceof ConnectionException noWay) {
      assertEquals(EventType.ADDRESS_ERROR, noWay.event().type());
    } else {
      assertEquals(Errno.ENETUNREACH, assertInstanceOf(VerbsException.class, failure).errno());
    }
  }

  @DeviceTest
  @DisplayName("S2-T34, D-01: private data that is too long is refused with its errno")
  void privateDataTooLong() throws InterruptedException {
    try (EventChannel active = EventChannel.open();
        EventChannel passive = EventChannel.open()) {
      ConnectionId listener = listening(passive, Rig.addressB());
      ConnectionId client = resolved(active, Rig.addressA(), at(listener, Rig.addressB()));
      client.queues().createQueuePair(SMALL);
      var kernel =
          assertThrows(
              VerbsException.class,
              () -> client.connect(ConnectionParameters.DEFAULT, new byte[57]));
      assertEquals(Errno.EINVAL, kernel.errno());
      assertTrue(kernel.getMessage().contains("57 bytes"), kernel.getMessage());
      assertThrows(
          IllegalArgumentException.class,
          () -> client.connect(ConnectionParameters.DEFAULT, new byte[256]));
      assertThrows(
          IllegalArgumentException.class, () -> ConnectionParameters.DEFAULT.withRetries(8, 0));
    }
  }

  @DeviceTest
  @DisplayName("what comes too early, or is closed, is refused before C sees it")
  void misuse() {
    try (EventChannel channel = EventChannel.open()) {
      ConnectionId id = channel.createId(PortSpace.TCP);
      assertThrows(IllegalStateException.class, () -> id.resolveRoute(SOON));
      assertThrows(IllegalStateException.class, id::connect);
      assertThrows(IllegalStateException.class, id::accept);
      assertThrows(IllegalStateException.class, id::context);
      assertThrows(IllegalStateException.class, () -> id.queues().createQueuePair(SMALL));
      assertThrows(IllegalStateException.class, () -> id.queues().createSharedReceiveQueue(4));
      assertThrows(IllegalStateException.class, () -> id.queues().transfers());
      assertThrows(IllegalStateException.class, id::takeRequest);
      assertThrows(VerbsException.class, id::disconnect);
      assertThrows(VerbsException.class, id::notifyCommunicationEstablished);
      assertThrows(VerbsException.class, id::reject);
      assertEquals(0, id.localPort());
      assertEquals(Optional.empty(), id.peerAddress());
      id.bind(new InetSocketAddress(Rig.addressB(), 0));
      assertEquals(Rig.b().name(), id.context().device().name());
      assertThrows(
          IllegalArgumentException.class,
          () -> id.multicast().join(new InetSocketAddress(Rig.addressB(), 0), 1));
      assertThrows(
          IllegalArgumentException.class,
          () -> id.queues().createQueuePair(new QueuePairCapacity(0, 1, 1, 1, 0)));
      var noQueue = assertThrows(IllegalStateException.class, id::accept);
      assertTrue(noQueue.getMessage().contains("queue pair"), noQueue.getMessage());
      id.close();
      id.close();
      var closed = assertThrows(IllegalStateException.class, id::localAddress);
      assertTrue(closed.getMessage().contains("10.9.0.2"), closed.getMessage());
    }
  }

  @DeviceTest
  @DisplayName("S2-C06: options")
  void setsOptions() {
    try (EventChannel channel = EventChannel.open()) {
      ConnectionId id = channel.createId(PortSpace.TCP);
      id.options().typeOfService(96).reuseAddress(true).addressFamilyOnly(false);
      id.options().acknowledgeTimeout(14);
      assertThrows(IllegalArgumentException.class, () -> id.options().typeOfService(256));
      assertThrows(IllegalArgumentException.class, () -> id.options().acknowledgeTimeout(32));
      var unknown = assertThrows(VerbsException.class, () -> id.options().set(7, 7, new byte[4]));
      assertTrue(unknown.errno() == Errno.ENOSYS || unknown.errno() == Errno.EINVAL);
      // Both may have the port, since both said that they share.
      ConnectionId other = channel.createId(PortSpace.TCP);
      other.options().reuseAddress(true);
      id.bind(new InetSocketAddress(Rig.addressB(), 0));
      other.bind(new InetSocketAddress(Rig.addressB(), id.localPort()));
      ConnectionId third = channel.createId(PortSpace.TCP);
      assertThrows(
          VerbsException.class,
          () -> third.bind(new InetSocketAddress(Rig.addressB(), id.localPort())));
    }
  }

  @DeviceTest
  @DisplayName("S2-C04: a listener closed with a request pending refuses it")
  void listenerClosedWithRequestPending() throws InterruptedException {
    try (EventChannel active = EventChannel.open();
        EventChannel passive = EventChannel.open()) {
      ConnectionId listener = listening(passive, Rig.addressB());
      ConnectionId client = resolved(active, Rig.addressA(), at(listener, Rig.addressB()));
      client.queues().createQueuePair(SMALL);
      client.connect();
      Thread.sleep(500);
      listener.close();
      assertNull(passive.poll(), "a request of a closed listener");
      next(active, EventType.REJECTED);
    }
  }

  @DeviceTest
  @DisplayName("S2-C01, C02: closing the channel ends a wait, and an empty channel has no event")
  void closingTheChannelEndsTheWait() throws Exception {
    EventChannel channel = EventChannel.open();
    assertNull(channel.poll());
    assertNull(channel.poll(Duration.ofMillis(20)));
    assertTrue(channel.descriptor() > 2);
    var waiting = ConnectionTest.inBackground(channel::take);
    Thread.sleep(100);
    channel.close();
    var ended = assertThrows(ExecutionException.class, () -> waiting.get(20, TimeUnit.SECONDS));
    assertInstanceOf(IllegalStateException.class, ended.getCause());
    assertThrows(IllegalStateException.class, () -> channel.createId(PortSpace.TCP));
  }

  @DeviceTest
  @DisplayName("S2-C05: an identifier that migrates reports on its new channel")
  void migrates() throws InterruptedException {
    EventChannel one = EventChannel.open();
    EventChannel other = EventChannel.open();
    try (EventChannel passive = EventChannel.open()) {
      ConnectionId listener = listening(passive, Rig.addressB());
      ConnectionId id = one.createId(PortSpace.TCP);
      id.migrate(other);
      assertEquals(other, id.channel().orElseThrow());
      id.resolveAddress(
          new InetSocketAddress(Rig.addressA(), 0), at(listener, Rig.addressB()), SOON);
      assertEquals(id, next(other, EventType.ADDRESS_RESOLVED).id());
      assertNull(one.poll());
      one.close();
      assertTrue(id.isOpen(), "closed with a channel that it had left");
      other.close();
      assertFalse(id.isOpen(), "survived its channel");
    }
  }

  @DeviceTest
  @DisplayName("S2-M06, S2-C15: a queue pair that is not the identifier's")
  void connectsAnotherQueuePair() throws InterruptedException {
    try (EventChannel active = EventChannel.open();
        EventChannel passive = EventChannel.open()) {
      ConnectionId listener = listening(passive, Rig.addressB());
      ConnectionId client = resolved(active, Rig.addressA(), at(listener, Rig.addressB()));
      QueuePair clientPair = external(client);
      client.connect(
          ConnectionParameters.DEFAULT.withQueuePair(clientPair.number(), false), new byte[0]);

      ConnectionEvent request = next(passive, EventType.CONNECT_REQUEST);
      assertEquals(clientPair.number(), request.connection().orElseThrow().queuePairNumber());
      ConnectionId server = request.id();
      assertEquals(new EnhancedConnection(0, 0), server.foreignQueuePair().remoteOptions());
      QueuePair serverPair = external(server);
      serverPair.modify(server.foreignQueuePair().attributesFor(QueuePairState.RTR));
      serverPair.modify(server.foreignQueuePair().attributesFor(QueuePairState.RTS));
      server.accept(
          ConnectionParameters.DEFAULT.withQueuePair(serverPair.number(), false), new byte[0]);

      ConnectionEvent response = next(active, EventType.CONNECT_RESPONSE);
      assertEquals(serverPair.number(), response.connection().orElseThrow().queuePairNumber());
      clientPair.modify(client.foreignQueuePair().attributesFor(QueuePairState.RTR));
      clientPair.modify(client.foreignQueuePair().attributesFor(QueuePairState.RTS));
      client.foreignQueuePair().establish();
      next(passive, EventType.ESTABLISHED);
      assertEquals(QueuePairState.RTS, clientPair.state());
      assertEquals(QueuePairState.RTS, serverPair.state());
      clientPair.close();
      serverPair.close();
    }
  }

  private static QueuePair external(ConnectionId id) {
    QueuePair pair =
        id.domain()
            .queuePair(QueuePairType.RC)
            .completions(id.context().createCompletionQueue(8))
            .capacity(SMALL)
            .create();
    pair.modify(id.foreignQueuePair().attributesFor(QueuePairState.INIT));
    return pair;
  }

  @DeviceTest
  @DisplayName("S2-C27: rdma_create_qp_ex takes all that a builder can ask for")
  void buildsQueuePair() throws InterruptedException {
    try (EventChannel active = EventChannel.open();
        EventChannel passive = EventChannel.open()) {
      ConnectionId listener = listening(passive, Rig.addressB());
      ConnectionId client = resolved(active, Rig.addressA(), at(listener, Rig.addressB()));
      CompletionQueue queue = client.context().createCompletionQueue(8);
      QueuePair pair =
          client
              .queues()
              .createQueuePair(
                  client.domain().queuePair(QueuePairType.RC).completions(queue).capacity(SMALL));
      assertEquals(QueuePairState.INIT, pair.state());
      assertEquals(pair, client.queuePair().orElseThrow());
      assertThrows(IllegalStateException.class, () -> client.queues().createQueuePair(SMALL));
      pair.close();
      client.queues().createQueuePair(SMALL);
      assertEquals(QueuePairState.INIT, client.queuePair().orElseThrow().state());
      queue.close();
    }
  }

  @DeviceTest
  @DisplayName("S2-M11: a peer that is gone disconnects")
  void aPeerThatIsGoneDisconnects() throws InterruptedException {
    EventChannel active = EventChannel.open();
    try (EventChannel passive = EventChannel.open()) {
      ConnectionId listener = listening(passive, Rig.addressB());
      ConnectionId client = resolved(active, Rig.addressA(), at(listener, Rig.addressB()));
      client.queues().createQueuePair(SMALL);
      client.connect();
      ConnectionId server = next(passive, EventType.CONNECT_REQUEST).id();
      server.queues().createQueuePair(SMALL);
      server.accept();
      next(active, EventType.ESTABLISHED);
      next(passive, EventType.ESTABLISHED);
      active.close();
      assertEquals(server, next(passive, EventType.DISCONNECTED).id());
    }
  }

  @DeviceTest
  @DisplayName("S2-C25, C26: names, numbers, hints")
  void resolvesNames() throws InterruptedException {
    String host = Rig.addressB().getHostAddress();
    AddressInfo v4 = AddressQuery.of(host, "7471").numericHost().resolve(SOON).getFirst();
    assertEquals(new InetSocketAddress(Rig.addressB(), 7471), v4.destination().orElseThrow());
    assertEquals(PortSpace.TCP, v4.portSpace());
    assertFalse(v4.isPassive());

    String host6 = Rig.address6B().getHostAddress();
    AddressInfo v6 =
        AddressQuery.of(host6, "7471")
            .ipv6()
            .portSpace(PortSpace.UDP)
            .source(new InetSocketAddress(Rig.address6A(), 0))
            .resolve(SOON)
            .getFirst();
    assertEquals(new InetSocketAddress(Rig.address6B(), 7471), v6.destination().orElseThrow());
    assertEquals(new InetSocketAddress(Rig.address6A(), 0), v6.source().orElseThrow());
    assertEquals(PortSpace.UDP, v6.portSpace());

    AddressInfo passive =
        AddressQuery.of(null, "7471").passive().portSpace(PortSpace.TCP).resolve(SOON).getFirst();
    assertTrue(passive.isPassive());
    assertEquals(7471, passive.source().orElseThrow().getPort());

    var unknown =
        assertThrows(
            VerbsException.class,
            () -> AddressQuery.of("no such name", "7471").numericHost().resolve(SOON));
    assertTrue(unknown.getMessage().contains("no such name"), unknown.getMessage());
    assertThrows(IllegalArgumentException.class, () -> AddressQuery.of(null, null));
  }

  @DeviceTest
  @DisplayName("S2-C07, C08, C14, R05..R08, R11, R12, R16, R17: librdmacm's synchronous mode")
  void synchronousMode() throws Exception {
    String host = Rig.addressB().getHostAddress();
    AddressInfo passive =
        AddressQuery.of(host, "7474")
            .passive()
            .portSpace(PortSpace.TCP)
            .queuePairType(QueuePairType.RC)
            .resolve(SOON)
            .getFirst();
    AddressInfo active =
        AddressQuery.of(host, "7474")
            .portSpace(PortSpace.TCP)
            .queuePairType(QueuePairType.RC)
            .source(new InetSocketAddress(Rig.addressA(), 0))
            .resolve(SOON)
            .getFirst();
    try (Arena arena = Arena.ofShared();
        ConnectionId listener = ConnectionId.createEndpoint(passive, null, SMALL)) {
      listener.listen(1);
      var serving =
          new FutureTask<>(
              () -> {
                try (ConnectionId server = listener.takeRequest()) {
                  assertStartsWith(new byte[] {9}, server.lastEvent().orElseThrow().privateData());
                  Transfers transfers = server.queues().transfers();
                  MemoryRegion region = transfers.registerMessages(arena.allocate(16));
                  assertTrue(transfers.receive(5, region, 0, 16));
                  server.accept();
                  Completions got = new Completions(1);
                  assertEquals(1, transfers.awaitReceives(got, SOON));
                  assertTrue(got.isSuccess(0), () -> got.describe(0));
                  assertEquals(5, got.id(0));
                  return region.memory().getString(0);
                }
              });
      new Thread(serving).start();
      try (ConnectionId client = ConnectionId.createEndpoint(active, null, SMALL)) {
        assertEquals(Optional.empty(), client.channel());
        client.connect(ConnectionParameters.DEFAULT, new byte[] {9});
        Transfers transfers = client.queues().transfers();
        MemoryRegion region = transfers.registerMessages(arena.allocate(16));
        region.memory().setString(0, "synchronous");
        assertTrue(transfers.send(6, region, 0, 16));
        Completions done = new Completions(1);
        assertEquals(1, transfers.awaitSends(done, SOON));
        assertTrue(done.isSuccess(0), () -> done.describe(0));
        assertEquals("synchronous", serving.get(20, TimeUnit.SECONDS));
      }
    }
  }

  @DeviceTest
  @DisplayName("S2-R05, R06: a shared receive queue on an identifier")
  void receivesFromASharedQueue() throws Exception {
    try (Listener listener = Listener.open(new InetSocketAddress(Rig.addressB(), 0));
        Arena arena = Arena.ofShared()) {
      var accepting =
          ConnectionTest.inBackground(
              () -> {
                Endpoint server = listener.poll(SOON);
                SharedReceiveQueue shared = server.id().queues().createSharedReceiveQueue(8);
                assertThrows(
                    IllegalStateException.class,
                    () -> server.id().queues().createSharedReceiveQueue(8));
                server.id().queues().createQueuePair(SMALL);
                Transfers transfers = server.id().queues().transfers();
                MemoryRegion region = transfers.registerMessages(arena.allocate(64));
                assertTrue(transfers.receive(77, region, 0, 64));
                server.accept(ConnectionParameters.DEFAULT, new byte[0], SOON);
                assertTrue(shared.isOpen());
                return server;
              });
      try (Connection client =
          Connection.connect(
              new InetSocketAddress(Rig.addressB(), listener.port()),
              ConnectionSettings.DEFAULT
                  .from(new InetSocketAddress(Rig.addressA(), 0))
                  .within(SOON))) {
        try (Endpoint server = accepting.get(20, TimeUnit.SECONDS)) {
          client.send(new byte[] {1, 2, 3});
          Completions got = new Completions(1);
          assertEquals(1, server.id().queues().transfers().awaitReceives(got, SOON));
          assertEquals(77, got.id(0));
          assertEquals(3, got.byteLength(0));
        }
      }
    }
  }

  @DeviceTest
  @DisplayName("rdma-core 60: events of the user's, and names by event")
  void newerThanRdmaCore60() throws InterruptedException {
    try (EventChannel channel = EventChannel.open()) {
      ConnectionId id = channel.createId(PortSpace.TCP);
      try {
        AddressQuery.of(Rig.addressB().getHostAddress(), "7471").resolveOn(id);
        next(channel, EventType.ADDRESS_INFO_RESOLVED);
        assertEquals(
            new InetSocketAddress(Rig.addressB(), 7471),
            AddressQuery.takeFrom(id).getFirst().destination().orElseThrow());
        id.writeEvent(3, 0x1234_5678_9abcL);
        ConnectionEvent own = next(channel, EventType.USER);
        assertEquals(3, own.status());
        assertEquals(0x1234_5678_9abcL, own.argument());
        assertFalse(own.isFailure());
      } catch (VerbsException e) {
        // Older libraries and kernels say so.
        assertTrue(
            e.getMessage().contains("rdma-core 60")
                || e.isUnsupported()
                || e.errno() == Errno.EINVAL,
            e.getMessage());
      }
    }
  }

  static void assertStartsWith(byte[] expected, byte[] padded) {
    assertTrue(padded.length >= expected.length, () -> Arrays.toString(padded));
    assertArrayEquals(expected, Arrays.copyOf(padded, expected.length));
    for (int i = expected.length; i < padded.length; i++) {
      assertEquals(0, padded[i], "padding is not zero");
    }
  }
}
