package dev.verbena.address;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** GIDs and their texts. */
class GidTest {
  @ParameterizedTest
  @CsvSource({
    "fe80:0:0:0:0:ff:fe00:a01, fe80::ff:fe00:a01",
    "fd00:9::1, fd00:9::1",
    "::, ::",
    "::1, ::1",
    "1::, 1::",
    "2001:db8:0:0:1:0:0:1, 2001:db8::1:0:0:1",
    "2001:db8:0:1:1:1:1:1, 2001:db8:0:1:1:1:1:1",
    "1:2:3:4:5:6:7:8, 1:2:3:4:5:6:7:8",
    "::ffff:10.9.0.1, ::ffff:10.9.0.1",
    "10.9.0.1, ::ffff:10.9.0.1",
    "::ffff:a09:1, ::ffff:10.9.0.1",
  })
  void readsAndWritesAddresses(String text, String shortest) {
    Gid gid = Gid.parse(text);
    assertEquals(shortest, gid.toString());
    assertEquals(gid, Gid.parse(gid.toString()));
    assertEquals(gid, Gid.fromBytes(gid.toBytes()));
    assertEquals(gid, Gid.of(gid.toInetAddress()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "fe80::1%lo", "fe80", "1.2.3", "::g", "example.org", "1:2:3"})
  void invalidTextThrows(String text) {
    assertThrows(IllegalArgumentException.class, () -> Gid.parse(text));
  }

  @Test
  void invalidLengthThrows() {
    assertThrows(IllegalArgumentException.class, () -> Gid.fromBytes(new byte[4]));
  }

  @Test
  void kindOfAddressIsDetected() throws Exception {
    assertTrue(Gid.parse("fe80::1").isLinkLocal());
    assertFalse(Gid.parse("fec0::1").isLinkLocal());
    assertTrue(Gid.parse("ff0e::ffff:1.2.3.4").isMulticast());
    assertTrue(Gid.parse("::ffff:239.0.0.7").isMulticast(), "a group of RoCE v2 over IPv4");
    assertFalse(Gid.parse("::ffff:10.0.0.7").isMulticast());
    assertFalse(Gid.parse("fe80::1").isMulticast());
    assertTrue(Gid.of(InetAddress.getByName("192.0.2.1")).isIpv4Mapped());
    assertFalse(Gid.parse("::1").isIpv4Mapped());
    assertTrue(Gid.parse("::").isZero());
    assertEquals("192.0.2.1", Gid.parse("192.0.2.1").toInetAddress().getHostAddress());
  }

  @Test
  void memoryIsInNetworkOrder() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(16);
      Gid gid = Gid.parse("fe80::102:304:506:708");
      gid.writeTo(memory);
      assertArrayEquals(gid.toBytes(), memory.toArray(ValueLayout.JAVA_BYTE));
      assertEquals((byte) 0xfe, memory.get(ValueLayout.JAVA_BYTE, 0));
      assertEquals(8, memory.get(ValueLayout.JAVA_BYTE, 15));
      assertEquals(gid, Gid.readFrom(memory));
    }
  }
}
