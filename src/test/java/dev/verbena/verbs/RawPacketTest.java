package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.EthernetAddress;
import dev.verbena.flow.FlowCounters;
import dev.verbena.flow.FlowMatch;
import dev.verbena.flow.FlowRule;
import dev.verbena.flow.FlowType;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Frames;
import dev.verbena.testing.On;
import dev.verbena.testing.RawEnd;
import dev.verbena.testing.Rig;
import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairFlag;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.RateLimit;
import dev.verbena.values.SendOperation;
import java.lang.foreign.MemorySegment;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32;

/** Raw packets from one device to another: flow rules and offloads. */
@On(
    value = {SOFTWARE, MLX5},
    reason = "Soft-RoCE has no raw packets")
class RawPacketTest extends RawEndsFixture {
  private static final int MATCHED = 1;
  private static final int OTHER = 2;

  private static FlowMatch toPort(int port) {
    return FlowMatch.udp().destination(port);
  }

  /** Whether a frame arrives by a rule for a header; it does by another one in any case. */
  private boolean matches(FlowMatch header, byte[] frame) {
    b.receive(1);
    try (FlowRule _ = b.rule().match(header).tag(MATCHED).create();
        FlowRule _ = b.rule().type(FlowType.ALL_DEFAULT).tag(OTHER).create()) {
      a.send(frame);
      int tag = b.arrived(1).getFirst().flowTag();
      assertTrue(tag == MATCHED || tag == OTHER, "flow tag " + tag);
      return tag == MATCHED;
    }
  }

  @DeviceTest
  void framesArriveByteForByteByRules() {
    b.receive(4);
    a.send(Frames.toPort(4000)); // There is no rule yet.
    FlowRule rule = b.rule().match(toPort(4000)).tag(0x12_3456).create();
    a.send(Frames.toPort(4001));
    a.send(Frames.toPort(4000));
    RawEnd.Arrived only = b.arrived(1).getFirst();
    assertArrayEquals(Frames.toPort(4000), only.bytes());
    assertEquals(0x12_3456, only.flowTag());
    rule.close();
    b.rule().match(toPort(4001)).create();
    a.send(Frames.toPort(4000)); // There is no rule any more.
    a.send(Frames.toPort(4001));
    assertArrayEquals(Frames.toPort(4001), b.arrived(1).getFirst().bytes());
  }

  @DeviceTest
  void headersOfEthernetAreMatched() {
    byte[] frame = Frames.toPort(4000);
    EthernetAddress target = EthernetAddress.parse(Frames.MAC);
    EthernetAddress source = EthernetAddress.parse("02:00:00:00:00:01");
    assertTrue(matches(FlowMatch.ethernet().destination(target), frame));
    assertFalse(matches(FlowMatch.ethernet().destination(source), frame));
    assertTrue(matches(FlowMatch.ethernet().source(source).type(0x0800), frame));
    assertFalse(matches(FlowMatch.ethernet().source(source).type(0x86dd), frame));
    assertTrue(matches(FlowMatch.ethernet().vlan(7), Frames.tagged(frame, 7)));
    assertFalse(matches(FlowMatch.ethernet().vlan(8), Frames.tagged(frame, 7)));
  }

  @DeviceTest
  void headersOfIpv4AreMatched() {
    byte[] frame = Frames.toPort(4000);
    int udp = 17;
    assertTrue(
        matches(
            FlowMatch.ipv4().source(Frames.HERE).destination(Frames.THERE).protocol(udp), frame));
    assertFalse(matches(FlowMatch.ipv4().source(Frames.THERE).protocol(udp), frame));
    assertFalse(matches(FlowMatch.ipv4().destination(Frames.HERE).protocol(udp), frame));
    assertTrue(matches(FlowMatch.ipv4().timeToLive(64).typeOfService(0), frame));
    assertFalse(matches(FlowMatch.ipv4().timeToLive(63), frame));
    assertFalse(matches(FlowMatch.ipv4().protocol(6), frame));
    assertFalse(matches(FlowMatch.ipv6().nextHeader(udp), frame));
  }

  @DeviceTest
  @On(value = SOFTWARE, reason = "the emulated NIC refuses IBV_FLOW_SPEC_IPV4, the short form")
  void addressesAloneAreMatched() {
    byte[] frame = Frames.toPort(4000);
    assertTrue(matches(FlowMatch.ipv4().source(Frames.HERE).destination(Frames.THERE), frame));
    assertFalse(matches(FlowMatch.ipv4().source(Frames.THERE), frame));
    assertFalse(matches(FlowMatch.ipv4().destination(Frames.HERE), frame));
  }

