package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.EthernetAddress;
import dev.verbena.fake.FakeProvider;
import dev.verbena.flow.EspTransform;
import dev.verbena.flow.FlowAction;
import dev.verbena.flow.FlowFlag;
import dev.verbena.flow.FlowMatch;
import dev.verbena.flow.FlowRule;
import dev.verbena.flow.FlowType;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ib_uverbs_flow_action_esp;
import dev.verbena.raw.ib_uverbs_flow_action_esp_encap;
import dev.verbena.raw.ib_uverbs_flow_action_esp_keymat_aes_gcm;
import dev.verbena.raw.ib_uverbs_flow_action_esp_replay_bmp;
import dev.verbena.raw.ibv_flow;
import dev.verbena.raw.ibv_flow_action;
import dev.verbena.raw.ibv_flow_action_esp_attr;
import dev.verbena.raw.ibv_flow_attr;
import dev.verbena.raw.ibv_flow_ipv6_filter;
import dev.verbena.raw.ibv_flow_spec_action_handle;
import dev.verbena.raw.ibv_flow_spec_action_tag;
import dev.verbena.raw.ibv_flow_spec_eth;
import dev.verbena.raw.ibv_flow_spec_ipv6;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Method;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Flow rules and actions, against a fake that records the native calls. */
class FlowTest {
  private static final EthernetAddress MAC = EthernetAddress.parse("02:00:00:00:00:0a");

  private final Arena arena = Arena.ofShared();
  private final Played played = new Played();
  private final FakeProvider provider = new FakeProvider().play(played);
  private final Context context = Device.list(provider).getFirst().open();
  private final QueuePair qp =
      QueuePair.builder(context.allocateProtectionDomain(), QueuePairType.RC)
          .completions(context.createCompletionQueue(1))
          .create();

  @AfterEach
  void close() {
    context.close();
    provider.close();
    arena.close();
    assertEquals(0, played.live, "rules or actions were left");
  }

  /** Records rules and actions. */
  @SuppressWarnings({"unused", "EffectivelyPrivate"}) // Found by name.
  private final class Played {
    private final List<byte[]> rules = new ArrayList<>();
    private final List<String> headers = new ArrayList<>();
    private MemorySegment esp;
    private int live;

    public long ibv_create_flow(long queuePair, long attr) {
      short size = ibv_flow_attr.size(Memory.at(attr, ibv_flow_attr.sizeof()));
      rules.add(Memory.at(attr, size).toArray(ValueLayout.JAVA_BYTE));
      live++;
      MemorySegment flow = ibv_flow.allocate(arena);
      ibv_flow.context(flow, context.segment());
      return flow.address();
    }

    public int ibv_destroy_flow(long flow) {
      live--;
      return 0;
    }

    public long create_flow_action_esp(long context, long attr) {
      live++;
      esp = copy(attr);
      MemorySegment action = ibv_flow_action.allocate(arena);
      ibv_flow_action.context(action, MemorySegment.ofAddress(context));
      return action.address();
    }

    public int modify_flow_action_esp(long action, long attr) {
      esp = copy(attr);
      return 0;
    }

    public int destroy_flow_action(long action) {
      live--;
      return 0;
    }

    /** The struct, with copies of what it points to. */
    private MemorySegment copy(long attr) {
      MemorySegment copy = ibv_flow_action_esp_attr.allocate(arena);
      copy.copyFrom(Memory.at(attr, copy.byteSize()));
      ibv_flow_action_esp_attr.esp_attr(
          copy,
          copied(ibv_flow_action_esp_attr.esp_attr(copy), ib_uverbs_flow_action_esp.sizeof()));
      ibv_flow_action_esp_attr.keymat_ptr(
          copy,
          copied(
              ibv_flow_action_esp_attr.keymat_ptr(copy),
              ib_uverbs_flow_action_esp_keymat_aes_gcm.sizeof()));
      ibv_flow_action_esp_attr.replay_ptr(
          copy,
          copied(
              ibv_flow_action_esp_attr.replay_ptr(copy),
              ib_uverbs_flow_action_esp_replay_bmp.sizeof()));
      headers.clear();
      for (long at = ibv_flow_action_esp_attr.esp_encap(copy).address(); at != 0; ) {
        MemorySegment encap = Memory.at(at, ib_uverbs_flow_action_esp_encap.sizeof());
        int type = ib_uverbs_flow_action_esp_encap.type(encap);
        headers.add(type + " of " + ib_uverbs_flow_action_esp_encap.len(encap));
        at = ib_uverbs_flow_action_esp_encap.next_ptr(encap).address();
      }
      return copy;
    }

