package dev.verbena.soft;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.cm.Listener;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.soft.device.DeviceCounters;
import dev.verbena.testing.Await;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Devices over UDP that exchange packets on the loopback interface. */
class UdpNetworkTest {
  /** Two networks of one device each. */
  static final class Pair implements AutoCloseable {
    final SoftNetwork left;
    final SoftNetwork right;

    Pair() throws IOException {
      int port = freePort();
      left = SoftNetwork.overUdp(at("127.0.0.1", port));
      right = SoftNetwork.overUdp(at("127.0.0.2", port));
    }

    @Override
    public void close() {
      left.close();
      right.close();
    }
  }

  /** Two connected RC queue pairs. */
  static final class Ends implements AutoCloseable {
    final SoftPair.End a;
    final SoftPair.End b;

    Ends(Pair pair) {
      this(pair.left, pair.right);
    }

    Ends(SoftNetwork left, SoftNetwork right) {
      a = new SoftPair.End(left.device());
      b = new SoftPair.End(right.device());
      var addressOfB = b.queuePair.localAddress();
      b.queuePair.connect(a.queuePair.localAddress());
      a.queuePair.connect(addressOfB);
    }

    @Override
    public void close() {
      a.context.close();
      b.context.close();
      a.arena.close();
      b.arena.close();
    }
  }

  static InetSocketAddress at(String address, int port) throws IOException {
    return new InetSocketAddress(InetAddress.getByName(address), port);
  }

  /** A UDP port that nobody has. */
  static int freePort() throws IOException {
    try (DatagramSocket socket = new DatagramSocket()) {
      return socket.getLocalPort();
    }
  }

  private static DeviceCounters counters(SoftNetwork network) {
    return network.engine.locked(() -> network.fabric.devices().getFirst().counters);
  }

  @Test
  void messagesArriveOverReliableConnections() throws Exception {
    try (Pair pair = new Pair();
        Ends ends = new Ends(pair)) {
      SoftPair.transfer(ends.a, ends.b, 20, 50_000);
      assertTrue(counters(pair.right).receivedPackets >= 20 * 50_000 / 4096);
      assertEquals(0, counters(pair.right).corruptPackets);
      assertEquals(0, counters(pair.right).malformedPackets);
      assertEquals(0, counters(pair.left).corruptPackets);
    }
  }

  @Test
  void writesReadsAndAtomicsAreExecuted() throws Exception {
    try (Pair pair = new Pair();
        Ends ends = new Ends(pair)) {
      SoftPair.End a = ends.a;
      SoftPair.End b = ends.b;
      for (int i = 0; i < 20_000; i++) {
        a.memory.set(ValueLayout.JAVA_BYTE, i, (byte) (i * 7));
      }
      SendList sends = new SendList(3, 1);
      sends
          .write(0)
          .local(a.region, 0, 20_000)
          .remote(b.region.start(), b.region.rkey())
          .signaled();
      sends
          .read(1)
          .local(a.region, 30_000, 20_000)
          .remote(b.region.start(), b.region.rkey())
          .signaled();
      sends
          .fetchAndAdd(2, 5)
          .local(a.region, 60_000, 8)
          .remote(b.region.start(), b.region.rkey())
          .signaled();
      assertEquals(3, a.queuePair.post(sends));
      for (int i = 0; i < 3; i++) {
        assertEquals(CompletionStatus.SUCCESS, SoftPair.await(a.completions));
      }
      assertEquals(
          -1, a.memory.asSlice(0, 20_000).mismatch(a.memory.asSlice(30_000, 20_000)), "read back");
      long original = a.memory.get(ValueLayout.JAVA_LONG, 0);
      assertEquals(original, a.memory.get(ValueLayout.JAVA_LONG, 60_000));
      assertEquals(original + 5, b.memory.get(ValueLayout.JAVA_LONG, 0));
    }
  }

  @Test
  void packetsWithAWrongIcrcAreDroppedAndSentAgain() throws Exception {
    try (Pair pair = new Pair();
        Ends ends = new Ends(pair)) {
      pair.left.faults().seed(3).corrupt(0.2);
      SoftPair.transfer(ends.a, ends.b, 10, 30_000);
      assertTrue(counters(pair.right).corruptPackets > 0, "none was dropped");
      assertTrue(counters(pair.left).retransmissions > 0, "none was sent again");
    }
  }

