package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.NativeConstant;
import dev.verbena.NativeFlag;
import dev.verbena.address.AddressVector;
import dev.verbena.address.Gid;
import dev.verbena.address.GlobalRoute;
import dev.verbena.address.Mtu;
import dev.verbena.address.Rate;
import dev.verbena.attributes.AtomicScope;
import dev.verbena.attributes.DeviceAttributes;
import dev.verbena.attributes.DeviceCapability;
import dev.verbena.attributes.NodeType;
import dev.verbena.attributes.PortState;
import dev.verbena.attributes.TransportType;
import dev.verbena.internal.Codes;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_ah_attr;
import dev.verbena.raw.ibv_cq_moderation_caps;
import dev.verbena.raw.ibv_device_attr_ex;
import dev.verbena.raw.ibv_odp_caps;
import dev.verbena.raw.ibv_packet_pacing_caps;
import dev.verbena.raw.ibv_pci_atomic_caps;
import dev.verbena.raw.ibv_qp_attr;
import dev.verbena.raw.ibv_qp_init_attr;
import dev.verbena.raw.ibv_rss_caps;
import dev.verbena.raw.ibv_srq_attr;
import dev.verbena.raw.ibv_tm_caps;
import dev.verbena.raw.ibv_tso_caps;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.AlternatePath;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.CompletionOpcode;
import dev.verbena.values.MigrationState;
import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.RnrTimer;
import dev.verbena.values.SharedReceiveQueueAttributes;
import dev.verbena.values.WorkRequestOpcode;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The types of C as Java has them: their members, their numbers, their texts. */
class TypesTest extends FakeDeviceFixture {
  public void ibv_modify_qp(long qp, long attributes, int mask) {
    attr = copied(attributes, ibv_qp_attr.sizeof());
    arguments = new long[] {mask};
  }

  private static <E extends Enum<E> & NativeConstant> void assertCodes(
      E[] constants, int... codes) {
    assertArrayEquals(
        codes,
        Arrays.stream(constants).limit(codes.length).mapToInt(NativeConstant::code).toArray());
  }

  private static <E extends Enum<E> & NativeFlag> void assertBits(E[] constants, int... bits) {
    int[] all = Arrays.stream(constants).mapToInt(flag -> (int) flag.bit()).toArray();
    assertArrayEquals(bits, Arrays.copyOf(all, bits.length));
  }

  @Test
  void nodeAndTransportTypesHaveTheirCodes() {
    assertCodes(NodeType.values(), 1, 2, 3, 4);
    assertEquals(4, NodeType.RNIC.code());
    assertSame(NodeType.UNKNOWN, Codes.of(NodeType.class, -1, NodeType.UNKNOWN));
    assertCodes(TransportType.values(), 0, 1);
    assertEquals(1, TransportType.IWARP.code());
    assertEquals(-1, TransportType.UNKNOWN.code());
  }

  @Test
  void portStatesAndMtusHaveTheirCodes() {
    assertCodes(PortState.values(), 0, 1, 2, 3, 4, 5);
    assertCodes(Mtu.values(), 1, 2, 3, 4, 5);
    for (Mtu mtu : Mtu.values()) {
      assertEquals(1 << (mtu.code() + 7), mtu.bytes());
    }
  }

  @Test
  void capabilitiesHaveTheirBits() {
    int bit = 1;
    DeviceCapability[] all = DeviceCapability.values();
    for (int i = 0; i < 15; i++) {
      assertEquals(bit, all[i].bit(), all[i].name());
      bit <<= 1;
    }
    assertSame(DeviceCapability.N_NOTIFY_CQ, all[14]);
    assertEquals(1 << 20, DeviceCapability.XRC.bit());
    assertCodes(AtomicScope.values(), 0, 1, 2);
  }

  @Test
  void queuePairTypesAndStatesHaveTheirCodes() {
    assertEquals(2, QueuePairType.RC.code());
    assertEquals(3, QueuePairType.UC.code());
    assertEquals(4, QueuePairType.UD.code());
    assertEquals(8, QueuePairType.RAW_PACKET.code());
    assertEquals(9, QueuePairType.XRC_SEND.code(), "the old IBV_QPT_XRC is two types now");
    assertEquals(10, QueuePairType.XRC_RECV.code());
    assertCodes(QueuePairState.values(), 0, 1, 2, 3, 4, 5, 6);
    assertCodes(MigrationState.values(), 0, 1, 2);
  }

