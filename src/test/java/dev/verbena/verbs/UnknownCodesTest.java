package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.FlagSet;
import dev.verbena.attributes.LinkLayer;
import dev.verbena.attributes.OdpOperation;
import dev.verbena.attributes.PortAttributes;
import dev.verbena.attributes.PortCapability;
import dev.verbena.fake.FakeProvider;
import dev.verbena.raw.ibv_port_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.LoggedMessages;
import dev.verbena.values.AsyncEventType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import java.util.logging.Level;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A code that is newer than this library becomes UNKNOWN, but its number remains visible. */
@Tag("host")
class UnknownCodesTest {
  private static final int NEW = 97;

  @Test
  void anUnknownEventHasItsCode() throws Exception {
    try (FakeProvider provider = new FakeProvider();
        Context context = FakeDevices.of(provider).open()) {
      provider.internals().event(context.segment().address(), NEW, 0);
      AsyncEvent event = AsyncEvents.of(context).take();
      assertEquals(NEW, assertInstanceOf(AsyncEvent.Unknown.class, event).code());
      assertSame(AsyncEventType.UNKNOWN, event.type());
      assertTrue(event.toString().contains("97"), event::toString);
    }
  }

  @Test
  void eachUnknownCodeIsLoggedOnce() {
    try (LoggedMessages messages = new LoggedMessages("dev.verbena", Level.INFO, "LinkLayer");
        Arena arena = Arena.ofConfined()) {
      MemorySegment struct = ibv_port_attr.allocate(arena);
      ibv_port_attr.link_layer(struct, (byte) NEW);
      PortAttributes attributes = new PortAttributes(struct);
      assertSame(LinkLayer.UNKNOWN, attributes.linkLayer());
      assertSame(LinkLayer.UNKNOWN, attributes.linkLayer());
      assertEquals(
          List.of("WARNING: LinkLayer 97 is unknown to this library and becomes UNKNOWN"),
          messages.all());
    }
  }

  @Test
  void unknownBitsStayVisible() {
    int bits = rdma_h.IBV_PORT_CM_SUP() | 1 << 31 | 1;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment struct = ibv_port_attr.allocate(arena);
      ibv_port_attr.port_cap_flags(struct, bits);
      FlagSet<PortCapability> flags = new PortAttributes(struct).capabilities();
      assertEquals(Set.of(PortCapability.CM_SUP), flags);
      assertEquals(Integer.toUnsignedLong(bits), flags.mask());
      assertEquals(0x8000_0001L, flags.unknown());
      assertEquals("[CM_SUP, 0x80000001]", flags.toString());
    }
  }

  @Test
  void knownBitsAreNotRepeated() {
    FlagSet<OdpOperation> flags =
        FlagSet.of(OdpOperation.class, OdpOperation.SEND.bit() | OdpOperation.READ.bit());
    assertEquals(0, flags.unknown());
    assertEquals("[SEND, READ]", flags.toString());
    assertEquals("[0x400]", FlagSet.of(OdpOperation.class, 0x400).toString());
    assertEquals("[]", FlagSet.of(OdpOperation.class, 0).toString());
  }

  @Test
  void flagsCannotBeChanged() {
    Set<OdpOperation> flags = FlagSet.of(OdpOperation.class, OdpOperation.SEND.bit());
    assertThrows(UnsupportedOperationException.class, flags::clear);
    assertThrows(
        UnsupportedOperationException.class,
        () -> flags.removeIf(flag -> flag == OdpOperation.SEND));
  }
}
