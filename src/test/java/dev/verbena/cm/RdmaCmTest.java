package dev.verbena.cm;

import static dev.verbena.cm.Identifiers.next;
import static dev.verbena.cm.Identifiers.resolved;
import static dev.verbena.testing.Need.ADDRESSES;
import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.DESCRIPTORS;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Providers;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Rig;
import dev.verbena.values.EnhancedConnectionEstablishment;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairState;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
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
import java.util.function.Consumer;

/** RDMA CM by events, as rdma-core's test_rdmacm.py tests it. */
@Needs(CM)
class RdmaCmTest {
  static final Duration SOON = Await.LIMIT;
  static final QueuePairCapacity SMALL = QueuePairCapacity.of(4);

  static ConnectionId listening(EventChannel channel, InetAddress address) {
    ConnectionId listener = channel.createId(PortSpace.TCP);
    listener.bind(new InetSocketAddress(address, 0));
    listener.listen(8);
    return listener;
  }

  static InetSocketAddress at(ConnectionId listener, InetAddress address) {
    return new InetSocketAddress(address, listener.localPort());
  }

  @DeviceTest
  void connectsOverIpv4() throws InterruptedException {
    connects(Rig.addressA(), Rig.addressB());
  }

  @DeviceTest
  @Needs(ADDRESSES)
  void connectsOverIpv6() throws InterruptedException {
    connects(Rig.address6A(), Rig.address6B());
  }

  private static void connects(InetAddress a, InetAddress b) throws InterruptedException {
    byte[] hello = "hello from the active side".getBytes(StandardCharsets.US_ASCII);
    byte[] welcome = "welcome".getBytes(StandardCharsets.US_ASCII);
    try (EventChannel active = EventChannel.open();
        EventChannel passive = EventChannel.open()) {
      ConnectionId listener = listening(passive, b);
      assertEquals(b, listener.localAddress().orElseThrow().getAddress());
      assertTrue(listener.localPort() != 0, "no port was chosen");
      assertEquals(0, listener.peerPort());
      assertEquals(Optional.empty(), listener.peerAddress());
      ConnectionId client = resolved(active, a, at(listener, b));
      assertEquals(Rig.a().name(), client.context().device().name());
      assertEquals(a, client.localAddress().orElseThrow().getAddress());
      assertEquals(at(listener, b), client.peerAddress().orElseThrow());
      assertEquals(listener.localPort(), client.peerPort());
      assertEquals(1, client.portNumber());
      QueuePair clientPair = client.queues().createQueuePair(SMALL);
      assertEquals(QueuePairState.INIT, clientPair.state());
      client.connect(ConnectionParameters.DEFAULT.withReadDepth(3), hello);

      ConnectionEvent request = next(passive, EventType.CONNECT_REQUEST);
      assertEquals(listener, request.listener().orElseThrow());
      assertStartsWith(hello, request.privateData());
      assertEquals(3, request.connection().orElseThrow().responderResources());
      assertEquals(6, request.connection().orElseThrow().retryCount());
      ConnectionId server = request.id();
      assertEquals(Rig.b().name(), server.context().device().name());
      assertEquals(a, server.peerAddress().orElseThrow().getAddress());
      assertEquals(client.localPort(), server.peerPort());
      QueuePair serverPair = server.queues().createQueuePair(SMALL);
      assertEquals(QueuePairState.INIT, serverPair.state());
      server.accept(ConnectionParameters.DEFAULT, welcome);

      ConnectionEvent established = next(active, EventType.ESTABLISHED);
      assertStartsWith(welcome, established.privateData());
      assertEquals(client, established.id());
      next(passive, EventType.ESTABLISHED);
      assertEquals(QueuePairState.RTS, clientPair.state());
      assertEquals(QueuePairState.RTS, serverPair.state());

      client.disconnect();
      assertEquals(QueuePairState.ERR, clientPair.state());
      assertEquals(server, next(passive, EventType.DISCONNECTED).id());
      server.disconnect();
      assertEquals(QueuePairState.ERR, serverPair.state());
      assertEquals(client, next(active, EventType.DISCONNECTED).id());
      clientPair.close();
      assertEquals(Optional.empty(), client.queuePair());
      client.close();
      assertThrows(IllegalStateException.class, client::localPort);
    }
  }