  @Test
  void flagsHaveTheirBits() {
    assertEquals(1, rdma_h.IBV_SRQ_MAX_WR());
    assertEquals(2, rdma_h.IBV_SRQ_LIMIT());
    int[] bits = new int[21];
    Arrays.setAll(bits, i -> 1 << i);
    assertBits(QueuePairAttribute.values(), bits);
    assertEquals(1 << 20, QueuePairAttribute.DEST_QPN.bit());
    assertEquals(1, SendList.FENCED);
    assertEquals(2, SendList.SIGNALED);
    assertEquals(4, SendList.SOLICITED);
    assertEquals(8, rdma_h.IBV_SEND_INLINE());
    assertEquals(16, SendList.CHECKSUM);
    assertBits(CompletionFlag.values(), 1, 2, 4, 8);
  }

  @Test
  void operationsHaveTheirCodes() {
    assertCodes(WorkRequestOpcode.values(), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15);
    assertCodes(CompletionOpcode.values(), 0, 1, 2, 3, 4, 5);
    assertEquals(1 << 7, CompletionOpcode.RECV.code());
    assertEquals((1 << 7) + 1, CompletionOpcode.RECV_RDMA_WITH_IMM.code());
  }

  @Test
  void operationsHaveTheirTexts() {
    Set<String> texts = new HashSet<>();
    for (WorkRequestOpcode opcode : WorkRequestOpcode.values()) {
      assertFalse(opcode.text().isBlank());
      texts.add(opcode.text());
    }
    assertEquals(WorkRequestOpcode.values().length, texts.size());
    assertEquals("RDMA write with immediate", WorkRequestOpcode.RDMA_WRITE_WITH_IMM.text());
    assertFalse(texts.contains("unknown"));
  }

  @Test
  void closedDeviceHasItsAttributes() {
    Device device = Device.list(provider).getFirst();
    assertEquals("memory0", device.name());
    assertEquals("soft-memory0", device.deviceName());
    assertSame(NodeType.CA, device.nodeType());
    assertSame(TransportType.IB, device.transportType());
    assertEquals("", device.sysfsPath());
    assertEquals(0x02, device.guid() >>> 56, "locally administered");
    try (Context second = device.open()) {
      assertTrue(second.isOpen());
    }
  }

  @Test
  void regionHasItsAddressLengthAndKeys() {
    MemorySegment memory = arena.allocate(64);
    MemoryRegion region = pd.registerMemory(memory, AccessFlag.LOCAL_WRITE);
    assertSame(pd, region.domain());
    assertSame(context, region.domain().context());
    assertEquals(memory.address(), region.start());
    assertEquals(64, region.length());
    MemoryRegion again = pd.registerMemory(memory);
    assertTrue(again.lkey() != region.lkey(), "a key pair for each registration");
    assertTrue(again.handle() != region.handle());
  }

  @Test
  void queuePairAttributesOfCreationAreWritten() {
    CompletionQueue sends = context.createCompletionQueue(16);
    CompletionQueue receives = context.createCompletionQueue(16);
    SharedReceiveQueue srq = SharedReceiveQueue.create(pd, 4);
    QueuePair qp =
        QueuePair.builder(pd, QueuePairType.UC)
            .sendCompletions(sends)
            .receiveCompletions(receives)
            .sharedReceiveQueue(srq)
            .capacity(
                QueuePairCapacity.of(5)
                    .withReceiveRequests(6)
                    .withSendSges(7)
                    .withReceiveSges(8)
                    .withMaxInlineData(9))
            .signalAll()
            .create();
    assertEquals(
        QueuePairCapacity.of(5)
            .withReceiveRequests(6)
            .withSendSges(7)
            .withReceiveSges(8)
            .withMaxInlineData(9),
        qp.capacity());
    try (Arena scratch = Arena.ofConfined()) {
      MemorySegment asked = ibv_qp_attr.allocate(scratch);
      MemorySegment initAttr = ibv_qp_init_attr.allocate(scratch);
      context.verbs().ibv_query_qp(qp.address(), asked.address(), -1, initAttr.address());
      assertEquals(sends.segment(), ibv_qp_init_attr.send_cq(initAttr));
      assertEquals(receives.segment(), ibv_qp_init_attr.recv_cq(initAttr));
      assertEquals(srq.segment(), ibv_qp_init_attr.srq(initAttr));
      assertEquals(3, ibv_qp_init_attr.qp_type(initAttr));
      assertEquals(1, ibv_qp_init_attr.sq_sig_all(initAttr));
      MemorySegment cap = ibv_qp_init_attr.cap(initAttr);
      assertEquals(
          QueuePairCapacity.of(5)
              .withReceiveRequests(6)
              .withSendSges(7)
              .withReceiveSges(8)
              .withMaxInlineData(9),
          QueuePairCapacity.readFrom(cap));
    }
  }