    private MemorySegment copied(MemorySegment pointer, long size) {
      return pointer.address() == 0
          ? MemorySegment.NULL
          : arena.allocate(size, 8).copyFrom(Memory.at(pointer.address(), size));
    }
  }

  private byte[] recorded() {
    return played.rules.getLast();
  }

  /** What follows the attributes, as hexadecimal. */
  private String specs() {
    byte[] rule = recorded();
    int from = (int) ibv_flow_attr.sizeof();
    return HexFormat.of().formatHex(rule, from, rule.length);
  }

  private void assertSpec(String expected, FlowMatch header) {
    FlowRule.on(qp, 1).match(header).create().close();
    assertEquals(expected.replaceAll("[ |]", ""), specs());
  }

  private static Inet4Address v4(String text) throws UnknownHostException {
    return (Inet4Address) InetAddress.getByName(text);
  }

  private static Inet6Address v6(String text) throws UnknownHostException {
    return (Inet6Address) InetAddress.getByName(text);
  }

  @Test
  void attributesAreWritten() {
    FlowRule rule =
        FlowRule.on(qp, 2).type(FlowType.SNIFFER).priority(0x1234).flags(FlowFlag.EGRESS).create();
    MemorySegment attr = ibv_flow_attr.allocate(arena);
    attr.copyFrom(MemorySegment.ofArray(recorded()));
    assertEquals(rdma_h.IBV_FLOW_ATTR_SNIFFER(), ibv_flow_attr.type(attr));
    assertEquals(0x1234, ibv_flow_attr.priority(attr));
    assertEquals(rdma_h.IBV_FLOW_ATTR_FLAGS_EGRESS(), ibv_flow_attr.flags(attr));
    assertEquals(2, ibv_flow_attr.port(attr));
    assertEquals(0, ibv_flow_attr.num_of_specs(attr));
    assertEquals(ibv_flow_attr.sizeof(), ibv_flow_attr.size(attr));
    assertEquals(qp, rule.queuePair());
    rule.close();
    rule.close();
    assertFalse(rule.isOpen());
  }

  @Test
  void tooLongRuleThrows() throws UnknownHostException {
    FlowRule.Builder rule = FlowRule.on(qp, 1);
    for (int i = 0; i < 255; i++) {
      rule.match(FlowMatch.ipv6().source(v6("::1")));
    }
    rule.create();
    MemorySegment attr = ibv_flow_attr.allocate(arena);
    MemorySegment written = MemorySegment.ofArray(recorded());
    attr.copyFrom(written.asSlice(0, attr.byteSize()));
    assertEquals(255, Byte.toUnsignedInt(ibv_flow_attr.num_of_specs(attr)));
    assertEquals(
        ibv_flow_attr.sizeof() + 255 * ibv_flow_spec_ipv6.sizeof(),
        Short.toUnsignedLong(ibv_flow_attr.size(attr)));
    int before = played.rules.size();
    assertThrows(IllegalArgumentException.class, rule.drop()::create);
    assertEquals(before, played.rules.size(), "no rule that matches everything");
  }

  @Test
  void anEthernetHeaderIsInNetworkOrder() {
    assertSpec(
        "20000000 2800 |02000000000a 000000000000 0800 0005 |ffffffffffff 000000000000 ffff ffff"
            + "|0000",
        FlowMatch.ethernet().destination(MAC).type(0x0800).vlan(5));
    assertEquals(40, ibv_flow_spec_eth.sizeof());
  }

  @Test
  void zerosAreMatched() {
    assertSpec(
        "20000000 2800 |000000000000 000000000000 0000 0000 |000000000000 ffffffffffff ffff 0fff"
            + "|0000",
        FlowMatch.ethernet().source(new EthernetAddress(0)).type(0).vlan(0, 0xfff));
    assertSpec(
        "41000000 1000 |0000 0000 |ffff ffff |0000", FlowMatch.udp().destination(0).source(0));
    assertSpec(
        "30000000 1800 0000| 00000000 00000000 |ffffffff 00000000", FlowMatch.ipv4().source(0));
    assertSpec(
        "32000000 2000 0000| 00000000 00000000 00 00 00 00 |00000000 00000000 00 ff 00 00",
        FlowMatch.ipv4().typeOfService(0));
    assertSpec("60000000 1000 0000|00000000|fffff000", FlowMatch.mpls().label(0));
    assertSpec("50000000 1000 0000|00000000|00ffffff", FlowMatch.vxlan().network(0));
  }

