package dev.verbena.cm;

import static dev.verbena.testing.Need.CM;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.VerbsException;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Rig;
import dev.verbena.values.QueuePairState;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;

/** Datagram services and multicast over RDMA CM. */
@Needs(CM)
class DatagramTest {
  private static final Duration SOON = Await.LIMIT;
  private static final int HEADER = 40;

  @DeviceTest
  void findsADatagramService() throws Exception {
    try (EventChannel active = EventChannel.open();
        EventChannel passive = EventChannel.open();
        Arena arena = Arena.ofShared()) {
      ConnectionId listener = passive.createId(PortSpace.UDP);
      listener.bind(new InetSocketAddress(Rig.addressB(), 0));
      listener.listen(4);
      ConnectionId client = active.createId(PortSpace.UDP);
      assertTrue(client.isDatagram());
      client.resolveAddress(
          new InetSocketAddress(Rig.addressA(), 0), RdmaCmTest.at(listener, Rig.addressB()), SOON);
      Identifiers.next(active, EventType.ADDR_RESOLVED);
      client.resolveRoute(SOON);
      Identifiers.next(active, EventType.ROUTE_RESOLVED);
      QueuePair clientPair = client.queues().createQueuePair(RdmaCmTest.SMALL);
      assertEquals(QueuePairState.RTS, clientPair.state());
      client.connect(ConnectionParameters.DEFAULT, new byte[] {4, 2});

      ConnectionEvent request = Identifiers.next(passive, EventType.CONNECT_REQUEST);
      RdmaCmTest.assertStartsWith(new byte[] {4, 2}, request.privateData());
      ConnectionId server = request.id();
      server.queues().createQueuePair(RdmaCmTest.SMALL);
      MemoryRegion inbox = server.queues().transfers().registerMessages(arena.allocate(128));
      for (int i = 0; i < 4; i++) {
        assertTrue(server.queues().transfers().receive(8, inbox, 0, 128));
      }
      server.accept();

      DatagramParameters found =
          Identifiers.next(active, EventType.ESTABLISHED).datagram().orElseThrow();
      assertEquals(server.queuePair().orElseThrow().number(), found.queuePairNumber());
      Transfers transfers = client.queues().transfers();
      MemoryRegion outbox = transfers.registerMessages(arena.allocate(64));
      outbox.memory().setString(0, "a datagram");
      Completions sent = new Completions(1);
      Completions got = new Completions(1);
      try (AddressHandle handle = client.domain().createAddressHandle(found.path())) {
        for (int i = 0; i < 4 && got.count() == 0; i++) {
          assertTrue(transfers.sendDatagram(9, outbox, 0, 64, handle, found.queuePairNumber()));
          assertEquals(1, transfers.awaitSends(sent, SOON));
          assertTrue(sent.isSuccess(0), () -> sent.describe(0));
          server.queues().transfers().awaitReceives(got, Duration.ofSeconds(2));
        }
      }
      assertEquals(1, got.count(), "no datagram arrived");
      assertEquals(HEADER + 64, got.byteLength(0));
      assertEquals("a datagram", inbox.memory().getString(HEADER));
      assertEquals(client.queuePair().orElseThrow().number(), got.sourceQueuePair(0));
    }
  }

  @DeviceTest
  void datagramServiceRejects() throws Exception {
    try (Listener listener =
            Listener.open(PortSpace.UDP, new InetSocketAddress(Rig.addressB(), 0), 1);
        Endpoint client =
            Endpoint.resolve(
                PortSpace.UDP,
                new InetSocketAddress(Rig.addressA(), 0),
                new InetSocketAddress(Rig.addressB(), listener.port()),
                SOON)) {
      client.id().queues().createQueuePair(RdmaCmTest.SMALL);
      var refusing =
          Background.inBackground(
              () -> {
                try (Endpoint request = listener.take()) {
                  request.id().reject(new byte[] {7});
                }
                return null;
              });
      var refused =
          assertThrows(
              ConnectionException.class,
              () -> client.connect(ConnectionParameters.DEFAULT, new byte[0], SOON));
      assertEquals(EventType.UNREACHABLE, refused.event().type());
      RdmaCmTest.assertStartsWith(new byte[] {7}, refused.event().privateData());
      refusing.get();
    }
  }

