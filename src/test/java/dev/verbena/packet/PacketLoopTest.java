package dev.verbena.packet;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.EthernetAddress;
import dev.verbena.flow.FlowFlag;
import dev.verbena.flow.FlowMatch;
import dev.verbena.flow.FlowRule;
import dev.verbena.flow.FlowType;
import dev.verbena.soft.SoftInternals;
import dev.verbena.testing.Await;
import dev.verbena.testing.Frames;
import dev.verbena.util.ReceiveHandler;
import dev.verbena.util.ReceiveRing;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.ReceiveList;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Packets from port to port of the device in memory: rules, loops, checksums. */
class PacketLoopTest {
  private static final Duration SOON = Duration.ofMillis(20);
  private static final Duration LONG = Await.LIMIT;
  private static final String MAC = "02:00:00:00:00:0a";
  private static final int HERE = 0x0a00_0001;
  private static final int THERE = 0x0a00_0002;

  private final Wire wire = new Wire();
  private final PacketPort port = wire.other().open();
  private final PacketBuffers packets = port.packets(Wire.DEPTH).fragment(Wire.FRAME, 0).create();

  @AfterEach
  void close() {
    packets.close();
    port.close();
    wire.close();
  }

  private static byte[] frame(int toPort) {
    return Frames.udp(MAC, HERE, THERE, 3000, toPort, 64);
  }

  private int arrived() throws InterruptedException {
    return port.awaitReceived(SOON);
  }

  private byte[] packet(int number, int length) {
    return packets.fragment(number, 0).asSlice(0, length).toArray(ValueLayout.JAVA_BYTE);
  }

  @Test
  void packetsArriveOnlyWithARule() throws InterruptedException {
    port.startReceiving(packets.receives(4));
    byte[] frame = frame(4000);
    wire.send(frame);
    assertEquals(0, arrived());
    try (FlowRule rule = port.flow().match(FlowMatch.udp().destination(4000)).create()) {
      wire.send(frame, frame(4001));
      assertEquals(1, arrived());
      assertEquals(106, port.received().byteLength(0));
      assertArrayEquals(frame, packet(0, frame.length));
      assertTrue(rule.isOpen());
    }
    wire.send(frame);
    assertEquals(0, arrived());
  }

  private boolean matches(FlowMatch header, byte[] frame) throws InterruptedException {
    try (FlowRule rule = port.flow().match(header).create()) {
      port.startReceiving(packets.receives(1));
      wire.send(frame);
      boolean matched = arrived() == 1;
      assertTrue(rule.isOpen());
      port.queuePair().reset();
      return matched;
    }
  }

  @Test
  void selectorsDistinguishPackets() throws InterruptedException {
    byte[] frame = frame(4000);
    byte[] tagged = Frames.tagged(frame, 5);
    EthernetAddress other = EthernetAddress.parse("02:00:00:00:00:0b");
    assertTrue(matches(FlowMatch.ethernet().destination(EthernetAddress.parse(MAC)), frame));
    assertFalse(matches(FlowMatch.ethernet().destination(other), frame));
    assertTrue(
        matches(FlowMatch.ethernet().source(EthernetAddress.parse("02:00:00:00:00:01")), frame));
    assertFalse(matches(FlowMatch.ethernet().source(other), frame));
    assertTrue(matches(FlowMatch.ethernet().type(0x0800), frame));
    assertTrue(matches(FlowMatch.ethernet().type(0x0800), tagged));
    assertFalse(matches(FlowMatch.ethernet().type(0x0806), frame));
    assertTrue(matches(FlowMatch.ethernet().vlan(5), tagged));
    assertFalse(matches(FlowMatch.ethernet().vlan(6), tagged));
    assertFalse(matches(FlowMatch.ethernet().vlan(5), frame));
    assertFalse(matches(FlowMatch.ethernet().type(0), frame));
    assertTrue(matches(FlowMatch.ethernet().vlan(0, 0).type(0, 0), tagged));
    EthernetAddress group = new EthernetAddress(1L << 40);
    assertTrue(matches(FlowMatch.ethernet().destination(new EthernetAddress(0), group), frame));
    assertFalse(matches(FlowMatch.ethernet().destination(group, group), frame));
    assertTrue(matches(FlowMatch.ipv4().flags(0), frame));
    assertTrue(matches(FlowMatch.udp().destination(4096, 0xf000), Frames.toPort(4097)));
    assertTrue(matches(FlowMatch.ipv4().source(HERE).destination(THERE), tagged));
    assertFalse(matches(FlowMatch.ipv4().source(THERE), frame));
    assertFalse(matches(FlowMatch.ipv4().destination(HERE), frame));
    assertTrue(matches(FlowMatch.ipv4().protocol(17).timeToLive(64), frame));
    assertFalse(matches(FlowMatch.ipv4().protocol(6), frame));
    assertFalse(matches(FlowMatch.ipv4().timeToLive(63), frame));
    assertFalse(matches(FlowMatch.ipv4().typeOfService(4), frame));
    assertFalse(matches(FlowMatch.ipv4().flags(2), frame));
    assertTrue(matches(FlowMatch.udp().source(3000).destination(4000), tagged));
    assertFalse(matches(FlowMatch.udp().source(4000), frame));
    assertFalse(matches(FlowMatch.tcp().destination(4000), frame));
    assertFalse(matches(FlowMatch.udp().destination(0), frame));
  }

