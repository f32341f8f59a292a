package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.Frames;
import dev.verbena.verbs.FlowCounters;
import dev.verbena.verbs.FlowFlag;
import dev.verbena.verbs.FlowMatch;
import dev.verbena.verbs.FlowRule;
import dev.verbena.verbs.FlowType;
import dev.verbena.verbs.QueuePairFlag;
import dev.verbena.verbs.SendList;
import java.lang.foreign.MemorySegment;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Raw packet queue pairs of two devices: flow rules, offloads and faults. */
class RawPacketTest {
  private static final String MAC = "02:00:00:00:00:0a";
  private static final int HERE = 0x0a00_0001;
  private static final int THERE = 0x0a00_0002;

  private final SoftNetwork network = SoftNetwork.create();
  private final RawEnd a = new RawEnd(network.addDevice("soft0"));
  private final RawEnd b = new RawEnd(network.addDevice("soft1"));

  @AfterEach
  void close() {
    a.close();
    b.close();
    network.close();
  }

  private static byte[] frame(int toPort) {
    return Frames.udp(MAC, HERE, THERE, 3000, toPort, 64);
  }

  private FlowRule.Builder rule() {
    return b.queuePair.flowRule(1);
  }

  private static FlowMatch toPort(int port) {
    return FlowMatch.udp().destination(port);
  }

  /** Whether a frame arrives by a rule for a header. */
  private boolean matches(FlowMatch header, byte[] frame) {
    FlowRule rule = rule().match(header).create();
    b.receive(1);
    a.send(frame);
    int count = b.arrived().size();
    rule.close();
    FlowRule all = rule().type(FlowType.ALL_DEFAULT).create();
    if (count == 0) {
      a.send(frame); // Uses the receive up.
      assertEquals(1, b.arrived().size());
    }
    all.close();
    return count == 1;
  }

  @Test
  void framesArriveByteForByteByRules() {
    b.receive(4);
    a.send(frame(4000));
    assertEquals(List.of(), b.arrived(), "without a rule");
    FlowRule rule = rule().match(toPort(4000)).tag(0x12_3456).create();
    a.send(frame(4001));
    a.send(frame(4000));
    RawEnd.Arrived only = b.arrived().getFirst();
    assertArrayEquals(frame(4000), only.bytes());
    assertEquals(0x12_3456, only.flowTag());
    rule.close();
    a.send(frame(4000));
    assertEquals(List.of(), b.arrived(), "after the rule");
  }

  @Test
  void headersOfIpv6AreMatched() throws Exception {
    byte[] frame = Frames.udp6(MAC, "fd00::1", "fd00::2", 3000, 4000, 20);
    Inet6Address source = (Inet6Address) InetAddress.getByName("fd00::1");
    assertTrue(matches(FlowMatch.ipv6().source(source), frame));
    assertTrue(!matches(FlowMatch.ipv6().destination(source), frame));
    assertTrue(matches(FlowMatch.ipv6().flowLabel(0x12345).trafficClass(0x67), frame));
    assertTrue(!matches(FlowMatch.ipv6().flowLabel(0x12346), frame));
    assertTrue(matches(FlowMatch.ipv6().nextHeader(17).hopLimit(64), frame));
    assertTrue(!matches(FlowMatch.ipv6().nextHeader(6), frame));
    assertTrue(!matches(FlowMatch.ipv4().protocol(17), frame));
    assertTrue(matches(FlowMatch.udp().source(3000).destination(4000), frame));
    assertTrue(matches(FlowMatch.udp().destination(4000), Frames.tagged(frame, 7)));
  }

  @Test
  void headersOfTcpAreMatched() {
    byte[] frame = Frames.tcp(MAC, HERE, THERE, 3000, 80, 100);
    assertTrue(matches(FlowMatch.tcp().source(3000).destination(80), frame));
    assertTrue(!matches(FlowMatch.udp().destination(80), frame));
    assertTrue(!matches(FlowMatch.tcp().destination(80), Arrays.copyOf(frame, 40)), "cut short");
  }