  @DeviceTest
  void headersOfIpv6AreMatched() throws Exception {
    byte[] frame = Frames.udp6(Frames.MAC, "fd00::1", "fd00::2", 3000, 4000, 20);
    Inet6Address source = (Inet6Address) InetAddress.getByName("fd00::1");
    assertTrue(matches(FlowMatch.ipv6().source(source), frame));
    assertFalse(matches(FlowMatch.ipv6().destination(source), frame));
    assertTrue(matches(FlowMatch.ipv6().flowLabel(0x12345).trafficClass(0x67), frame));
    assertFalse(matches(FlowMatch.ipv6().flowLabel(0x12346), frame));
    assertTrue(matches(FlowMatch.ipv6().nextHeader(17).hopLimit(64), frame));
    assertFalse(matches(FlowMatch.ipv6().nextHeader(6), frame));
    assertFalse(matches(FlowMatch.ipv4().protocol(17), frame));
    assertTrue(matches(FlowMatch.udp().source(3000).destination(4000), frame));
    assertTrue(matches(FlowMatch.udp().destination(4000), Frames.tagged(frame, 7)));
  }

  @DeviceTest
  void headersOfTcpAreMatched() {
    byte[] frame = Frames.tcp(Frames.MAC, Frames.HERE, Frames.THERE, 3000, 80, 100);
    assertTrue(matches(FlowMatch.tcp().source(3000).destination(80), frame));
    assertFalse(matches(FlowMatch.udp().destination(80), frame));
    assertFalse(matches(FlowMatch.tcp().destination(80), Arrays.copyOf(frame, 40)), "cut short");
  }

  @DeviceTest
  void ruleOfHigherPriorityDropsAndCounts() {
    FlowCounters counters = FlowCounters.on(b.context);
    counters.attach(FlowCounters.Counted.BYTES, 0);
    counters.attach(FlowCounters.Counted.PACKETS, 3);
    b.receive(4);
    b.rule().priority(2).match(FlowMatch.ethernet().type(0x0800)).create();
    b.rule().priority(1).match(toPort(4000)).count(counters).drop().create();
    a.send(Frames.toPort(4000));
    a.send(Frames.toPort(4000));
    a.send(Frames.toPort(4001));
    assertArrayEquals(Frames.toPort(4001), b.arrived(1).getFirst().bytes());
    assertArrayEquals(new long[] {212, 0, 0, 2}, counters.read(4));
    VerbsException used =
        assertThrows(VerbsException.class, () -> counters.attach(FlowCounters.Counted.PACKETS, 1));
    assertEquals(Errno.EBUSY, used.errno());
  }

  @DeviceTest
  @On(value = MLX5, reason = "the software device sends packets at any rate")
  void packetsAreSentAtTheirRate() {
    QueuePair queuePair = a.queuePair;
    byte[] frame = Frames.udp(Frames.MAC, 1, 2, 3, 4, 1000);
    a.send(frame); // Later ones take less.
    queuePair.limitRate(RateLimit.ofKilobitsPerSecond(1000));
    long before = System.nanoTime();
    for (int i = 0; i < 11; i++) {
      a.send(frame);
    }
    long nanos = System.nanoTime() - before;
    assertTrue(nanos >= 10 * 8_000_000L, () -> "ten frames take 8 ms each: " + nanos);
  }

  @DeviceTest
  void checksumsAreFilledInAndVerified() throws Exception {
    b.receive(4);
    b.rule().type(FlowType.SNIFFER).create();
    a.send(Frames.toPort(4000));
    for (byte[] frame :
        List.of(
            Frames.toPort(4000),
            Frames.tagged(Frames.tcp(Frames.MAC, Frames.HERE, Frames.THERE, 1, 2, 33), 5),
            Frames.udp6(Frames.MAC, "fd00::1", "fd00::2", 3000, 4000, 21))) {
      a.memory.asSlice(0, frame.length).copyFrom(MemorySegment.ofArray(frame));
      SendList sends = new SendList(1, 1);
      sends.send(0).local(a.region, 0, frame.length).checksum().signaled();
      a.post(sends);
    }
    List<RawEnd.Arrived> frames = b.arrived(4);
    assertEquals(
        List.of(false, true, true, false),
        frames.stream().map(RawEnd.Arrived::checksumsGood).toList(),
        "the flag is about IPv4");
    assertEquals(0, Frames.udp6Sum(frames.getLast().bytes()), "with its checksum the sum is 0");
  }

  @DeviceTest
  void tagIsStrippedAndCheckSequenceKept() {
    try (RawEnd other =
        new RawEnd(
            Rig.b(),
            builder -> builder.flags(QueuePairFlag.CVLAN_STRIPPING, QueuePairFlag.SCATTER_FCS))) {
      other.receive(1);
      other.rule().match(FlowMatch.ethernet().vlan(0x2005)).create();
      byte[] tagged = Frames.tagged(Frames.toPort(4000), 0x2005);
      a.send(tagged);
      RawEnd.Arrived only = other.arrived(1).getFirst();
      assertEquals(0x2005, only.vlan());
      assertArrayEquals(Frames.toPort(4000), Arrays.copyOf(only.bytes(), tagged.length - 4));
      CRC32 crc = new CRC32();
      crc.update(tagged);
      int sequence =
          ByteBuffer.wrap(only.bytes()).order(ByteOrder.LITTLE_ENDIAN).getInt(tagged.length - 4);
      assertEquals((int) crc.getValue(), sequence);
    }
  }