  @Test
  void eachFieldHasAMask() {
    for (Class<?> header : FlowMatch.class.getDeclaredClasses()) {
      Set<String> without = new TreeSet<>(fields(header, 1));
      without.removeAll(fields(header, 2));
      Set<String> expected = header == FlowMatch.Mpls.class ? Set.of("label") : Set.of();
      assertEquals(expected, without, header.getName()); // A label is a part of an MPLS entry.
    }
  }

  private static Set<String> fields(Class<?> header, int parameters) {
    return Stream.of(header.getMethods())
        .filter(m -> FlowMatch.class.isAssignableFrom(m.getDeclaringClass()))
        .filter(m -> m.getParameterCount() == parameters)
        .map(Method::getName)
        .collect(Collectors.toSet());
  }

  /** {@code check_valid_spec} of the kernel's mlx5_core refuses values outside of the mask. */
  @Test
  void valuesAreWithinTheirMask() throws UnknownHostException {
    assertSpec(
        "30000000 1800 0000| 0a000100 0a000002 |ffffff00 ff0000ff",
        FlowMatch.ipv4().source(v4("10.0.1.2"), 24).destination(v4("10.1.1.2"), v4("255.0.0.255")));
    assertSpec(
        "31000000 5800 0000| fd"
            + "00".repeat(31)
            + "00000045 10 08 01 00 | ff"
            + "00".repeat(31)
            + "000000ff f0 0c 03 00",
        FlowMatch.ipv6()
            .source(v6("fd00:9::1"), v6("ff00::"))
            .flowLabel(0x12345, 0xff)
            .nextHeader(0x11, 0xf0)
            .trafficClass(0xb8, 0x0c)
            .hopLimit(0x41, 0x03));
    assertSpec(
        "40000000 1000 |0f00 0040 |ff00 00f0 |0000",
        FlowMatch.tcp().destination(4000, 0xff00).source(77, 0xf0));
    assertSpec(
        "20000000 2800 |020000000000 000000000001 0800 0005 |ff0000000000 0000000000ff ff00 000f"
            + "|0000",
        FlowMatch.ethernet()
            .destination(MAC, new EthernetAddress(0xff00_0000_0000L))
            .source(EthernetAddress.parse("02:00:00:00:00:01"), new EthernetAddress(0xff))
            .type(0x0806, 0xff00)
            .vlan(0xff5, 0xf));
    assertSpec(
        "34000000 1800 0000|00000001 00000002|0000000f 0000ffff",
        FlowMatch.esp().securityParametersIndex(0x11, 0xf).sequence(0x10002, 0xffff));
    assertSpec("50000000 1000 0000|00000007|00ffffff", FlowMatch.vxlan().network(7, 0xffffff));
    assertSpec(
        "51000000 1800 0000|0000 6500 00000009|0000 ff00 000000ff",
        FlowMatch.gre().protocol(0x6558, 0xff00).key(0x109, 0xff));
  }

  @Test
  void ipv4AddressesUseTheBasicStruct() throws UnknownHostException {
    assertSpec(
        "30000000 1800 0000| 0a000123 00000000 |ffffffff 00000000",
        FlowMatch.ipv4().source(0x0a000123));
    assertSpec(
        "30000000 1800 0000| 00000000 0a000100 |00000000 ffffff00",
        FlowMatch.ipv4().destination(v4("10.0.1.0"), 24));
  }

  @Test
  void otherIpv4FieldsUseTheExtendedStruct() throws UnknownHostException {
    assertSpec(
        "32000000 2000 0000| 0a000001 0a000002 11 00 40 02 |ffffffff ffffffff ff 00 ff ff",
        FlowMatch.ipv4()
            .source(v4("10.0.0.1"))
            .destination(v4("10.0.0.2"))
            .protocol(17)
            .timeToLive(64)
            .flags(2));
  }