  @Test
  void ruleOfHigherPriorityDropsAndCounts() {
    FlowCounters counters = b.context.createFlowCounters();
    counters.attach(FlowCounters.Counted.BYTES, 0);
    counters.attach(FlowCounters.Counted.PACKETS, 3);
    b.receive(4);
    rule().priority(2).match(FlowMatch.ethernet().type(0x0800)).create();
    rule().priority(1).match(toPort(4000)).count(counters).drop().create();
    a.send(frame(4000));
    a.send(frame(4000));
    a.send(frame(4001));
    assertArrayEquals(frame(4001), b.arrived().getFirst().bytes());
    assertArrayEquals(new long[] {212, 0, 0, 2}, counters.read(4));
    VerbsException used =
        assertThrows(VerbsException.class, () -> counters.attach(FlowCounters.Counted.PACKETS, 1));
    assertEquals(Errno.EBUSY, used.errno());
  }

  @Test
  void ruleThatDoesNotTrapLeavesFramesToOthers() {
    try (RawEnd other = new RawEnd(network.addDevice("soft2"))) {
      other.receive(1);
      b.receive(2);
      rule().priority(1).flags(FlowFlag.DONT_TRAP).match(toPort(4000)).tag(1).create();
      b.queuePair.flowRule(1).priority(2).match(FlowMatch.ethernet().type(0x0800)).tag(2).create();
      other.queuePair.flowRule(1).type(FlowType.ALL_DEFAULT).create();
      a.send(frame(4000));
      assertEquals(1, b.arrived().getFirst().flowTag(), "each queue pair gets a frame once");
      assertEquals(1, other.arrived().size(), "no port has the MAC address: sent to all");
    }
  }

  @Test
  void frameForTheMacOfAPortGoesThere() {
    try (RawEnd other = new RawEnd(network.addDevice("soft2"))) {
      other.receive(1);
      b.receive(1);
      rule().type(FlowType.SNIFFER).create();
      other.queuePair.flowRule(1).type(FlowType.SNIFFER).create();
      byte[] frame = frame(1);
      ByteBuffer mac =
          ByteBuffer.allocate(8).putLong(network.deviceNamed("soft1").ports.get(0).mac());
      System.arraycopy(mac.array(), 2, frame, 0, 6);
      a.send(frame);
      assertEquals(1, b.arrived().size());
      assertEquals(0, other.arrived().size());
    }
  }

  @Test
  void checksumsAreFilledInAndVerified() throws Exception {
    b.receive(5);
    rule().type(FlowType.SNIFFER).create();
    a.send(frame(4000));
    for (byte[] frame :
        List.of(
            frame(4000),
            Frames.tagged(Frames.tcp(MAC, HERE, THERE, 1, 2, 33), 5),
            Frames.udp6(MAC, "fd00::1", "fd00::2", 3000, 4000, 21))) {
      a.memory.asSlice(0, frame.length).copyFrom(MemorySegment.ofArray(frame));
      SendList sends = new SendList(1, 1);
      sends.send(0).local(a.region, 0, frame.length).checksum().signaled();
      a.post(sends);
    }
    List<RawEnd.Arrived> frames = b.arrived();
    assertEquals(
        List.of(false, true, true, false),
        frames.stream().map(RawEnd.Arrived::checksumsGood).toList(),
        "the flag is about IPv4");
    assertEquals(0, Frames.udp6Sum(frames.getLast().bytes()), "with its checksum the sum is 0");
  }

