package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import dev.verbena.verbs.QueuePairCapacity;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
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
      client.createQueuePair(SMALL);
      client.connect(ConnectionParameters.DEFAULT.withReadDepth(3), hello);

      ConnectionEvent request = next(passive, EventType.CONNECT_REQUEST);
      assertEquals(listener, request.listener().orElseThrow());
      assertStartsWith(hello, request.privateData());
      assertEquals(3, request.connection().orElseThrow().responderResources());
      assertEquals(7, request.connection().orElseThrow().retryCount());
      ConnectionId server = request.id();
      assertEquals(Rig.b().name(), server.context().device().name());
      server.createQueuePair(SMALL);
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

  static void assertStartsWith(byte[] expected, byte[] padded) {
    assertTrue(padded.length >= expected.length, () -> Arrays.toString(padded));
    assertArrayEquals(expected, Arrays.copyOf(padded, expected.length));
    for (int i = expected.length; i < padded.length; i++) {
      assertEquals(0, padded[i], "padding is not zero");
    }
  }
}