  @DeviceTest
  void eventsHaveNames() {
    for (EventType type : EnumSet.range(EventType.ADDR_RESOLVED, EventType.TIMEWAIT_EXIT)) {
      assertTrue(
          type.text().startsWith("RDMA_CM_EVENT_"), () -> type + " is called " + type.text());
    }
    assertEquals("RDMA_CM_EVENT_MULTICAST_JOIN", EventType.MULTICAST_JOIN.text());
    assertEquals("RDMA_CM_EVENT_TIMEWAIT_EXIT", EventType.TIMEWAIT_EXIT.text());
  }

  @DeviceTest
  void listsDevices() {
    List<String> names = Contexts.list().stream().map(c -> c.device().name()).toList();
    assertTrue(names.contains(Rig.a().name()) && names.contains(Rig.b().name()), names::toString);
    assertSame(Contexts.list().getFirst(), Contexts.list().getFirst());
  }

  @DeviceTest
  void rejectionHasItsReasonAndPrivateData() throws InterruptedException {
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
  void requestWithoutListenerIsRejected() throws InterruptedException {
    InetSocketAddress nobody = new InetSocketAddress(Rig.addressB(), 4);
    try (EventChannel channel = EventChannel.open()) {
      ConnectionId client = resolved(channel, Rig.addressA(), nobody);
      client.queues().createQueuePair(SMALL);
      client.connect();
      ConnectionEvent refusal = next(channel, EventType.REJECTED);
      assertEquals(RejectReason.INVALID_SERVICE_ID, refusal.rejectReason().orElseThrow());
    }
    ConnectionSettings settings =
        ConnectionSettings.DEFAULT
            .withLocalAddress(new InetSocketAddress(Rig.addressA(), 0))
            .withTimeout(SOON);
    var refused =
        assertThrows(ConnectionException.class, () -> Connection.connect(nobody, settings));
    assertTrue(refused.getMessage().contains("no listener on the port"), refused.getMessage());
    assertTrue(
        refused.getMessage().contains(nobody.getAddress().getHostAddress()), refused.getMessage());
  }

  @DeviceTest
  void addressesWithoutDeviceThrow() throws Exception {
    try (EventChannel channel = EventChannel.open()) {
      ConnectionId id = channel.createId(PortSpace.TCP);
      InetSocketAddress elsewhere = new InetSocketAddress("198.51.100.1", 7471);
      var unbound = assertThrows(VerbsException.class, () -> id.bind(elsewhere));
      assertTrue(unbound.getMessage().contains("198.51.100.1"), unbound.getMessage());
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
                    PortSpace.TCP, null, new InetSocketAddress("198.51.100.1", 7471), SOON));
    if (failure instanceof ConnectionException noWay) {
      assertEquals(EventType.ADDR_ERROR, noWay.event().type());
    } else {
      assertEquals(Errno.ENETUNREACH, assertInstanceOf(VerbsException.class, failure).errno());
    }
  }

  @DeviceTest
  void tooLongPrivateDataThrows() throws InterruptedException {
    try (EventChannel active = EventChannel.open();
        EventChannel passive = EventChannel.open()) {
      ConnectionId listener = listening(passive, Rig.addressB());
      ConnectionId client = resolved(active, Rig.addressA(), at(listener, Rig.addressB()));
      client.queues().createQueuePair(SMALL);
      assertTooLong(57, data -> client.connect(ConnectionParameters.DEFAULT, data));
      assertThrows(
          IllegalArgumentException.class,
          () -> client.connect(ConnectionParameters.DEFAULT, new byte[256]));
      client.connect(ConnectionParameters.DEFAULT, ones(56));
      ConnectionEvent request = next(passive, EventType.CONNECT_REQUEST);
      assertArrayEquals(ones(56), request.privateData());
      assertTooLong(149, data -> request.id().reject(data));
      request.id().queues().createQueuePair(SMALL);
      assertTooLong(197, data -> request.id().accept(ConnectionParameters.DEFAULT, data));
      request.id().close();
      next(active, EventType.REJECTED);
    }
  }

