package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.fake.FakeProvider;
import dev.verbena.raw.ibv_port_attr;
import dev.verbena.testing.LoggedMessages;
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
      AsyncEvent event = context.asyncEvents().take();
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
  void unknownBitsAreLoggedOnce() {
    try (LoggedMessages messages =
        new LoggedMessages("dev.verbena", Level.FINE, "CompletionFlag")) {
      for (int i = 0; i < 2; i++) {
        assertEquals(
            Set.of(CompletionFlag.GRH),
            Flags.of(CompletionFlag.class, CompletionFlag.GRH.bit() | 1L << 40));
      }
      assertEquals(
          List.of(
              "FINE: CompletionFlag bits 0x10000000000 are unknown to this library and left out"),
          messages.all());
    }
  }
}