  @DeviceTest
  void tcpIsSegmented() {
    byte[] whole = Frames.tcp(Frames.MAC, Frames.HERE, Frames.THERE, 3000, 80, 2500);
    int header = whole.length - 2500;
    try (RawEnd sender = new RawEnd(Rig.a(), builder -> builder.maxTsoHeader(header))) {
      b.receive(4);
      b.rule().match(FlowMatch.tcp().destination(80)).create();
      sender.memory.asSlice(0, 2500).copyFrom(MemorySegment.ofArray(whole).asSlice(header));
      SendList sends = new SendList(1, 1, 128);
      sends
          .tso(0, MemorySegment.ofArray(Arrays.copyOf(whole, header)), 1000)
          .local(sender.region, 0, 2500)
          .checksum()
          .signaled();
      sender.post(sends);
      List<RawEnd.Arrived> segments = b.arrived(3);
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

  @DeviceTest
  void queuePairsAreCreatedAndQueried() {
    for (boolean extended : new boolean[] {false, true}) {
      QueuePairBuilder builder =
          QueuePair.builder(a.domain, QueuePairType.RAW_PACKET)
              .completions(a.completions)
              .capacity(QueuePairCapacity.of(8).withSendSges(2));
      try (QueuePair queuePair =
          (extended ? builder.sendOperations(SendOperation.SEND) : builder).create()) {
        QueuePairAttributes attributes =
            queuePair.query(QueuePairAttribute.STATE, QueuePairAttribute.CAP);
        assertEquals(QueuePairState.RESET, attributes.state());
        assertTrue(attributes.capacity().sendRequests() >= 8);
        assertTrue(attributes.capacity().receiveRequests() >= 8);
        assertTrue(attributes.capacity().sendSges() >= 2);
        ready(queuePair, 0);
        assertEquals(QueuePairState.RTS, queuePair.query(QueuePairAttribute.STATE).state());
      }
    }
  }

  private static void ready(QueuePair queuePair, long kilobits) {
    queuePair.setup().port(1).init();
    queuePair.modify(QueuePairAttributes.toReadyToReceive(queuePair.type()).build());
    var toSend = QueuePairAttributes.toReadyToSend(queuePair.type());
    queuePair.modify((kilobits == 0 ? toSend : toSend.rateLimit(kilobits)).build());
  }

  @DeviceTest
  void ratesAreLimited() {
    try (QueuePair queuePair =
        QueuePair.builder(a.domain, QueuePairType.RAW_PACKET).completions(a.completions).create()) {
      ready(queuePair, 5000);
      assertEquals(QueuePairState.RTS, queuePair.state());
      queuePair.limitRate(RateLimit.ofKilobitsPerSecond(0));
      long most = a.context.deviceAttributes().packetPacing().maxRate();
      RateLimit tooFast = RateLimit.ofKilobitsPerSecond(most + 1);
      VerbsException e = assertThrows(VerbsException.class, () -> queuePair.limitRate(tooFast));
      assertEquals(Errno.EINVAL, e.errno());
      byte[] frame = Frames.toPort(4000);
      b.receive(1);
      b.rule().match(toPort(4000)).create();
      a.memory.asSlice(0, frame.length).copyFrom(MemorySegment.ofArray(frame));
      SendList sends = new SendList(1, 1);
      sends.send(0).local(a.region, 0, frame.length).signaled();
      assertEquals(1, queuePair.post(sends));
      assertArrayEquals(frame, b.arrived(1).getFirst().bytes());
    }
  }

  @DeviceTest
  void postingsAreSegmentedToo() {
    byte[] whole = Frames.tcp(Frames.MAC, Frames.HERE, Frames.THERE, 3000, 80, 1500);
    int header = whole.length - 1500;
    try (RawEnd sender =
        new RawEnd(
            Rig.a(), builder -> builder.maxTsoHeader(header).sendOperations(SendOperation.TSO))) {
      b.receive(2);
      b.rule().match(FlowMatch.tcp().destination(80)).create();
      sender.memory.asSlice(0, 1500).copyFrom(MemorySegment.ofArray(whole).asSlice(header));
      Posting posting = sender.queuePair.startPosting();
      posting
          .tso(MemorySegment.ofArray(Arrays.copyOf(whole, header)), 1000)
          .checksum()
          .signaled()
          .local(sender.region, 0, 1500);
      assertEquals(1, posting.complete());
      List<RawEnd.Arrived> segments = b.arrived(2);
      assertEquals(
          List.of(header + 1000, header + 500),
          segments.stream().map(s -> s.bytes().length).toList());
      assertArrayEquals(
          Arrays.copyOfRange(whole, header + 1000, whole.length),
          Arrays.copyOfRange(segments.getLast().bytes(), header, header + 500));
    }
  }

  @DeviceTest
  void rulesAreClosedBeforeTheirQueuePair() {
    FlowCounters counters = FlowCounters.on(b.context);
    counters.attach(FlowCounters.Counted.PACKETS, 0);
    FlowRule plain = b.rule().create();
    FlowRule counted = b.rule().match(toPort(4000)).count(counters).create();
    b.queuePair.close();
    assertFalse(plain.isOpen());
    assertFalse(counted.isOpen());
    assertTrue(counters.isOpen());
  }
}