  /** What the transport takes at most arrives as it is. */
  @DeviceTest
  void answersCarryTheLongestPrivateData() throws InterruptedException {
    try (EventChannel active = EventChannel.open();
        EventChannel passive = EventChannel.open()) {
      ConnectionId listener = listening(passive, Rig.addressB());
      ConnectionId refused = resolved(active, Rig.addressA(), at(listener, Rig.addressB()));
      refused.queues().createQueuePair(SMALL);
      refused.connect();
      next(passive, EventType.CONNECT_REQUEST).id().reject(ones(148));
      assertStartsWith(ones(148), next(active, EventType.REJECTED).privateData());

      ConnectionId accepted = resolved(active, Rig.addressA(), at(listener, Rig.addressB()));
      accepted.queues().createQueuePair(SMALL);
      accepted.connect();
      ConnectionId request = next(passive, EventType.CONNECT_REQUEST).id();
      request.queues().createQueuePair(SMALL);
      request.accept(ConnectionParameters.DEFAULT, ones(196));
      assertStartsWith(ones(196), next(active, EventType.ESTABLISHED).privateData());
    }
  }

  static byte[] ones(int length) {
    byte[] bytes = new byte[length];
    Arrays.fill(bytes, (byte) 1);
    return bytes;
  }

  /** The kernel or librdmacm refuses, and the exception guesses why. */
  static void assertTooLong(int length, Consumer<byte[]> send) {
    var refused = assertThrows(VerbsException.class, () -> send.accept(new byte[length]));
    assertEquals(Errno.EINVAL, refused.errno());
    assertTrue(refused.getMessage().contains(length + " bytes"), refused.getMessage());
  }

