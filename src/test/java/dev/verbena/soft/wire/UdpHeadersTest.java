package dev.verbena.soft.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.io.UdpSocket;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The IP and UDP headers of packets, as the socket of the peer shows them: traffic class, hop limit
 * and source port.
 */
class UdpHeadersTest {
  private static final int CONTROL_LENGTH_AT = 40;
  private static final int CONTROL_DATA = 16;
  private static final int ORDINARY_HOP_LIMIT = 64;

  /** What the socket of a peer received. */
  private record Received(int sourcePort, int trafficClass, int hopLimit, boolean isCorrect) {}

  /** Two addresses on the loopback interface: IPv6 has one, so that the peer has another port. */
  private static Received exchange(String from, String to, Packet packet) throws Throwable {
    InetSocketAddress local = new InetSocketAddress(InetAddress.getByName(from), freePort());
    InetSocketAddress peer = new InetSocketAddress(InetAddress.getByName(to), freePort());
    Gids source = Gids.of(local.getAddress());
    Gids destination = Gids.of(peer.getAddress());
    packet.sourceGidHigh = source.high();
    packet.sourceGidLow = source.low();
    packet.destinationGidHigh = destination.high();
    packet.destinationGidLow = destination.low();
    boolean ipv4 = destination.isIpv4();
    UdpMessages messages = new UdpMessages(ipv4);
    try (UdpSocket socket = UdpSocket.open(local);
        UdpSocket receiver = UdpSocket.open(peer);
        SourcePorts sources = new SourcePorts(socket, local, 1 << 16)) {
      showHeaders(receiver.descriptor(), ipv4);
      UdpSender sender = new UdpSender(sources, peer.getPort(), ipv4);
      sender.send(packet);
      sender.flush();
      Memory.putLong(messages.message(0) + CONTROL_LENGTH_AT, 64);
      while (receiver.receive(messages.message(0), 1) <= 0) {
        Thread.onSpinWait();
      }
    }
    return received(messages, peer.getPort(), packet);
  }

  private static int freePort() throws IOException {
    try (DatagramSocket any = new DatagramSocket(0)) {
      return any.getLocalPort();
    }
  }

  private static Received received(UdpMessages messages, int port, Packet addresses) {
    int trafficClass = -1;
    int hopLimit = -1;
    long end = messages.control(0) + Memory.getLong(messages.message(0) + CONTROL_LENGTH_AT);
    for (long at = messages.control(0); at < end; at += (Memory.getLong(at) + 7) & -8) {
      switch (Memory.getInt(at + 12)) {
        case 1 -> trafficClass = Memory.at(at + CONTROL_DATA, 1).get(ValueLayout.JAVA_BYTE, 0);
        case 67 -> trafficClass = Memory.getInt(at + CONTROL_DATA);
        case 2, 52 -> hopLimit = Memory.getInt(at + CONTROL_DATA);
        default -> throw new AssertionError("control message " + Memory.getInt(at + 12));
      }
    }
    int source = Short.toUnsignedInt(Short.reverseBytes(Memory.getShort(messages.name(0) + 2)));
    Icrc icrc = new Icrc();
    icrc.ports(source, port);
    int length = Memory.getInt(messages.message(0) + UdpSocket.MESSAGE_LENGTH) - Icrc.LENGTH;
    int crc = icrc.compute(addresses, messages.buffer(0).clear(), messages.payload(0), length);
    return new Received(
        source, trafficClass & 0xff, hopLimit, crc == Memory.getInt(messages.payload(0) + length));
  }

  /** Sets IP_RECVTOS and IP_RECVTTL, or IPV6_RECVTCLASS and IPV6_RECVHOPLIMIT. */
  private static void showHeaders(int descriptor, boolean ipv4) throws Throwable {
    var setsockopt =
        Linker.nativeLinker()
            .downcallHandle(
                Linker.nativeLinker().defaultLookup().find("setsockopt").orElseThrow(),
                FunctionDescriptor.of(
                    ValueLayout.JAVA_INT,
                    ValueLayout.JAVA_INT,
                    ValueLayout.JAVA_INT,
                    ValueLayout.JAVA_INT,
                    ValueLayout.ADDRESS,
                    ValueLayout.JAVA_INT));
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment one = arena.allocateFrom(ValueLayout.JAVA_INT, 1);
      for (int option : ipv4 ? new int[] {13, 12} : new int[] {66, 51}) {
        assertEquals(0, (int) setsockopt.invokeExact(descriptor, ipv4 ? 0 : 41, option, one, 4));
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"127.0.0.1, 127.0.0.2", "::1, ::1"})
  void trafficClassAndHopLimitAreThoseOfThePath(String from, String to) throws Throwable {
    Packet packet = new Packet().reset(Opcode.RC | Opcode.ACKNOWLEDGE, 0x11, 5);
    packet.trafficClass = (26 << 2) | 2; // DSCP AF31, ECN ECT(0)
    packet.hopLimit = 9;
    Received received = exchange(from, to, packet);
    assertEquals(0x6a, received.trafficClass());
    assertEquals(9, received.hopLimit());
    assertTrue(received.isCorrect(), "ICRC");
  }

  @ParameterizedTest
  @CsvSource({"127.0.0.1, 127.0.0.2", "::1, ::1"})
  void withoutThemTheyAreOrdinary(String from, String to) throws Throwable {
    Received received =
        exchange(from, to, new Packet().reset(Opcode.RC | Opcode.ACKNOWLEDGE, 0x11, 5));
    assertEquals(0, received.trafficClass());
    assertEquals(ORDINARY_HOP_LIMIT, received.hopLimit());
    assertTrue(received.isCorrect(), "ICRC");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 0x12345, 0xfffff})
  void theSourcePortFollowsFromTheFlowLabel(int flowLabel) throws Throwable {
    Packet packet = new Packet().reset(Opcode.RC | Opcode.ACKNOWLEDGE, 0x11, 5);
    packet.flowLabel = flowLabel;
    int port = 0xc000 | ((flowLabel & 0x3fff) ^ (flowLabel >>> 14));
    Received received = exchange("127.0.0.1", "127.0.0.2", packet);
    assertEquals(port, received.sourcePort());
    assertTrue(received.isCorrect(), "ICRC");
  }
}
