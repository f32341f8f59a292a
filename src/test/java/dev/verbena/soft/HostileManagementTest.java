package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.EventType;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PortSpace;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.testing.Await;
import dev.verbena.values.QueuePairCapacity;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Hostile messages of the communication manager: a stranger neither ends the connections of others
 * nor occupies the device, nor has it send to others.
 */
class HostileManagementTest {
  private static final Duration LONG = Duration.ofMinutes(2);
  private static final int SERVICE = 7471;
  private static final int PEER_ID = 0x4001;
  private static final int PEER_NUMBER = 0x55;
  private static final long PEER_GUID = 0x0200_0000_0000_0111L;
  private static final int ACK_TIMEOUT = 17;
  private static final int LONGEST = 31;
  private static final int NO_SERVICE = 8;
  private static final int STALE = 10;
  private static final int INVALID_GID = 12;
  private static final int CONSUMER = 28;

  /** How many requests and connections in TIMEWAIT a peer may occupy. */
  private static final int QUOTA_OF_A_SOURCE = 128;

  private final int port = UdpNetworkTest.freePort();
  private final InetSocketAddress device = UdpNetworkTest.at("127.0.0.2", port);
  private final InetAddress own = device.getAddress();
  private final SoftNetwork network = SoftNetwork.overUdp(device);

  /** The peer of a connection, and others. */
  private final RawRoce peer = raw("127.0.0.1");

  private final RawRoce stranger = raw("127.0.0.3");
  private final RawRoce bystander = raw("127.0.0.4");

  HostileManagementTest() throws IOException {}

  private RawRoce raw(String address) throws IOException {
    return new RawRoce(UdpNetworkTest.at(address, port), device);
  }

  @AfterEach
  void close() throws IOException {
    network.close();
    peer.close();
    stranger.close();
    bystander.close();
  }

  private Listener listen() throws Exception {
    return network.call(() -> Listener.open(new InetSocketAddress(own, SERVICE)));
  }

  /** Waits for a message. */
  private static RawRoce.Mad next(RawRoce to, int attribute) {
    RawRoce.Mad[] found = new RawRoce.Mad[1];
    Await.until(
        "message 0x" + Integer.toHexString(attribute),
        () -> {
          RawRoce.Mad mad = to.poll();
          found[0] = mad != null && mad.attribute() == attribute ? mad : null;
          return found[0] != null;
        });
    return found[0];
  }

  /** Waits until all that was sent is handled. */
  private void settle() {
    long sent = peer.packetsOut() + stranger.packetsOut() + bystander.packetsOut();
    Await.until(
        sent + " packets that are handled",
        () ->
            network.engine.locked(
                    () -> network.fabric.devices().getFirst().counters.receivedPackets)
                >= sent);
    Await.until("an idle network", network.engine::isIdle);
  }

  private int timers() {
    return network.engine.locked(network.engine.timers()::size);
  }

  private void request(RawRoce from, int id, int ackTimeout) throws IOException {
    from.manage(
        RawRoce.REQ,
        RawRoce.request(id, PEER_GUID, id & 0xfff, from.address, own, SERVICE, ackTimeout));
  }

  /** The id that the device has given to a request, as a MRA tells it. */
  private int learn(RawRoce from, int id) throws IOException {
    request(from, id, ACK_TIMEOUT);
    request(from, id, ACK_TIMEOUT);
    return next(from, RawRoce.MRA).id();
  }

  /** A connection of the peer that is established. */
  private final class Established implements AutoCloseable {
    final Listener listener = listen();
    final Endpoint endpoint;
    final int id;
    final int number;

    Established(int ackTimeout) throws Exception {
      peer.manage(
          RawRoce.REQ,
          RawRoce.request(PEER_ID, PEER_GUID, PEER_NUMBER, peer.address, own, SERVICE, ackTimeout));
      endpoint = listener.take();
      var _ = endpoint.id().queues().createQueuePair(QueuePairCapacity.of(1));
      FutureTask<Void> accepting =
          new FutureTask<>(
              () -> {
                endpoint.accept(ConnectionParameters.DEFAULT, new byte[0], LONG);
                return null;
              });
      Thread.ofVirtual().start(accepting);
      RawRoce.Mad reply = next(peer, RawRoce.REP);
      id = reply.id();
      number = reply.message().getInt(12) >>> 8;
      peer.manage(RawRoce.RTU, PEER_ID, id);
      accepting.get();
    }

