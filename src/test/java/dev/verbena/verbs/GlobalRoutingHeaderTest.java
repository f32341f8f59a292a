package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.Gid;
import dev.verbena.address.GlobalRoutingHeader;
import java.lang.foreign.MemorySegment;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The header before a datagram, of both IP versions; {@code AddrTest} reads those of devices. */
class GlobalRoutingHeaderTest {
  private static final String ADDRESSES =
      "20010db8000000000000000000000001" + "ff0e000000000000000000000000abcd";

  /** With its checksum, 0xb861. */
  private static final String IPV4 = "450000730000400040" + "11b861" + "c0a80001" + "c0a800c7";

  private static GlobalRoutingHeader read(String hex) {
    return GlobalRoutingHeader.of(MemorySegment.ofArray(HexFormat.of().parseHex(hex + "00")));
  }

  @Test
  void anIpv6HeaderIsRead() {
    assertEquals(
        new GlobalRoutingHeader(
            6, 0xb8, 0xabcde, 300, 27, 63, Gid.parse("2001:db8::1"), Gid.parse("ff0e::abcd")),
        read("6b8abcde" + "012c" + "1b" + "3f" + ADDRESSES));
  }

  @Test
  void anIpv4HeaderIsInTheLastBytes() {
    var expected =
        new GlobalRoutingHeader(
            4, 0, 0, 0x73 - 20, 17, 64, Gid.parse("192.168.0.1"), Gid.parse("192.168.0.199"));
    assertEquals(expected, read("00".repeat(20) + IPV4));
    assertEquals(expected, read("60" + "ff".repeat(19) + IPV4), "the device leaves other bytes");
  }

  /** The end of an IPv6 address may look like an IPv4 header, but for the checksum. */
  @Test
  void theChecksumTellsTheVersions() {
    String wrong = IPV4.replace("b861", "b862");
    assertEquals(6, read("60" + "00".repeat(19) + wrong).version());
    assertEquals(4, read("00".repeat(20) + wrong).version());
  }

  /** A header of IPv4 gives the length of the whole packet, which may be less than its own. */
  @Test
  void noLengthIsNegative() {
    assertEquals(0, read("00".repeat(20) + IPV4.replace("0073", "0013")).payloadLength());
  }

  @Test
  void anyBytesAreReadOrRefused() {
    Random random = new Random(5);
    byte[] bytes = new byte[GlobalRoutingHeader.SIZE];
    int read = 0;
    for (int i = 0; i < 100_000; i++) {
      random.nextBytes(bytes);
      int version = bytes[0] >>> 4 == 6 ? 6 : bytes[20] >>> 4 == 4 ? 4 : 0;
      MemorySegment memory = MemorySegment.ofArray(bytes);
      if (version > 0) {
        GlobalRoutingHeader header = GlobalRoutingHeader.of(memory);
        assertEquals(version, header.version());
        assertTrue(header.payloadLength() >= 0);
        read++;
      } else {
        assertThrows(IllegalArgumentException.class, () -> GlobalRoutingHeader.of(memory));
      }
    }
    assertTrue(read > 0);
  }

  @Test
  void memoryWithoutAHeaderThrows() {
    assertThrows(IllegalArgumentException.class, () -> read("00".repeat(40)));
    assertThrows(IndexOutOfBoundsException.class, () -> read("60".repeat(38)));
  }
}
