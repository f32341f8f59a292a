package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static dev.verbena.testing.Need.ADDRESSES;
import static dev.verbena.testing.Need.KERNEL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.Gid;
import dev.verbena.address.GidEntry;
import dev.verbena.address.GidType;
import dev.verbena.address.Mtu;
import dev.verbena.attributes.AtomicScope;
import dev.verbena.attributes.DeviceAttributes;
import dev.verbena.attributes.DeviceCapability;
import dev.verbena.attributes.LinkLayer;
import dev.verbena.attributes.LinkWidth;
import dev.verbena.attributes.NodeType;
import dev.verbena.attributes.PhysicalState;
import dev.verbena.attributes.PortAttributes;
import dev.verbena.attributes.PortCapability;
import dev.verbena.attributes.PortState;
import dev.verbena.attributes.RawPacketCapability;
import dev.verbena.fake.FakeProvider;
import dev.verbena.internal.Providers;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Environment;
import dev.verbena.testing.Need;
import dev.verbena.testing.Needs;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import java.net.InetAddress;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

/** What devices and ports say, as rdma-core's test_device.py asks them. */
class DeviceQueriesTest {
  @DeviceTest
  @Needs(ADDRESSES)
  @On(
      value = {SOFTWARE, SOFT_ROCE},
      reason = "the values are those of these devices")
  void isFound() throws Exception {
    Device device = Rig.a();
    assertEquals(device.name(), Device.named(device.name()).name());
    assertEquals(device.name(), Device.withGuid(device.guid()).name());
    assertEquals(device.name(), Device.withIndex(device.index().orElseThrow()).name());
    assertEquals(device.name(), Device.withAddress(Rig.addressA()).name());
    assertEquals(device.name(), Device.withAddress(Rig.address6A()).name());
    assertEquals(Rig.b().name(), Device.withAddress(Rig.addressB()).name());
    InetAddress loopback = InetAddress.getLoopbackAddress();
    var thrown = assertThrows(VerbsException.class, () -> Device.withAddress(loopback));
    assertEquals(Errno.ENODEV, thrown.errno());
    assertTrue(thrown.getMessage().contains(device.name()), thrown.getMessage());
  }

  @DeviceTest
  @Needs(KERNEL)
  void hasInterfacesAndNumaNode() {
    var names = Rig.a().networkInterfaces().stream().map(i -> i.getName()).toList();
    assertEquals(List.of("va"), names);
    assertEquals(OptionalInt.empty(), Rig.a().numaNode(), "rxe has no hardware");
  }

  @DeviceTest
  void tellsItsProviderLibraryAmongThoseThatAreLoaded() {
    String expected =
        Rig.isSoftware()
            ? "none"
            : Rig.environment().equals("the emulated NIC")
                ? "libmlx5\\.so\\.1\\.\\S+"
                : "librxe-rdmav\\d+\\.so";
    Context context = Rig.a().open();
    String library = context.providerLibrary().orElse("none");
    assertTrue(library.matches(expected), library);
    context.close();
    assertThrows(IllegalStateException.class, context::providerLibrary);
  }

  @DeviceTest
  void hasTheTextsOfTheLibrary() {
    var verbs = Providers.system().verbs();
    for (NodeType type : NodeType.values()) {
      assertEquals(Memory.string(verbs.ibv_node_type_str(type.code())), type.text());
    }
    for (PortState state : PortState.values()) {
      assertEquals(Memory.string(verbs.ibv_port_state_str(state.code())), state.text());
    }
  }

  @DeviceTest
  @On(
      value = {SOFTWARE, SOFT_ROCE},
      reason = "the values are those of these devices")
  void hasAttributes() {
    try (Context context = Rig.a().open()) {
      DeviceAttributes device = context.deviceAttributes();
      assertEquals(1, device.portCount());
      assertEquals(Rig.a().guid(), device.nodeGuid());
      assertTrue(device.maxQueuePairs() > 1000);
      assertTrue(device.maxQueuePairRequests() >= 1000);
      assertTrue(device.maxSges() >= 4);
      assertTrue(device.maxCompletionQueueEntries() >= 1000);
      assertTrue(device.maxMemoryRegionSize() != 0);
      assertEquals(128, device.maxReadsAsTarget());
      assertEquals(128, device.maxReadsAsInitiator());
      assertEquals(AtomicScope.HCA, device.atomicScope());
      assertTrue(device.has(DeviceCapability.SRQ_RESIZE));
      assertTrue(device.has(DeviceCapability.RC_RNR_NAK_GEN));
      assertEquals(Rig.isSoftware(), device.has(DeviceCapability.XRC));
      assertEquals(Rig.isSoftware(), device.has(RawPacketCapability.IP_CSUM));
      assertEquals(Rig.isSoftware(), device.tagMatching().maxTags() > 0);
      assertEquals(Rig.isSoftware(), device.tcpSegmentation().maxSize() > 0);
      assertEquals(Rig.isSoftware(), device.packetPacing().maxRate() > 0);
      assertEquals(Rig.isSoftware(), device.receiveSideScaling().maxTables() > 0);
      assertEquals(Rig.isSoftware(), device.maxDeviceMemory() > 0);
      assertEquals(
          Rig.isSoftware() && !Environment.current().lacks(Need.CHECKED_COPIES),
          device.onDemandPaging().implicit());
    }
  }