    void assertLives(String what) {
      settle();
      assertTrue(endpoint.end().isEmpty(), what);
      RawRoce.Mad sent = peer.poll();
      assertNull(sent, what);
    }

    /** The peer itself ends it. */
    void end() throws IOException {
      peer.manage(RawRoce.DREQ, RawRoce.disconnection(PEER_ID, id, number));
      Await.until("the end", () -> endpoint.end().isPresent());
      endpoint.close();
      assertEquals(PEER_ID, next(peer, RawRoce.DREP).peerId());
    }

    @Override
    public void close() {
      endpoint.close();
      listener.close();
    }
  }

  /** All messages that name a connection, but for REQ. */
  private static List<RawRoce.Mad> messages(int id, int peerId, int number) {
    List<RawRoce.Mad> all = new ArrayList<>();
    for (int about = 0; about <= 2; about++) {
      all.add(new RawRoce.Mad(RawRoce.REJ, RawRoce.rejection(id, peerId, about, CONSUMER)));
      all.add(new RawRoce.Mad(RawRoce.REJ, RawRoce.rejection(id, peerId, about, STALE)));
      all.add(new RawRoce.Mad(RawRoce.MRA, RawRoce.delay(id, peerId, about, LONGEST)));
    }
    ByteBuffer timeout = RawRoce.rejection(id, peerId, 2, 4).put(9, (byte) (8 << 1));
    all.add(new RawRoce.Mad(RawRoce.REJ, timeout.putLong(12, PEER_GUID)));
    all.add(new RawRoce.Mad(RawRoce.DREQ, RawRoce.disconnection(id, peerId, number)));
    all.add(new RawRoce.Mad(RawRoce.REP, RawRoce.reply(id, peerId, 0x99, PEER_GUID)));
    for (int attribute :
        new int[] {RawRoce.RTU, RawRoce.DREP, RawRoce.LAP, RawRoce.APR, RawRoce.SIDR_REP}) {
      all.add(new RawRoce.Mad(attribute, RawRoce.message(id, peerId)));
    }
    return all;
  }

  // Whose message it is

  @Test
  void messagesFromAnotherAddressDoNotConcernAConnection() throws Exception {
    try (Established connection = new Established(ACK_TIMEOUT)) {
      for (RawRoce.Mad message : messages(PEER_ID, connection.id, connection.number)) {
        stranger.manage(message.attribute(), message.message());
        connection.assertLives("0x" + Integer.toHexString(message.attribute()));
      }
      connection.end();
    }
  }

  @Test
  void messagesWithAnotherIdDoNotConcernAConnection() throws Exception {
    try (Established connection = new Established(ACK_TIMEOUT)) {
      for (RawRoce.Mad message : messages(PEER_ID + 1, connection.id, connection.number)) {
        peer.manage(message.attribute(), message.message());
        settle();
        assertTrue(connection.endpoint.end().isEmpty(), message::toString);
      }
      assertEquals(PEER_ID + 1, next(peer, RawRoce.DREP).peerId(), "of an unknown connection");
      connection.end();
    }
  }

  @Test
  void aRequestThatNamesTheQueuePairOfAnotherHostDoesNotEndItsConnection() throws Exception {
    try (Established connection = new Established(ACK_TIMEOUT)) {
      stranger.manage(
          RawRoce.REQ,
          RawRoce.request(7, PEER_GUID, PEER_NUMBER, stranger.address, own, SERVICE, ACK_TIMEOUT));
      connection.assertLives("REQ");
      connection.end();
    }
  }

  /** It might be that of a stranger who has written the peer's address into it. */
  @Test
  void anotherDeviceAtTheAddressEndsAConnectionOnceItHasAnswered() throws Exception {
    int other = PEER_ID + 1;
    try (Established connection = new Established(ACK_TIMEOUT)) {
      peer.manage(
          RawRoce.REQ,
          RawRoce.request(other, PEER_GUID + 1, 9, peer.address, own, SERVICE, ACK_TIMEOUT));
      try (Endpoint endpoint = connection.listener.take()) {
        connection.assertLives("REQ");
        var _ = endpoint.id().queues().createQueuePair(QueuePairCapacity.of(1));
        endpoint.id().accept(ConnectionParameters.DEFAULT, new byte[0]);
        int id = next(peer, RawRoce.REP).id();
        stranger.manage(RawRoce.RTU, other, id);
        peer.manage(RawRoce.RTU, other, id + 1);
        peer.manage(RawRoce.RTU, other + 1, id);
        peer.manage(RawRoce.RTU, PEER_ID, connection.id);
        connection.assertLives("RTU");
        peer.manage(RawRoce.RTU, other, id);
        RawRoce.Mad end = next(peer, RawRoce.DREQ);
        assertEquals(PEER_ID, end.peerId());
        peer.manage(RawRoce.DREP, PEER_ID, connection.id);
        Await.until("the end", () -> connection.endpoint.end().isPresent());
        assertTrue(endpoint.end().isEmpty());
      }
    }
  }