  @Test
  void sharedReceiveQueueAttributesAreWritten() {
    SharedReceiveQueueAttributes attributes = new SharedReceiveQueueAttributes(5, 6, 7);
    MemorySegment struct = arena.allocate(ibv_srq_attr.layout());
    attributes.writeTo(struct);
    assertEquals(5, ibv_srq_attr.max_wr(struct));
    assertEquals(6, ibv_srq_attr.max_sge(struct));
    assertEquals(7, ibv_srq_attr.srq_limit(struct));
    assertEquals(attributes, SharedReceiveQueueAttributes.readFrom(struct));
  }

  @Test
  void addressVectorsAreWrittenWithAndWithoutGrh() {
    MemorySegment struct = arena.allocate(ibv_ah_attr.layout());
    GlobalRoute route =
        new GlobalRoute(Gid.parse("fd00::1"), 3).withFlowLabel(0xabcde).withTrafficClass(0x60);
    AddressVector global =
        AddressVector.global(1, route)
            .withLid(0xc001)
            .withServiceLevel(5)
            .withSourcePathBits(6)
            .withRate(Rate.GBPS_10);
    global.writeTo(struct);
    assertEquals(1, ibv_ah_attr.is_global(struct));
    assertEquals((short) 0xc001, ibv_ah_attr.dlid(struct));
    assertEquals(5, ibv_ah_attr.sl(struct));
    assertEquals(6, ibv_ah_attr.src_path_bits(struct));
    assertEquals(Rate.GBPS_10.code(), ibv_ah_attr.static_rate(struct));
    assertEquals(1, ibv_ah_attr.port_num(struct));
    assertEquals(Optional.of(global), AddressVector.readFrom(struct));
    AddressVector.local(1, 7).writeTo(struct);
    assertEquals(0, ibv_ah_attr.is_global(struct));
  }

  @Test
  void queuePairAttributesAreWritten() {
    AddressVector path = AddressVector.local(1, 5);
    AddressVector other = AddressVector.local(2, 6);
    QueuePairAttributes attributes =
        QueuePairAttributes.builder()
            .state(QueuePairState.RTS)
            .currentState(QueuePairState.SQD)
            .notifyDrained(true)
            .access(AccessFlag.REMOTE_READ)
            .pkeyIndex(2)
            .port(1)
            .queueKey(-1)
            .path(path)
            .pathMtu(Mtu.MTU_2048)
            .ackTimeout(AckTimeout.ofCode(14))
            .retryCount(7)
            .rnrRetryCount(6)
            .receivePsn(0xfffffe)
            .readsAsInitiator(4)
            .alternatePath(new AlternatePath(other, 3, AckTimeout.ofCode(15)))
            .minRnrTimer(RnrTimer.ofCode(12))
            .sendPsn(0xffffff)
            .readsAsTarget(5)
            .migrationState(MigrationState.REARM)
            .capacity(
                QueuePairCapacity.of(1)
                    .withReceiveRequests(2)
                    .withSendSges(3)
                    .withReceiveSges(4)
                    .withMaxInlineData(5))
            .destination(0x123456)
            .build();
    QueuePair qp =
        QueuePair.builder(pd, QueuePairType.RC)
            .completions(context.createCompletionQueue(2))
            .create();
    qp.modify(attributes);
    assertArrayEquals(new long[] {(1 << 21) - 1}, arguments);
    assertEquals(3, ibv_qp_attr.qp_state(attr));
    assertEquals(4, ibv_qp_attr.cur_qp_state(attr));
    assertEquals(1, ibv_qp_attr.en_sqd_async_notify(attr));
    assertEquals(4, ibv_qp_attr.qp_access_flags(attr));
    assertEquals(2, ibv_qp_attr.pkey_index(attr));
    assertEquals(1, ibv_qp_attr.port_num(attr));
    assertEquals(-1, ibv_qp_attr.qkey(attr));
    assertEquals(Optional.of(path), AddressVector.readFrom(ibv_qp_attr.ah_attr(attr)));
    assertEquals(4, ibv_qp_attr.path_mtu(attr));
    assertEquals(14, ibv_qp_attr.timeout(attr));
    assertEquals(7, ibv_qp_attr.retry_cnt(attr));
    assertEquals(6, ibv_qp_attr.rnr_retry(attr));
    assertEquals(0xfffffe, ibv_qp_attr.rq_psn(attr));
    assertEquals(4, ibv_qp_attr.max_rd_atomic(attr));
    assertEquals(Optional.of(other), AddressVector.readFrom(ibv_qp_attr.alt_ah_attr(attr)));
    assertEquals(2, ibv_qp_attr.alt_port_num(attr));
    assertEquals(3, ibv_qp_attr.alt_pkey_index(attr));
    assertEquals(15, ibv_qp_attr.alt_timeout(attr));
    assertEquals(12, ibv_qp_attr.min_rnr_timer(attr));
    assertEquals(0xffffff, ibv_qp_attr.sq_psn(attr));
    assertEquals(5, ibv_qp_attr.max_dest_rd_atomic(attr));
    assertEquals(1, ibv_qp_attr.path_mig_state(attr));
    assertEquals(0x123456, ibv_qp_attr.dest_qp_num(attr));
    QueuePairAttributes back =
        QueuePairAttributes.copyOf(Memory.at(attr.address(), attr.byteSize()), (1 << 21) - 1);
    assertEquals(attributes.alternatePath(), back.alternatePath());
    assertEquals(attributes.capacity(), back.capacity());
    EnumSet<QueuePairAttribute> all = EnumSet.allOf(QueuePairAttribute.class);
    all.remove(QueuePairAttribute.RATE_LIMIT);
    assertEquals(all, back.mask());
  }