  @Test
  void tagIsStrippedAndCheckSequenceKept() {
    try (RawEnd other =
        new RawEnd(
            network.addDevice("soft2"),
            builder -> builder.flags(QueuePairFlag.CVLAN_STRIPPING, QueuePairFlag.SCATTER_FCS))) {
      other.receive(1);
      other.queuePair.flowRule(1).match(FlowMatch.ethernet().vlan(0x2005)).create();
      byte[] tagged = Frames.tagged(frame(4000), 0x2005);
      a.send(tagged);
      RawEnd.Arrived only = other.arrived().getFirst();
      assertEquals(0x2005, only.vlan());
      assertArrayEquals(frame(4000), Arrays.copyOf(only.bytes(), tagged.length - 4));
      CRC32 crc = new CRC32();
      crc.update(tagged);
      int sequence =
          ByteBuffer.wrap(only.bytes()).order(ByteOrder.LITTLE_ENDIAN).getInt(tagged.length - 4);
      assertEquals((int) crc.getValue(), sequence);
    }
  }

  @Test
  void tcpIsSegmented() {
    byte[] whole = Frames.tcp(MAC, HERE, THERE, 3000, 80, 2500);
    int header = whole.length - 2500;
    try (RawEnd sender =
        new RawEnd(network.addDevice("soft2"), builder -> builder.maxTsoHeader(header))) {
      b.receive(4);
      rule().match(FlowMatch.tcp().destination(80)).create();
      sender.memory.asSlice(0, 2500).copyFrom(MemorySegment.ofArray(whole).asSlice(header));
      SendList sends = new SendList(1, 1, 128);
      sends
          .tso(0, MemorySegment.ofArray(Arrays.copyOf(whole, header)), 1000)
          .local(sender.region, 0, 2500)
          .signaled();
      sender.post(sends);
      List<RawEnd.Arrived> segments = b.arrived();
      assertEquals(
          List.of(1000, 1000, 500), segments.stream().map(s -> s.bytes().length - header).toList());
      int at = 0;
      for (RawEnd.Arrived segment : segments) {
        ByteBuffer bytes = ByteBuffer.wrap(segment.bytes());
        int size = segment.bytes().length - header;
        assertTrue(segment.checksumsGood());
        assertEquals(40 + size, bytes.getShort(16), "length of IPv4");
        assertEquals(at / 1000, bytes.getShort(18), "identification");
        assertEquals(Frames.SEQUENCE + at, bytes.getInt(38), "sequence number");
        assertEquals(at == 2000 ? 0x19 : 0x10, bytes.get(47), "FIN and PSH in the last one");
        assertArrayEquals(
            Arrays.copyOfRange(whole, header + at, header + at + size),
            Arrays.copyOfRange(segment.bytes(), header, header + size));
        at += size;
      }
    }
  }

  @Test
  void framesMeetTheFaultsOfTheNetwork() {
    b.receive(6);
    rule().type(FlowType.SNIFFER).create();
    network.faults().partition("soft0", "soft1");
    a.send(frame(1));
    network.faults().none().loss(1);
    a.send(frame(2));
    network.faults().none().corrupt(1);
    a.send(frame(3));
    network.faults().none().duplicate(1);
    a.send(frame(4));
    network.faults().none();
    assertEquals(
        List.of(4, 4), b.arrived().stream().map(f -> (int) f.bytes()[37]).toList(), "twice");
    network.faults().portDown("soft1", 1);
    a.send(frame(5));
    assertEquals(List.of(), b.arrived());
  }

  @Test
  void rulesAreChecked() {
    assertErrno(Errno.EOPNOTSUPP, rule().flags(FlowFlag.EGRESS));
    assertErrno(Errno.EOPNOTSUPP, rule().match(FlowMatch.gre().protocol(1)));
    assertErrno(Errno.EOPNOTSUPP, rule().matchInner(FlowMatch.udp().source(1)));
    FlowRule rule = rule().create();
    FlowCounters counters = b.context.createFlowCounters();
    rule().count(counters).create();
    b.queuePair.close();
    assertTrue(!rule.isOpen(), "closed before its queue pair");
  }

  private static void assertErrno(int errno, FlowRule.Builder rule) {
    assertEquals(errno, assertThrows(VerbsException.class, rule::create).errno());
  }
}