  @DeviceTest
  void callsInTheWrongStateThrow() {
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
      assertTrue(id.domain().segment().address() != 0, "the domain of the unbound identifier");
      assertThrows(
          IllegalArgumentException.class,
          () -> id.multicast().join(new InetSocketAddress(Rig.addressB(), 0), 1));
      assertThrows(
          IllegalArgumentException.class,
          () -> id.queues().createQueuePair(QueuePairCapacity.of(0).withReceiveRequests(1)));
      var noQueue = assertThrows(IllegalStateException.class, id::accept);
      assertTrue(noQueue.getMessage().contains("queue pair"), noQueue.getMessage());
      id.close();
      id.close();
      var closed = assertThrows(IllegalStateException.class, id::localAddress);
      assertTrue(
          closed.getMessage().contains(Rig.addressB().getHostAddress()), closed.getMessage());
    }
  }

  @DeviceTest
  void setsOptions() {
    try (EventChannel channel = EventChannel.open()) {
      ConnectionId id = channel.createId(PortSpace.TCP);
      id.options().reuseAddress(true).addressFamilyOnly(false);
      assertThrows(IllegalArgumentException.class, () -> id.options().typeOfService(256));
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
  void listenerClosedWithARequestPendingRejectsIt() throws InterruptedException {
    try (EventChannel active = EventChannel.open();
        EventChannel passive = EventChannel.open()) {
      ConnectionId listener = listening(passive, Rig.addressB());
      ConnectionId client = resolved(active, Rig.addressA(), at(listener, Rig.addressB()));
      client.queues().createQueuePair(SMALL);
      client.connect();
      Await.pass(
          Duration.ofMillis(500), "the request arrives, unless the listener is closed before");
      listener.close();
      assertNull(passive.poll(), "a request of a closed listener");
      next(active, EventType.REJECTED);
    }
  }

  @DeviceTest
  @Needs(DESCRIPTORS)
  void theChannelHasADescriptorForEventLoops() {
    try (EventChannel channel = EventChannel.open()) {
      assertTrue(channel.descriptor() > 2);
    }
  }

  @DeviceTest
  void closingTheChannelEndsTheWait() throws Exception {
    EventChannel channel = EventChannel.open();
    assertNull(channel.poll());
    assertNull(channel.poll(Duration.ofMillis(20)));
    var waiting = new FutureTask<>(channel::take);
    Await.waits(Thread.startVirtualThread(waiting));
    channel.close();
    var ended = assertThrows(ExecutionException.class, waiting::get);
    assertInstanceOf(IllegalStateException.class, ended.getCause());
    assertThrows(IllegalStateException.class, () -> channel.createId(PortSpace.TCP));
  }

  /** In the vendor id and the attribute modifier of the messages of the connection manager. */
  @DeviceTest
  void peersExchangeTheOptionsOfTheirQueuePairs() throws InterruptedException {
    try (EventChannel active = EventChannel.open();
        EventChannel passive = EventChannel.open()) {
      ConnectionId listener = listening(passive, Rig.addressB());
      ConnectionId client = resolved(active, Rig.addressA(), at(listener, Rig.addressB()));
      try (QueuePair clientPair = QueuesOfIdentifiersTest.external(client)) {
        var offered = new EnhancedConnectionEstablishment(0x15b3, 5);
        client.foreignQueuePair().localOptions(offered);
        client.connect(
            ConnectionParameters.DEFAULT.withQueuePairNumber(clientPair.number()), new byte[0]);
        ConnectionId server = next(passive, EventType.CONNECT_REQUEST).id();
        assertEquals(offered, server.foreignQueuePair().remoteOptions());
        try (QueuePair serverPair = QueuesOfIdentifiersTest.external(server)) {
          var accepted = new EnhancedConnectionEstablishment(0x15b3, 1);
          server.foreignQueuePair().localOptions(accepted);
          server.accept(
              ConnectionParameters.DEFAULT.withQueuePairNumber(serverPair.number()), new byte[0]);
          next(active, EventType.CONNECT_RESPONSE);
          assertEquals(accepted, client.foreignQueuePair().remoteOptions());
        }
      }
    }
  }

  @DeviceTest
  void migratedIdentifierReportsOnItsNewChannel() throws InterruptedException {
    EventChannel one = EventChannel.open();
    EventChannel other = EventChannel.open();
    try (EventChannel passive = EventChannel.open()) {
      ConnectionId listener = listening(passive, Rig.addressB());
      ConnectionId id = one.createId(PortSpace.TCP);
      id.migrate(other);
      assertEquals(other, id.channel().orElseThrow());
      id.resolveAddress(
          new InetSocketAddress(Rig.addressA(), 0), at(listener, Rig.addressB()), SOON);
      assertEquals(id, next(other, EventType.ADDR_RESOLVED).id());
      assertNull(one.poll());
      one.close();
      assertTrue(id.isOpen(), "closed with a channel that it had left");
      other.close();
      assertFalse(id.isOpen(), "survived its channel");
    }
  }

  @DeviceTest
  void dataBeforeTheReadyMessageEstablishesTheConnection() throws InterruptedException {
    try (EventChannel active = EventChannel.open();
        EventChannel passive = EventChannel.open()) {
      ConnectionId listener = listening(passive, Rig.addressB());
      ConnectionId client = resolved(active, Rig.addressA(), at(listener, Rig.addressB()));
      QueuePair clientPair = QueuesOfIdentifiersTest.external(client);
      client.connect(
          ConnectionParameters.DEFAULT.withQueuePairNumber(clientPair.number()), new byte[0]);
      ConnectionId server = next(passive, EventType.CONNECT_REQUEST).id();
      server.queues().createQueuePair(SMALL);
      server.accept();
      // The client says nothing: its word is as good as lost.
      next(active, EventType.CONNECT_RESPONSE);
      assertNull(passive.poll());
      server.notifyCommunicationEstablished();
      assertEquals(server, next(passive, EventType.ESTABLISHED).id());
      clientPair.close();
    }
  }

  @DeviceTest
  void timewaitEnds() throws InterruptedException {
    try (EventChannel active = EventChannel.open();
        EventChannel passive = EventChannel.open()) {
      ConnectionId listener = listening(passive, Rig.addressB());
      ConnectionId client = resolved(active, Rig.addressA(), at(listener, Rig.addressB()));
      client.queues().createQueuePair(SMALL);
      client.connect();
      ConnectionId server = next(passive, EventType.CONNECT_REQUEST).id();
      server.queues().createQueuePair(SMALL);
      server.accept();
      next(active, EventType.ESTABLISHED);
      next(passive, EventType.ESTABLISHED);
      client.disconnect();
      next(passive, EventType.DISCONNECTED);
      server.disconnect();
      next(active, EventType.DISCONNECTED);
      assertEquals(client, next(active, EventType.TIMEWAIT_EXIT).id());
    }
  }

  @DeviceTest
  void closeDoesNotWaitForUnreadEvents() throws Exception {
    EventChannel active = EventChannel.open();
    EventChannel passive = EventChannel.open();
    try (Arena arena = Arena.ofShared()) {
      ConnectionId listener = listening(passive, Rig.addressB());
      ConnectionId client = resolved(active, Rig.addressA(), at(listener, Rig.addressB()));
      client.queues().createQueuePair(SMALL.withMaxInlineData(8));
      client.connect();
      // One event was taken and is kept, and one of the same identifier is not taken.
      ConnectionEvent request = next(passive, EventType.CONNECT_REQUEST);
      ConnectionId server = request.id();
      server.queues().createQueuePair(SMALL);
      Transfers transfers = server.queues().transfers();
      MemoryRegion region = transfers.registerMessages(arena.allocate(8));
      assertTrue(transfers.receive(1, region, 0, 8));
      server.accept();
      next(active, EventType.ESTABLISHED);
      // A completion is announced, and nobody takes the announcement.
      server.queues().receiveCompletions().requestNotification();
      assertTrue(client.queues().transfers().sendInline(2, MemorySegment.ofArray(new byte[8])));
      Await.pass(Duration.ofMillis(200), "the completion event arrives, or is lost with the queue");
      var closing =
          Background.inBackground(
              () -> {
                server.close();
                passive.close();
                active.close();
                return request.type();
              });
      assertEquals(EventType.CONNECT_REQUEST, closing.get());
      assertFalse(server.isOpen());
    }
  }

  @DeviceTest
  void identifierHasItsPortSpace() {
    try (EventChannel channel = EventChannel.open()) {
      for (PortSpace space : PortSpace.values()) {
        ConnectionId id = channel.createId(space);
        assertEquals(space, id.portSpace());
        assertEquals(space == PortSpace.UDP || space == PortSpace.IPOIB, id.isDatagram());
        assertEquals(channel, id.channel().orElseThrow());
        assertFalse(id.hasDevice());
        assertEquals(0, id.portNumber());
        assertEquals(Optional.empty(), id.lastEvent());
        assertEquals(Optional.empty(), id.queuePair());
      }
      ConnectionId bound = channel.createId(PortSpace.TCP);
      bound.bind(new InetSocketAddress(Rig.addressB(), 0));
      assertEquals(1, bound.portNumber());
      assertSame(bound.context(), bound.domain().context());
      SharedReceiveQueue shared = bound.queues().createSharedReceiveQueue(4);
      assertSame(shared, bound.queues().sharedReceiveQueue().orElseThrow());
      QueuePair pair = bound.queues().createQueuePair(SMALL);
      assertSame(pair, bound.queuePair().orElseThrow());
      assertSame(pair.domain(), bound.domain());
      assertTrue(bound.queues().sendCompletions().channel().isPresent());
      assertTrue(bound.queues().receiveCompletions().channel().isPresent());
    }
  }

  @DeviceTest
  void endOfThePeersProcessDisconnects() throws InterruptedException {
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
  @Needs(ADDRESSES)
  void resolvesNames() throws InterruptedException {
    String host = Rig.addressB().getHostAddress();
    AddressInfo v4 =
        AddressQuery.of(host, "7471").flag(AddressInfo.Flag.NUMERICHOST).resolve(SOON).getFirst();
    assertEquals(new InetSocketAddress(Rig.addressB(), 7471), v4.destination().orElseThrow());
    assertEquals(Optional.of(PortSpace.TCP), v4.portSpace());
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
    assertEquals(Optional.of(PortSpace.UDP), v6.portSpace());

    AddressInfo passive =
        AddressQuery.of(null, "7471")
            .flag(AddressInfo.Flag.PASSIVE)
            .portSpace(PortSpace.TCP)
            .resolve(SOON)
            .getFirst();
    assertTrue(passive.isPassive());
    assertEquals(7471, passive.source().orElseThrow().getPort());

    var unknown =
        assertThrows(
            VerbsException.class,
            () ->
                AddressQuery.of("no such name", "7471")
                    .flag(AddressInfo.Flag.NUMERICHOST)
                    .resolve(SOON));
    assertTrue(unknown.getMessage().contains("no such name"), unknown.getMessage());
    var nowhere =
        assertThrows(
            VerbsException.class, () -> AddressQuery.of("nowhere.invalid", "7471").resolve(SOON));
    assertEquals("rdma_getaddrinfo", nowhere.function());
    assertTrue(nowhere.getMessage().contains("nowhere.invalid"), nowhere.getMessage());
    assertThrows(IllegalArgumentException.class, () -> AddressQuery.of(null, null));
  }

  @DeviceTest
  void resolvesNamesByEvent() throws InterruptedException {
    AddressQuery query = AddressQuery.of(Rig.addressB().getHostAddress(), "7471");
    try (EventChannel channel = EventChannel.open()) {
      ConnectionId id = channel.createId(PortSpace.TCP);
      if (isOlderThan60()) {
        assertNeeds60(assertThrows(VerbsException.class, () -> query.resolveOn(id)));
        assertNeeds60(assertThrows(VerbsException.class, () -> AddressQuery.takeFrom(id)));
        return;
      }
      query.resolveOn(id);
      next(channel, EventType.ADDRINFO_RESOLVED);
      assertEquals(
          new InetSocketAddress(Rig.addressB(), 7471),
          AddressQuery.takeFrom(id).getFirst().destination().orElseThrow());
      var nothing = assertThrows(VerbsException.class, () -> AddressQuery.takeFrom(id));
      assertTrue(nothing.getMessage().contains("rdma_query_addrinfo"), nothing.getMessage());
      var unknown =
          assertThrows(
              VerbsException.class, () -> AddressQuery.of("nowhere.invalid", "1").resolveOn(id));
      assertTrue(unknown.getMessage().contains("nowhere.invalid"), unknown.getMessage());
    }
  }

  @DeviceTest
  void writesEvents() throws InterruptedException {
    try (EventChannel channel = EventChannel.open()) {
      ConnectionId id = channel.createId(PortSpace.TCP);
      if (isOlderThan60()) {
        assertNeeds60(assertThrows(VerbsException.class, () -> id.writeEvent(3, 4)));
        return;
      }
      id.writeEvent(3, 0x1234_5678_9abcL);
      ConnectionEvent own = next(channel, EventType.USER);
      assertEquals(id, own.id());
      assertEquals(3, own.status());
      assertEquals(0x1234_5678_9abcL, own.argument());
      assertFalse(own.isFailure());
    }
  }

  private static boolean isOlderThan60() {
    return Providers.system().release().map(Double::parseDouble).orElse(60.0) < 60;
  }

  private static void assertNeeds60(VerbsException refused) {
    assertTrue(refused.isUnsupported(), refused.getMessage());
    assertTrue(refused.getMessage().contains("rdma-core 60"), refused.getMessage());
  }

  static void assertStartsWith(byte[] expected, byte[] padded) {
    assertTrue(padded.length >= expected.length, () -> Arrays.toString(padded));
    assertArrayEquals(expected, Arrays.copyOf(padded, expected.length));
    for (int i = expected.length; i < padded.length; i++) {
      assertEquals(0, padded[i], "padding is not zero");
    }
  }
}