  @Test
  void aFlowLabelBecomesAUdpPort() {
    Gid peer = Gid.parse("::ffff:10.0.0.1");
    assertEquals(0xc000, new GlobalRoute(peer, 0).udpSourcePort());
    assertEquals(0xd234, new GlobalRoute(peer, 0).withFlowLabel(0x1234).udpSourcePort());
    assertEquals(0xc003, new GlobalRoute(peer, 0).withFlowLabel(0x8001).udpSourcePort());
  }

  @Test
  void capabilitiesPrintTheirValues() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment struct = ibv_device_attr_ex.allocate(arena);
      MemorySegment odp = ibv_device_attr_ex.odp_caps(struct);
      ibv_odp_caps.general_caps(odp, rdma_h.IBV_ODP_SUPPORT());
      ibv_odp_caps.per_transport_caps.rc_odp_caps(
          ibv_odp_caps.per_transport_caps(odp), rdma_h.IBV_ODP_SUPPORT_SEND() | 1 << 31);
      ibv_pci_atomic_caps.swap(ibv_device_attr_ex.pci_atomic_caps(struct), (short) 0x8004);
      MemorySegment rss = ibv_device_attr_ex.rss_caps(struct);
      ibv_rss_caps.supported_qpts(rss, 1 << rdma_h.IBV_QPT_RAW_PACKET());
      ibv_rss_caps.max_rwq_indirection_tables(rss, 5);
      ibv_rss_caps.rx_hash_function(rss, (byte) 0x81);
      ibv_tm_caps.max_num_tags(ibv_device_attr_ex.tm_caps(struct), 7);
      ibv_tso_caps.max_tso(ibv_device_attr_ex.tso_caps(struct), 9000);
      ibv_cq_moderation_caps.max_cq_count(ibv_device_attr_ex.cq_mod_caps(struct), (short) -1);
      ibv_packet_pacing_caps.qp_rate_limit_max(ibv_device_attr_ex.packet_pacing_caps(struct), -1);
      DeviceAttributes attributes = new DeviceAttributes(struct);
      assertEquals(
          """
          OdpCapabilities[supported=true, implicit=false, rc=[SEND, 0x80000000], \
          uc=[], ud=[], xrc=[]]
          PciAtomicCapabilities[fetchAndAdd=[], swap=[BYTES_16, 0x8000], compareAndSwap=[]]
          RssCapabilities[types=[RAW_PACKET], maxTables=5, maxTableSize=0, fields=[], \
          functions=[TOEPLITZ, 0x80]]
          TagMatchingCapabilities[rc=false, maxTags=7, maxOperations=0, maxSges=0, \
          maxRendezvousHeader=0]
          TsoCapabilities[maxSize=9000, types=[]]
          ModerationCapabilities[maxCount=65535, maxPeriodMicros=0]
          PacketPacingCapabilities[minRate=0, maxRate=4294967295, types=[]]\
          """,
          Stream.of(
                  attributes.onDemandPaging(),
                  attributes.pciAtomics(),
                  attributes.receiveSideScaling(),
                  attributes.tagMatching(),
                  attributes.tcpSegmentation(),
                  attributes.completionModeration(),
                  attributes.packetPacing())
              .map(Object::toString)
              .collect(Collectors.joining("\n")));
    }
  }
}