  @Test
  void ruleTypesAndPrioritiesApply() throws InterruptedException {
    byte[] unicast = frame(4000);
    byte[] multicast = Frames.udp("01:00:5e:00:00:01", HERE, THERE, 3000, 4000, 64);
    try (PacketPort second = wire.other().open();
        PacketPort sniffer = wire.other().open();
        PacketBuffers ofSecond = second.packets(8).fragment(Wire.FRAME, 0).create();
        PacketBuffers ofSniffer = sniffer.packets(8).fragment(Wire.FRAME, 0).create();
        FlowRule sniffs = sniffer.flow().type(FlowType.SNIFFER).create()) {
      port.startReceiving(packets.receives(8));
      second.startReceiving(ofSecond.receives(8));
      sniffer.startReceiving(ofSniffer.receives(8));

      try (FlowRule all = port.flow().type(FlowType.ALL_DEFAULT).create();
          FlowRule groups = second.flow().type(FlowType.MC_DEFAULT).create()) {
        wire.send(unicast, multicast, unicast);
        assertEquals(2, arrived());
        assertEquals(1, second.awaitReceived(SOON));
        assertEquals(3, sniffer.awaitReceived(SOON));
        assertTrue(all.isOpen() && groups.isOpen());
      }
      try (FlowRule later =
              port.flow().priority(2).match(FlowMatch.ethernet().type(0x0800)).create();
          FlowRule first =
              second.flow().priority(1).match(FlowMatch.udp().destination(4000)).create()) {
        wire.send(frame(4000), frame(4001));
        assertEquals(1, arrived());
        assertEquals(1, second.awaitReceived(SOON));
        assertTrue(later.isOpen() && first.isOpen());
      }
      assertTrue(sniffs.isOpen());
    }
    FlowRule.Builder special = port.flow().flags(FlowFlag.EGRESS);
    assertEquals(Errno.EOPNOTSUPP, assertThrows(VerbsException.class, special::create).errno());
  }

  /** Counts as the exactly-N pattern does, and points requests at packets that were not used. */
  private static final class ExactlyN implements ReceiveHandler {
    private final PacketBuffers packets;
    private final ReceiveList receives;
    private final int wanted;
    private final List<Long> lengths = new ArrayList<>();
    private int posted;
    private int done;

    ExactlyN(PacketBuffers packets, ReceiveList receives, int wanted) {
      this.packets = packets;
      this.receives = receives;
      this.wanted = wanted;
      this.posted = receives.size();
    }

    @Override
    public boolean received(Completions completions, int index, int request) {
      done++;
      lengths.add(completions.byteLength(index));
      if (posted == wanted) {
        return false;
      }
      packets.setPacket(receives, request, posted);
      posted++;
      return true;
    }
  }