  @Test
  void hasBasicAttributesWithoutTheExtendedQuery() {
    try (FakeProvider provider = new FakeProvider().play(new OldProvider());
        Context context = Device.list(provider).getFirst().open()) {
      DeviceAttributes device = context.deviceAttributes();
      assertEquals(2, device.portCount());
      assertTrue(device.maxQueuePairs() > 1000);
      assertEquals(0, device.maxDeviceMemory());
      assertEquals(0, device.tagMatching().maxTags());
    }
  }

  /** A provider of a kernel that lacks the extended query. */
  private static final class OldProvider {
    @SuppressWarnings({"unused", "EffectivelyPrivate"}) // Found by name.
    public int query_device_ex(long context, long input, long attr, long size) {
      return Errno.EOPNOTSUPP;
    }
  }

  @DeviceTest
  @On(
      value = {SOFTWARE, SOFT_ROCE},
      reason = "the values are those of these devices")
  void hasPortAttributes() {
    try (Context context = Rig.a().open()) {
      assertEquals(1, context.ports().size());
      Port port = context.port(1);
      PortAttributes now = port.attributes();
      assertEquals(PortState.ACTIVE, now.state());
      assertEquals(PhysicalState.LINK_UP, now.physicalState());
      assertEquals(LinkLayer.ETHERNET, now.linkLayer());
      assertEquals(Mtu.MTU_4096, now.maxMtu());
      assertTrue(now.activeMtu().compareTo(Mtu.MTU_1024) >= 0);
      assertTrue(now.gidTableLength() >= 3);
      assertTrue(now.pkeyTableLength() >= 1);
      assertEquals(0, now.lid());
      assertTrue(now.capabilities().contains(PortCapability.CM_SUP));
      assertEquals(LinkWidth.X1, now.activeWidth());
      assertEquals("10.0 Gbps", now.activeSpeed().text());
      assertTrue(now.maxMessageSize() >= 1 << 23);
    }
  }

  @DeviceTest
  void hasNoOtherPort() {
    try (Context context = Rig.a().open()) {
      for (int number : new int[] {-1, 0, 2, 256, 257}) {
        var thrown = assertThrows(IllegalArgumentException.class, () -> context.port(number));
        assertTrue(thrown.getMessage().contains("has port 1"), thrown.getMessage());
      }
    }
  }

  @DeviceTest
  @Needs(ADDRESSES)
  @On(
      value = {SOFTWARE, SOFT_ROCE},
      reason = "the values are those of these devices")
  void hasGids() throws Exception {
    try (Context context = Rig.a().open()) {
      Port port = context.port(1);
      List<GidEntry> table = port.gidTable();
      assertEquals(context.gidTable(), table);
      assertTrue(table.size() >= 3, table.toString());
      for (GidEntry entry : table) {
        assertEquals(entry.gid(), port.gid(entry.index()));
        assertEquals(entry, port.gidEntry(entry.index()));
        assertEquals(GidType.ROCE_V2, entry.type());
        if (!Rig.isSoftware()) {
          assertEquals("va", entry.networkInterface().orElseThrow().getName());
        }
      }
      assertTrue(port.gid(0).isLinkLocal());
      int empty = port.attributes().gidTableLength() - 1;
      assertEquals(Gid.ZERO, port.gid(empty));
      var thrown = assertThrows(VerbsException.class, () -> port.gidEntry(empty));
      assertEquals(Errno.ENODATA, thrown.errno());
      assertThrows(VerbsException.class, () -> port.gid(60_000));
      assertThrows(IllegalArgumentException.class, () -> port.gid(-1));
    }
  }

  @DeviceTest
  @Needs(ADDRESSES)
  void choosesTheGidOfTheIpv4Address() {
    try (Context context = Rig.a().open()) {
      GidChoice choice = context.port(1).chooseGid();
      assertEquals(Gid.of(Rig.addressA()), choice.gid());
      assertEquals(choice.entry(), context.port(1).chooseGid(Rig.addressA()).entry());
      assertEquals(Gid.of(Rig.address6A()), context.port(1).chooseGid(Rig.address6A()).gid());
    }
  }

  @DeviceTest
  void hasPartitionKeys() {
    try (Context context = Rig.a().open()) {
      Port port = context.port(1);
      assertEquals(0xffff, port.pkey(0));
      assertEquals(0, port.pkeyIndex(0xffff));
      assertThrows(VerbsException.class, () -> port.pkeyIndex(0x1234));
      assertThrows(VerbsException.class, () -> port.pkey(60_000));
      assertThrows(IllegalArgumentException.class, () -> port.pkey(-1));
      assertThrows(IllegalArgumentException.class, () -> port.pkeyIndex(0x10000));
    }
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void hasNoClock() {
    try (Context context = Rig.a().open()) {
      var thrown = assertThrows(VerbsException.class, context::rawClock);
      assertTrue(thrown.isUnsupported(), thrown.getMessage());
      assertThrows(IllegalStateException.class, context::clock);
    }
  }

  @DeviceTest
  void queryOfAClosedContextThrows() {
    Context context = Rig.a().open();
    Port port = context.port(1);
    context.close();
    assertThrows(IllegalStateException.class, port::attributes);
    assertThrows(IllegalStateException.class, port::gidTable);
    assertThrows(IllegalStateException.class, () -> port.gid(0));
    assertThrows(IllegalStateException.class, () -> port.pkey(0));
    assertThrows(IllegalStateException.class, context::deviceAttributes);
    assertThrows(IllegalStateException.class, context::ports);
  }
}