  @Test
  void connectionsAreEstablishedByCommunicationManagement() throws Exception {
    try (Pair pair = new Pair()) {
      InetSocketAddress server = at("127.0.0.2", 7471);
      try (Listener listener = pair.right.call(() -> Listener.open(server))) {
        FutureTask<Connection> accepting =
            new FutureTask<>(
                () ->
                    Connection.accept(
                        listener.take(), ConnectionSettings.DEFAULT.withTimeout(Await.LIMIT)));
        Thread.ofVirtual().start(accepting);
        try (Connection client =
                pair.left.call(
                    () ->
                        Connection.connect(
                            server, ConnectionSettings.DEFAULT.withTimeout(Await.LIMIT)));
            Connection accepted = accepting.get()) {
          client.send("hello".getBytes(UTF_8));
          assertArrayEquals("hello".getBytes(UTF_8), accepted.receive());
        }
      }
    }
  }

  @Test
  void aPortInUseIsReported() throws IOException {
    try (DatagramSocket socket = new DatagramSocket(at("127.0.0.1", 0))) {
      VerbsException e =
          assertThrows(
              VerbsException.class,
              () -> SoftNetwork.overUdp(at("127.0.0.1", socket.getLocalPort())));
      assertEquals(Errno.EADDRINUSE, e.errno());
      assertTrue(e.getMessage().contains("Soft-RoCE"), e.getMessage());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"192.0.2.77", "2001:db8::77"})
  void anAddressOfAnotherHostIsReported(String address) throws IOException {
    InetSocketAddress other = new InetSocketAddress(InetAddress.getByName(address), freePort());
    VerbsException e = assertThrows(VerbsException.class, () -> SoftNetwork.overUdp(other));
    assertTrue(e.getMessage().contains(address.contains(":") ? "77" : address), e.getMessage());
  }

  @ParameterizedTest
  @CsvSource({
    "udp:127.0.0.1, 127.0.0.1, 4791",
    "udp:127.0.0.1:5000, 127.0.0.1, 5000",
    "udp:fd00::1, fd00:0:0:0:0:0:0:1, 4791",
    "udp:[fd00::1]:5000, fd00:0:0:0:0:0:0:1, 5000"
  })
  void descriptionsNameAddressAndPort(String description, String address, int port) {
    InetSocketAddress described = DescribedDevices.udpAddress(description);
    assertEquals(address, described.getAddress().getHostAddress());
    assertEquals(port, described.getPort());
  }

  @ParameterizedTest
  @ValueSource(strings = {"udp:", "udp:localhost", "udp:127.0.0.1:70000", "udp:127.0.0.1:x"})
  void wrongDescriptionsAreRefused(String description) {
    assertThrows(IllegalArgumentException.class, () -> DescribedDevices.udpAddress(description));
  }

  @Test
  void aNetworkOverUdpHasOneDevice() throws IOException {
    InetSocketAddress local = at("127.0.0.1", freePort());
    try (SoftNetwork network = SoftNetwork.overUdp(local)) {
      assertEquals("udp0", network.device().name());
      assertThrows(
          IllegalStateException.class,
          () -> network.addDevice("second", InetAddress.getByName("127.0.0.3")));
    }
    SoftNetwork.overUdp(local).close(); // The port is free again.
  }

  @Test
  void aPeerWithoutRouteIsReported() throws Exception {
    try (Pair pair = new Pair()) {
      InetSocketAddress elsewhere = at("198.51.100.1", 7471);
      VerbsException e =
          assertThrows(
              VerbsException.class, () -> pair.left.call(() -> Connection.connect(elsewhere)));
      assertEquals(Errno.ENETUNREACH, e.errno());
      assertTrue(e.getMessage().contains("no device over UDP has a route"), e.getMessage());
    }
  }

  @Test
  void peersThatAreReachedByAnotherInterfaceAreNotServed() throws Exception {
    try (Pair pair = new Pair()) {
      assertTrue(pair.left.provider().serves(InetAddress.getByName("127.0.0.77")));
      assertFalse(pair.left.provider().serves(InetAddress.getByName("198.51.100.1")));
      assertFalse(pair.left.provider().serves(InetAddress.ofLiteral("2001:db8::1")));
    }
  }

  @Test
  void wildcardAddressesAreRefused() {
    assertThrows(IllegalArgumentException.class, () -> SoftNetwork.overUdp(at("0.0.0.0", 4791)));
  }
}