  @DeviceTest
  void missingDatagramServiceIsReported() throws Exception {
    try (Endpoint client =
        Endpoint.resolve(
            PortSpace.UDP,
            new InetSocketAddress(Rig.addressA(), 0),
            new InetSocketAddress(Rig.addressB(), 4),
            SOON)) {
      client.id().queues().createQueuePair(RdmaCmTest.SMALL);
      var nobody =
          assertThrows(
              ConnectionException.class,
              () -> client.connect(ConnectionParameters.DEFAULT, new byte[0], SOON));
      assertEquals(EventType.UNREACHABLE, nobody.event().type());
      assertTrue(nobody.getMessage().contains("no datagram service listens"), nobody.getMessage());
    }
  }

  /** What is to become of a lookup. */
  private interface Answer {
    void to(ConnectionId request);
  }

  /** The event that a lookup with as much private data as possible ends in. */
  private static ConnectionEvent lookUp(Answer answer) throws Exception {
    try (EventChannel active = EventChannel.open();
        EventChannel passive = EventChannel.open()) {
      ConnectionId listener = passive.createId(PortSpace.UDP);
      listener.bind(new InetSocketAddress(Rig.addressB(), 0));
      listener.listen(4);
      ConnectionId client = active.createId(PortSpace.UDP);
      client.resolveAddress(
          new InetSocketAddress(Rig.addressA(), 0), RdmaCmTest.at(listener, Rig.addressB()), SOON);
      Identifiers.next(active, EventType.ADDR_RESOLVED);
      client.resolveRoute(SOON);
      Identifiers.next(active, EventType.ROUTE_RESOLVED);
      client.queues().createQueuePair(RdmaCmTest.SMALL);
      RdmaCmTest.assertTooLong(181, data -> client.connect(ConnectionParameters.DEFAULT, data));
      client.connect(ConnectionParameters.DEFAULT, RdmaCmTest.ones(180));
      ConnectionEvent request = Identifiers.next(passive, EventType.CONNECT_REQUEST);
      assertArrayEquals(RdmaCmTest.ones(180), request.privateData());
      request.id().queues().createQueuePair(RdmaCmTest.SMALL);
      answer.to(request.id());
      return active.poll(SOON);
    }
  }

  @DeviceTest
  void answerCarriesTheLongestPrivateData() throws Exception {
    ConnectionEvent answer =
        lookUp(request -> request.accept(ConnectionParameters.DEFAULT, RdmaCmTest.ones(136)));
    assertEquals(EventType.ESTABLISHED, answer.type());
    RdmaCmTest.assertStartsWith(RdmaCmTest.ones(136), answer.privateData());
    ConnectionEvent refusal =
        lookUp(
            request ->
                RdmaCmTest.assertTooLong(
                    137, data -> request.accept(ConnectionParameters.DEFAULT, data)));
    assertEquals(EventType.UNREACHABLE, refusal.type());
  }

  @DeviceTest
  void rejectionCarriesTheLongestPrivateData() throws Exception {
    ConnectionEvent refusal =
        lookUp(
            request -> {
              RdmaCmTest.assertTooLong(137, request::reject);
              request.reject(RdmaCmTest.ones(136));
            });
    assertEquals(EventType.UNREACHABLE, refusal.type());
    RdmaCmTest.assertStartsWith(RdmaCmTest.ones(136), refusal.privateData());
  }

  @DeviceTest
  void joinsAndLeaves() throws Exception {
    InetSocketAddress group = new InetSocketAddress("239.7.7.8", 0);
    try (EventChannel channel = EventChannel.open()) {
      ConnectionId id = member(channel, Rig.addressA());
      assertThrows(VerbsException.class, () -> id.multicast().leave(group));
      id.multicast().join(group, JoinFlag.FULLMEMBER, 0x1234_5678_9abcL);
      ConnectionEvent joined = Identifiers.next(channel, EventType.MULTICAST_JOIN);
      assertEquals(0x1234_5678_9abcL, joined.argument());
      assertEquals(0xff_ffff, joined.datagram().orElseThrow().queuePairNumber());
      id.multicast().leave(group);
      assertThrows(VerbsException.class, () -> id.multicast().leave(group));
    }
  }

  private static ConnectionId member(EventChannel channel, InetAddress address) {
    ConnectionId id = channel.createId(PortSpace.UDP);
    id.bind(new InetSocketAddress(address, 0));
    id.queues().createQueuePair(RdmaCmTest.SMALL);
    return id;
  }
}