  @Test
  void exactlyNPacketsAreReceived() throws Exception {
    ReceiveList receives = packets.receives(3);
    ExactlyN handler = new ExactlyN(packets, receives, 10);
    try (FlowRule rule = port.flow().match(FlowMatch.udp().source(3000)).create()) {
      ReceiveRing ring = port.startReceiving(receives);
      FutureTask<Integer> loop =
          new FutureTask<>(
              () -> {
                int again = 0;
                while (handler.done < handler.wanted && port.awaitReceived(LONG) > 0) {
                  again += ring.handle(port.received(), handler);
                }
                return again;
              });
      Thread.ofPlatform().start(loop);
      for (int i = 0; i < 10; i++) {
        // What comes when nothing is posted is lost.
        Await.until("a receive", () -> memory().waitingReceives() > 0);
        wire.send(Frames.udp(MAC, HERE, THERE, 3000, 5000 + i, i));
      }
      assertEquals(7, loop.get());
      assertEquals(10, handler.posted);
      assertEquals(0, memory().waitingReceives(), "no more than that were posted");
      for (int i = 0; i < 10; i++) {
        assertEquals(42L + i, handler.lengths.get(i));
        byte[] expected = Frames.udp(MAC, HERE, THERE, 3000, 5000 + i, i);
        assertArrayEquals(expected, packet(i, expected.length));
      }
      assertTrue(rule.isOpen());
    }
  }

  private SoftInternals memory() {
    return wire.provider.internals();
  }

  @Test
  void streamIsReceivedUntilATimeout() throws Exception {
    int[] ports = new int[100];
    int[] seen = {0};
    try (FlowRule rule = port.flow().match(FlowMatch.udp().source(3000)).create()) {
      ReceiveRing ring = port.startReceiving(packets.receives(4));
      for (int i = 0; i < 25; i++) {
        for (int j = 0; j < 4; j++) {
          wire.send(frame(4 * i + j));
        }
        while (port.awaitReceived(SOON) > 0) {
          ring.handle(
              port.received(),
              (batch, index, request) -> {
                ports[seen[0]] =
                    packets.fragment(request, 0).get(ValueLayout.JAVA_BYTE, 37); // of two bytes
                seen[0]++;
                return true;
              });
        }
      }
      assertTrue(rule.isOpen());
    }
    assertEquals(100, seen[0]);
    for (int i = 0; i < 100; i++) {
      assertEquals(i, ports[i]);
    }
    long before = System.nanoTime();
    assertEquals(0, port.awaitReceived(Duration.ofMillis(100)));
    assertTrue(System.nanoTime() - before >= 100_000_000, "a timeout is waited for");
  }

  @Test
  void tooLongPacketFailsItsReceive() throws InterruptedException {
    try (PacketBuffers small = port.packets(2).fragment(64, 0).create();
        FlowRule rule = port.flow().type(FlowType.SNIFFER).create()) {
      ReceiveRing ring = port.startReceiving(small.receives(2));
      wire.send(frame(1), Frames.udp(MAC, HERE, THERE, 3000, 2, 8));
      assertEquals(2, arrived());
      assertEquals(CompletionStatus.LOC_LEN_ERR, port.received().status(0));
      assertEquals(1, ring.handle(port.received(), (batch, i, request) -> true));
      assertEquals(1, memory().waitingReceives());
      assertTrue(rule.isOpen());
    }
  }

  @Test
  void deviceComputesChecksums() throws InterruptedException {
    try (FlowRule rule = port.flow().type(FlowType.SNIFFER).create()) {
      port.startReceiving(packets.receives(3));
      byte[] frame = frame(4000);
      wire.send(frame);
      wire.sendWithChecksum(frame);
      wire.sendWithChecksum(Frames.tagged(frame, 7));
      assertEquals(3, arrived());
      assertFalse(port.received().has(0, CompletionFlag.IP_CSUM_OK));
      assertTrue(port.received().has(1, CompletionFlag.IP_CSUM_OK));
      assertTrue(port.received().has(2, CompletionFlag.IP_CSUM_OK));
      // Worked out by hand: 4500 005c 0000 0000 4011 0000 0a00 0001 0a00 0002.
      assertEquals(0x668f, number(1, 24));
      assertEquals(0x668f, number(2, 28));
      assertEquals(0, number(0, 24));
      assertTrue(rule.isOpen());
    }
  }

  private int number(int packet, int at) {
    byte[] bytes = packet(packet, at + 2);
    return ((bytes[at] & 0xff) << Byte.SIZE) | (bytes[at + 1] & 0xff);
  }
}