  @Test
  void ipv6HeadersAreWritten() throws UnknownHostException {
    String none = "00".repeat(16);
    assertSpec(
        "31000000 5800 0000|"
            + none
            + "fd000009000000000000000000000001 00012345 11 00 40 00|"
            + none
            + "ff".repeat(16)
            + "000fffff ff 00 ff 00",
        FlowMatch.ipv6()
            .destination(v6("fd00:9::1"))
            .flowLabel(0x12345)
            .nextHeader(17)
            .hopLimit(64));
  }

  @Test
  void tcpAndUdpPortsAreWritten() {
    assertSpec("41000000 1000 |0fa0 0000 |ffff 0000 |0000", FlowMatch.udp().destination(4000));
    assertSpec("40000000 1000 |0000 0050 |0000 ffff |0000", FlowMatch.tcp().source(80));
  }

  @Test
  void tunnelHeadersAreWritten() {
    assertSpec("50000000 1000 0000|00000007|00ffffff", FlowMatch.vxlan().network(7));
    assertSpec(
        "34000000 1800 0000|00000001 00000002|ffffffff ffffffff",
        FlowMatch.esp().securityParametersIndex(1).sequence(2));
    assertSpec(
        "51000000 1800 0000|2000 6558 00000009|2000 ffff ffffffff",
        FlowMatch.gre().flags(0x2000, 0x2000).protocol(0x6558).key(9));
    assertSpec("60000000 1000 0000|12345000|fffff000", FlowMatch.mpls().label(0x12345));
  }

  @Test
  void headersOfAWrappedPacketAreMarked() {
    FlowRule.on(qp, 1).matchInner(FlowMatch.udp().source(1)).create();
    assertTrue(specs().startsWith("41010000"), specs());
    FlowRule.on(qp, 1).matchInner(FlowMatch.ipv4().source(1)).create();
    assertTrue(specs().startsWith("30010000"), specs());
  }

  @Test
  void aHeaderThatIsChangedLaterIsMatchedAsItWas() {
    FlowMatch.Ethernet header = FlowMatch.ethernet().type(0x0800);
    FlowRule.on(qp, 1).match(header).create();
    String before = specs();
    FlowRule.Builder rule = FlowRule.on(qp, 1).match(header);
    header.type(0x86dd);
    rule.create();
    assertEquals(before, specs());
  }

  @Test
  void headersAndActionsFollowEachOther() {
    FlowRule.on(qp, 1)
        .match(FlowMatch.ethernet().type(0x0800))
        .match(FlowMatch.udp().destination(1))
        .tag(0x01020304)
        .drop()
        .create();
    MemorySegment attr = ibv_flow_attr.allocate(arena);
    MemorySegment.copy(MemorySegment.ofArray(recorded()), 0, attr, 0, attr.byteSize());
    assertEquals(4, ibv_flow_attr.num_of_specs(attr));
    assertEquals(recorded().length, ibv_flow_attr.size(attr));
    assertTrue(specs().endsWith("00100000 0c000000 04030201 01100000 08000000".replace(" ", "")));
    assertEquals(12, ibv_flow_spec_action_tag.sizeof());
  }

  @Test
  void invalidFieldsThrow() {
    assertThrows(IllegalArgumentException.class, () -> EthernetAddress.fromBytes(new byte[5]));
    assertThrows(IllegalArgumentException.class, () -> EthernetAddress.parse("02:00:00:00:00"));
    assertThrows(IllegalArgumentException.class, () -> new EthernetAddress(1L << 48));
    assertThrows(IllegalArgumentException.class, () -> FlowMatch.udp().source(1, 0x10000));
    assertThrows(IllegalArgumentException.class, () -> FlowMatch.ethernet().type(0x10000));
    assertThrows(IllegalArgumentException.class, () -> FlowMatch.udp().source(-1));
    assertThrows(IllegalArgumentException.class, () -> FlowMatch.ipv4().protocol(256));
    assertThrows(IllegalArgumentException.class, () -> FlowMatch.ipv4().source(v4("10.0.0.1"), 33));
    assertThrows(IllegalArgumentException.class, () -> FlowMatch.ipv6().flowLabel(1 << 20));
    assertThrows(IllegalArgumentException.class, () -> FlowRule.on(qp, 0));
    assertThrows(IllegalArgumentException.class, () -> FlowRule.on(qp, 1).priority(1 << 16));
  }