  @Test
  void idsCannotBeGuessed() throws Exception {
    try (Listener _ = listen()) {
      List<Integer> ids = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        int learned = learn(stranger, 0x100 + i);
        for (int known : ids) {
          assertTrue(Math.abs((long) known - learned) > 82, ids + " and " + learned);
        }
        ids.add(learned);
      }
    }
  }

  @Test
  void aRequestIsAnsweredByItsPeerAlone() throws Exception {
    InetSocketAddress server = UdpNetworkTest.at("127.0.0.1", SERVICE);
    try (Endpoint endpoint =
        network.call(() -> Endpoint.resolve(PortSpace.TCP, null, server, LONG))) {
      var _ = endpoint.id().queues().createQueuePair(QueuePairCapacity.of(1));
      FutureTask<ConnectionEvent> connecting =
          new FutureTask<>(() -> endpoint.connect(ConnectionParameters.DEFAULT, new byte[0], LONG));
      Thread.ofVirtual().start(connecting);
      RawRoce.Mad request = next(peer, RawRoce.REQ);
      for (RawRoce.Mad message : messages(PEER_ID, request.id(), 0)) {
        stranger.manage(message.attribute(), message.message());
        settle();
        assertFalse(connecting.isDone(), message::toString);
      }
      peer.manage(RawRoce.REP, RawRoce.reply(PEER_ID, request.id(), PEER_NUMBER, PEER_GUID));
      RawRoce.Mad ready = next(peer, RawRoce.RTU);
      assertEquals(PEER_ID, ready.peerId());
      assertEquals(EventType.ESTABLISHED, connecting.get().type());
    }
  }

  @Test
  void aLookUpIsAnsweredByItsPeerAlone() throws Exception {
    InetSocketAddress server = UdpNetworkTest.at("127.0.0.1", SERVICE);
    try (Endpoint endpoint =
        network.call(() -> Endpoint.resolve(PortSpace.UDP, null, server, LONG))) {
      var _ = endpoint.id().queues().createQueuePair(QueuePairCapacity.of(1));
      FutureTask<ConnectionEvent> connecting =
          new FutureTask<>(() -> endpoint.connect(ConnectionParameters.DEFAULT, new byte[0], LONG));
      Thread.ofVirtual().start(connecting);
      RawRoce.Mad request = next(peer, RawRoce.SIDR_REQ);
      ByteBuffer refusal = RawRoce.message(request.id(), 0).put(4, (byte) 2);
      refusal.putLong(12, request.message().getLong(8));
      stranger.manage(RawRoce.SIDR_REP, refusal);
      settle();
      assertFalse(connecting.isDone());
      peer.manage(RawRoce.SIDR_REP, refusal.put(4, (byte) 0).putInt(8, PEER_NUMBER << 8));
      assertEquals(EventType.ESTABLISHED, connecting.get().type());
    }
  }

  // How long

  @Test
  void timewaitEndsSoonWhateverThePeerSays() throws Exception {
    try (Established connection = new Established(LONGEST)) {
      connection.end();
      assertTrue(timers() > 0, "no TIMEWAIT");
      Await.until("the end of TIMEWAIT", () -> timers() == 0);
    }
  }

  @Test
  void thePeerPostponesItsAnswerForALimitedTime() throws Exception {
    InetSocketAddress server = UdpNetworkTest.at("127.0.0.1", SERVICE);
    try (Endpoint endpoint =
        network.call(() -> Endpoint.resolve(PortSpace.TCP, null, server, LONG))) {
      var _ = endpoint.id().queues().createQueuePair(QueuePairCapacity.of(1));
      endpoint.id().connect(ConnectionParameters.DEFAULT, new byte[0]);
      RawRoce.Mad request = next(peer, RawRoce.REQ);
      peer.manage(RawRoce.MRA, RawRoce.delay(PEER_ID, request.id(), 0, LONGEST));
      settle();
      long first = wait(network);
      assertTrue(first < Duration.ofSeconds(70).toNanos(), first + " ns");
      peer.manage(RawRoce.MRA, RawRoce.delay(PEER_ID, request.id(), 0, LONGEST));
      settle();
      long again = wait(network);
      assertTrue(again < first, "the second MRA postpones once more: " + again + " ns");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 15})
  void thePeerDoesNotHaveARequestSentAgainAtOnce(int exponent) throws Exception {
    InetSocketAddress server = UdpNetworkTest.at("127.0.0.1", SERVICE);
    try (Endpoint endpoint =
        network.call(() -> Endpoint.resolve(PortSpace.TCP, null, server, LONG))) {
      var _ = endpoint.id().queues().createQueuePair(QueuePairCapacity.of(1));
      endpoint.id().connect(ConnectionParameters.DEFAULT, new byte[0]);
      RawRoce.Mad request = next(peer, RawRoce.REQ);
      long sent = System.nanoTime();
      peer.manage(RawRoce.MRA, RawRoce.delay(0, request.id(), 0, exponent));
      next(peer, RawRoce.REQ);
      long after = System.nanoTime() - sent;
      assertTrue(after >= Duration.ofMillis(268).toNanos(), after + " ns");
    }
  }

  /** How long until the next timer of a network expires. */
  private static long wait(SoftNetwork network) {
    return network.engine.locked(() -> network.engine.timers().earliest() - network.engine.now());
  }

  @Test
  void requestsThatAreTakenBackLeaveNothing() throws Exception {
    try (Listener listener = listen()) {
      for (int i = 0; i < 300; i++) {
        int id = learn(stranger, 0x1000 + i);
        stranger.manage(RawRoce.REJ, RawRoce.rejection(0x1000 + i, id, 1, STALE));
        settle();
        listener.take().close();
      }
      assertEquals(0, timers(), "exchanges that wait in TIMEWAIT");
    }
  }

  @Test
  void exchangesInTimewaitAreLimited() throws Exception {
    int connections = 200;
    int most = 0;
    try (Listener listener = listen()) {
      for (int i = 0; i < connections; i++) {
        int id = 0x1000 + i;
        request(peer, id, LONGEST);
        try (Endpoint endpoint = listener.take()) {
          var _ = endpoint.id().queues().createQueuePair(QueuePairCapacity.of(1));
          endpoint.id().accept();
          RawRoce.Mad reply = next(peer, RawRoce.REP);
          peer.manage(RawRoce.REJ, RawRoce.rejection(id, reply.id(), 1, STALE));
          settle();
          most = Math.max(most, timers());
        }
      }
      assertTrue(most <= QUOTA_OF_A_SOURCE + 1, most + " timers");
      Await.until("the end of TIMEWAIT", () -> timers() == 0);
    }
  }

  // How many

  @Test
  void manyRequestsOfOneAddressLeaveRoomForOthers() throws Exception {
    try (Listener listener = listen()) {
      for (int i = 0; i < 2000; i++) {
        request(stranger, 0x1000 + i, ACK_TIMEOUT);
        if (i % 100 == 99) {
          settle(); // The socket's buffer holds them.
        }
      }
      request(peer, PEER_ID, ACK_TIMEOUT);
      request(peer, PEER_ID, ACK_TIMEOUT);
      settle();
      assertEquals(PEER_ID, next(peer, RawRoce.MRA).peerId(), "the request of another address");
      int taken = 0;
      InetAddress source;
      do {
        try (Endpoint request = Objects.requireNonNull(listener.poll(LONG))) {
          source = request.id().peerAddress().orElseThrow().getAddress();
          taken++;
        }
      } while (!source.equals(peer.address));
      assertTrue(taken <= QUOTA_OF_A_SOURCE + 1, taken + " requests");
    }
  }

  @Test
  void manyLookUpsOfOneAddressLeaveRoomForOthers() throws Exception {
    InetSocketAddress address = new InetSocketAddress(own, SERVICE);
    try (Listener listener = network.call(() -> Listener.open(PortSpace.UDP, address, 0))) {
      for (int i = 0; i < 2000; i++) {
        stranger.manage(
            RawRoce.SIDR_REQ, RawRoce.lookup(0x1000 + i, stranger.address, own, SERVICE));
        if (i % 100 == 99) {
          settle();
        }
      }
      peer.manage(RawRoce.SIDR_REQ, RawRoce.lookup(PEER_ID, peer.address, own, SERVICE));
      settle();
      assertNull(peer.poll(), "it is refused");
      assertNull(stranger.poll(), "those beyond are dropped");
      int taken = 0;
      InetAddress source;
      do {
        try (Endpoint request = Objects.requireNonNull(listener.poll(LONG))) {
          source = request.id().peerAddress().orElseThrow().getAddress();
          taken++;
        }
      } while (!source.equals(peer.address));
      assertTrue(taken <= QUOTA_OF_A_SOURCE + 1, taken + " requests");
    }
  }

  // Where answers go

  @Test
  void nothingIsSentToAnAddressThatOnlyTheRequestNames() throws Exception {
    try (Listener listener = listen()) {
      Set<Endpoint> accepted = new HashSet<>();
      Thread accepting =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      while (true) {
                        Endpoint endpoint = listener.take();
                        accepted.add(endpoint);
                        var _ = endpoint.id().queues().createQueuePair(QueuePairCapacity.of(1));
                        endpoint.id().accept();
                      }
                    } catch (InterruptedException e) {
                      accepted.forEach(Endpoint::close);
                    }
                  });
      ByteBuffer req =
          RawRoce.request(7, PEER_GUID, 8, bystander.address, own, SERVICE, ACK_TIMEOUT);
      stranger.manage(RawRoce.REQ, req.putInt(44, 0x111 << 8 | 7)); // Sends again at once.
      stranger.manage(RawRoce.SIDR_REQ, RawRoce.lookup(9, bystander.address, own, SERVICE));
      settle();
      Await.until("an answer", () -> bystander.packetsIn() > 0 || stranger.packetsIn() > 0);
      settle();
      accepting.interrupt();
      accepting.join();
      settle();
      System.out.printf(
          "a REQ of 300 bytes with the address of another host: %,d packets, %,d bytes to it%n",
          bystander.packetsIn(), bystander.bytesIn());
      assertEquals(0, bystander.packetsIn());
      assertEquals(INVALID_GID, next(stranger, RawRoce.REJ).reason());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"10.77.0.2", "10.77.0.3"})
  void aRejectionComesFromTheAddressThatWasAsked(String asked) throws Exception {
    try (SoftNetwork local = SoftNetwork.create()) {
      var _ = local.addDevice("client", InetAddress.getByName("10.77.0.1"));
      var _ =
          local.addDevice(
              "server", InetAddress.getByName("10.77.0.2"), InetAddress.getByName("10.77.0.3"));
      InetSocketAddress nobody = new InetSocketAddress(InetAddress.getByName(asked), SERVICE);
      Endpoint endpoint = local.call(() -> Endpoint.resolve(PortSpace.TCP, null, nobody, LONG));
      var _ = endpoint.id().queues().createQueuePair(QueuePairCapacity.of(1));
      String message = "";
      try {
        var _ = endpoint.connect(ConnectionParameters.DEFAULT, new byte[0], LONG);
      } catch (dev.verbena.cm.ConnectionException e) {
        message = e.event().type() + " " + e.event().status();
      }
      assertEquals("REJECTED " + NO_SERVICE, message);
      endpoint.close();
    }
  }

  @Test
  void aConnectionIsEstablishedAfterAllThat() throws Exception {
    InetSocketAddress server = new InetSocketAddress(own, SERVICE);
    try (Listener listener = listen();
        SoftNetwork client = SoftNetwork.overUdp(UdpNetworkTest.at("127.0.0.5", port))) {
      for (int i = 0; i < 500; i++) {
        request(stranger, 0x1000 + i, ACK_TIMEOUT);
      }
      settle();
      FutureTask<byte[]> accepting =
          new FutureTask<>(
              () -> {
                while (true) {
                  Endpoint request = listener.take();
                  InetAddress from = request.id().peerAddress().orElseThrow().getAddress();
                  if (from.equals(stranger.address)) {
                    request.close();
                  } else {
                    try (Connection accepted =
                        Connection.accept(request, ConnectionSettings.DEFAULT.withTimeout(LONG))) {
                      return accepted.receive();
                    }
                  }
                }
              });
      Thread.ofVirtual().start(accepting);
      try (Connection connection =
          client.call(
              () -> Connection.connect(server, ConnectionSettings.DEFAULT.withTimeout(LONG)))) {
        connection.send(new byte[] {1, 2, 3});
        assertEquals(3, accepting.get().length);
      }
    }
  }
}