  @Test
  void aRuleClosesBeforeItsActionAndItsQueuePair() {
    FlowAction action = FlowAction.on(context, esp());
    FlowRule first = FlowRule.on(qp, 1).action(action).create();
    byte[] handle = recorded();
    assertEquals(
        action.segment().address(),
        MemorySegment.ofArray(handle)
            .get(
                ValueLayout.JAVA_LONG_UNALIGNED,
                ibv_flow_attr.sizeof() + ibv_flow_spec_action_handle.action$offset()));
    action.close();
    assertFalse(first.isOpen());
    FlowRule second = FlowRule.on(qp, 1).create();
    qp.close();
    assertFalse(second.isOpen());
  }

  private static EspTransform esp() {
    return new EspTransform()
        .association(
            new EspTransform.Association(
                Set.of(EspTransform.Flag.FULL_OFFLOAD, EspTransform.Flag.ENCRYPT), 1, 2, 3, 4))
        .key(
            new EspTransform.AesGcm(
                new byte[] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, 5, 6, 16));
  }

  @Test
  void anActionHasItsAssociationAndKey() {
    FlowAction.on(
        context,
        esp()
            .replayWindow(64)
            .extendedSequence(9)
            .encapsulation(FlowMatch.ipv6(), FlowMatch.udp().source(7)));
    MemorySegment attr = played.esp;
    MemorySegment association = ibv_flow_action_esp_attr.esp_attr(attr);
    association = association.reinterpret(ib_uverbs_flow_action_esp.sizeof());
    assertEquals(1, ib_uverbs_flow_action_esp.spi(association));
    assertEquals(2, ib_uverbs_flow_action_esp.seq(association));
    assertEquals(3, ib_uverbs_flow_action_esp.tfc_pad(association));
    assertEquals(4, ib_uverbs_flow_action_esp.hard_limit_pkts(association));
    assertEquals(5, ib_uverbs_flow_action_esp.flags(association));
    MemorySegment key =
        ibv_flow_action_esp_attr
            .keymat_ptr(attr)
            .reinterpret(ib_uverbs_flow_action_esp_keymat_aes_gcm.sizeof());
    assertEquals(5, ib_uverbs_flow_action_esp_keymat_aes_gcm.salt(key));
    assertEquals(6, ib_uverbs_flow_action_esp_keymat_aes_gcm.iv(key));
    assertEquals(16, ib_uverbs_flow_action_esp_keymat_aes_gcm.icv_len(key));
    assertEquals(16, ib_uverbs_flow_action_esp_keymat_aes_gcm.key_len(key));
    assertArrayEquals(
        new byte[] {1, 2, 3, 4},
        key.asSlice(ib_uverbs_flow_action_esp_keymat_aes_gcm.aes_key$offset(), 4)
            .toArray(ValueLayout.JAVA_BYTE));
    assertEquals(key.byteSize(), ibv_flow_action_esp_attr.keymat_len(attr));
    MemorySegment replay = ibv_flow_action_esp_attr.replay_ptr(attr).reinterpret(4);
    assertEquals(64, ib_uverbs_flow_action_esp_replay_bmp.size(replay));
    assertEquals(9, ibv_flow_action_esp_attr.esn(attr));
    assertEquals(rdma_h.IBV_FLOW_ACTION_ESP_MASK_ESN(), ibv_flow_action_esp_attr.comp_mask(attr));
    assertEquals(
        List.of(
            rdma_h.IBV_FLOW_SPEC_IPV6() + " of " + ibv_flow_ipv6_filter.sizeof(),
            rdma_h.IBV_FLOW_SPEC_UDP() + " of " + 4),
        played.headers);
  }

  @Test
  void modifyContainsOnlyTheChanges() {
    FlowAction action = FlowAction.on(context, esp());
    action.modify(new EspTransform().extendedSequence(3));
    assertEquals(0, ibv_flow_action_esp_attr.esp_attr(played.esp).address());
    assertEquals(0, ibv_flow_action_esp_attr.keymat_ptr(played.esp).address());
    assertEquals(3, ibv_flow_action_esp_attr.esn(played.esp));
    assertThrows(IllegalStateException.class, () -> FlowAction.on(context, new EspTransform()));
    assertThrows(
        IllegalArgumentException.class, () -> new EspTransform.AesGcm(new byte[15], 0, 0, 16));
    String text = new EspTransform.AesGcm(new byte[16], 0, 0, 16).toString();
    assertEquals("AES-GCM key of 16 bytes", text);
  }
}
