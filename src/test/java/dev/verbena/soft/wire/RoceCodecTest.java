package dev.verbena.soft.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.foreign.Memory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.Random;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Packets on the wire: headers, padding, ICRC. */
public class RoceCodecTest {
  private static final int IPV4 = 20;
  private static final int UDP = 8;

  /** The CNP of a ConnectX-4 Lx. */
  public static final String NOTIFICATION =
      "45c2003c718c4000401191610a0011010a001201000012b7002800008100ffff4000011800000000"
          + "0000000000000000000000000000000082fd002a";

  /** A UC SEND of a NIC, with the identification 1144. */
  public static final String SEND =
      "450100400478400040110000c0a80007c0a80007c00012b7002c00002460ffff000000d300cf1710"
          + "4630818be28935d90e9a95505401be885e50000078f353f3";

  private final ByteBuffer buffer = ByteBuffer.allocateDirect(Packet.CAPACITY + 128);
  private final long address = MemorySegment.ofBuffer(buffer).address();
  private final Icrc icrc = new Icrc();

  /** Puts a frame, from its IP header on, into the buffer; returns a packet with its addresses. */
  private Packet load(byte[] frame) {
    ByteBuffer ip = ByteBuffer.wrap(frame);
    Packet addresses = new Packet();
    addresses.sourceGidLow = ipv4(ip.getInt(12));
    addresses.destinationGidLow = ipv4(ip.getInt(16));
    icrc.ports(Short.toUnsignedInt(ip.getShort(20)), Short.toUnsignedInt(ip.getShort(22)));
    MemorySegment.ofBuffer(buffer.clear())
        .copyFrom(MemorySegment.ofArray(frame).asSlice(IPV4 + UDP));
    return addresses;
  }

  private static long ipv4(int bits) {
    return 0xffff_0000_0000L | Integer.toUnsignedLong(bits);
  }

  private static byte[] frame(String hex) {
    return HexFormat.of().parseHex(hex);
  }

  private static int length(byte[] frame) {
    return frame.length - IPV4 - UDP - Icrc.LENGTH;
  }

  private int received(int length) {
    return Memory.getInt(address + length);
  }

  private boolean matches(byte[] frame) {
    Packet addresses = load(frame);
    int length = length(frame);
    return icrc.matches(received(length), addresses, buffer, address, length);
  }

  @ParameterizedTest
  @ValueSource(strings = {NOTIFICATION, SEND})
  void theIcrcOfCapturedPacketsMatchesWhateverTheirIdentification(String hex) {
    assertTrue(matches(frame(hex)));
  }

  @ParameterizedTest
  @ValueSource(strings = {NOTIFICATION, SEND})
  void eachBitThatTheIcrcCoversMatters(String hex) {
    byte[] frame = frame(hex);
    for (int bit = 0; bit < frame.length * Byte.SIZE; bit++) {
      int at = bit / Byte.SIZE;
      byte[] changed = frame.clone();
      changed[at] ^= (byte) (1 << bit % Byte.SIZE);
      boolean isMasked = at == IPV4 + UDP + RoceCodec.MASKED;
      // Of the IP and UDP headers, the codec sees addresses and ports only.
      boolean isHidden = at < 12 || (at >= 24 && at < IPV4 + UDP);
      assertEquals(isMasked || isHidden, matches(changed), "byte " + at);
    }
  }

  @Test
  void theIcrcOfAPacketWithIdentification0IsExact() {
    byte[] frame = frame(SEND);
    Packet addresses = load(frame);
    int length = length(frame);
    int computed = icrc.compute(addresses, buffer, address, length);
    assertNotEquals(received(length), computed, "the captured one has an identification");
    int explained = 0;
    Random random = new Random(7);
    for (int i = 0; i < 100_000; i++) {
      explained += icrc.matches(random.nextInt(), addresses, buffer, address, length) ? 1 : 0;
    }
    // Each of 65,536 identifications explains one of 2^32 values.
    assertTrue(explained < 20, explained + " of 100000 random values match");
  }

  @Test
  void aCapturedSendIsRead() {
    byte[] frame = frame(SEND);
    Packet packet = load(frame);
    assertEquals(
        RoceCodec.Result.PACKET, RoceCodec.read(address, length(frame), packet), packet.toString());
    assertEquals(Opcode.UC | Opcode.SEND_ONLY, packet.opcode);
    assertEquals(0xd3, packet.destination);
    assertEquals(0xcf1710, packet.psn);
    assertEquals(18, packet.length);
    assertEquals(0x4630, Short.toUnsignedInt(Short.reverseBytes(Memory.getShort(packet.payload))));
    assertEquals(
        "192.168.0.7 > 192.168.0.7 UC_SEND_ONLY qpn=0x0000d3 psn=0xcf1710 payload=18",
        PacketText.of(packet));
  }

  @Test
  void aCapturedCongestionNotificationIsRecognized() {
    byte[] frame = frame(NOTIFICATION);
    Packet packet = load(frame);
    assertEquals(RoceCodec.Result.NOTIFICATION, RoceCodec.read(address, length(frame), packet));
  }

  private static Packet random(RandomGenerator random, int opcode, int payload) {
    Packet packet = new Packet();
    packet.reset(opcode, random.nextInt() & Psn.MASK, random.nextInt() & Psn.MASK);
    packet.solicited = random.nextBoolean();
    packet.ackRequested = random.nextBoolean();
    packet.address = random.nextLong();
    packet.remoteKey = random.nextInt();
    packet.dmaLength = random.nextInt();
    packet.swapOrAdd = random.nextLong();
    packet.compare = opcode == Opcode.FETCH_ADD ? 0 : random.nextLong();
    packet.flushType = random.nextInt(16);
    packet.flushLevel = random.nextInt(2);
    packet.immediate = random.nextInt();
    packet.syndrome = random.nextInt(256);
    packet.messageNumber = random.nextInt() & Psn.MASK;
    packet.original = random.nextLong();
    packet.queueKey = random.nextInt();
    packet.sourceNumber = random.nextInt() & Psn.MASK;
    packet.session = Opcode.transport(opcode) == Opcode.DC ? random.nextLong() : random.nextInt();
    packet.accessKey = random.nextLong();
    packet.oldestPsn = random.nextInt() & Psn.MASK;
    packet.offset = random.nextInt();
    packet.sharedQueue = random.nextInt() & Psn.MASK;
    packet.length = payload;
    for (int i = 0; i < payload; i++) {
      Memory.putByte(packet.payload + i, (byte) random.nextInt());
    }
    return packet;
  }

  @Test
  void packetsOfAllOpcodesAreReadAsTheyWereWritten() {
    Random random = new Random(1);
    int opcodes = 0;
    for (int opcode = 0; opcode < 256; opcode++) {
      if (RoceCodec.extensions(opcode) < 0) {
        continue;
      }
      opcodes++;
      for (int payload : new int[] {0, 1, 2, 3, 4, 255, 1024, 4096}) {
        Packet packet = random(random, opcode, payload);
        int length = RoceCodec.write(packet, address);
        assertEquals(RoceCodec.length(packet), length);
        assertTrue(length <= payload + RoceCodec.MAX_OVERHEAD && length % 4 == 0, "" + length);
        Packet read = random(random, opcode, 0); // Nothing that it held before shows.
        assertEquals(RoceCodec.Result.PACKET, RoceCodec.read(address, length, read));
        read.sourceGidLow = packet.sourceGidLow;
        assertEquals(PacketText.of(packet), PacketText.of(read));
        assertEquals(
            -1,
            Memory.at(packet.payload, payload + 1L)
                .asSlice(0, payload)
                .mismatch(Memory.at(read.payload, payload + 1L).asSlice(0, payload)));
        ByteBuffer second = ByteBuffer.allocateDirect(length);
        assertEquals(length, RoceCodec.write(read, MemorySegment.ofBuffer(second).address()));
        assertEquals(
            -1,
            MemorySegment.ofBuffer(buffer.clear().limit(length))
                .mismatch(MemorySegment.ofBuffer(second)),
            PacketText.of(packet));
        for (int shorter = 0; shorter < RoceCodec.BTH + RoceCodec.extensions(opcode); shorter++) {
          assertEquals(RoceCodec.Result.MALFORMED, RoceCodec.read(address, shorter, read));
        }
      }
    }
    // RC: 25, and as many of XRC; UC: 12; UD: 2; SRD: 7; DC: those of RC without two.
    assertEquals(2 * 25 + 12 + 2 + 7 + 23, opcodes);
  }

  /** Bytes as the specification has them, without payload. */
  @ParameterizedTest
  @CsvSource({
    // RC WRITE only with immediate: BTH, RETH, ImmDt
    "0x0b, 0b40ffff00aabbcc8000000511223344556677880a0b0c0d0000100001020304",
    // RC ACK: BTH, AETH
    "0x11, 1140ffff00aabbcc800000051f000007",
    // RC compare-swap: BTH, AtomicETH
    "0x13, 1340ffff00aabbcc8000000511223344556677880a0b0c0d2122232425262728" + "3132333435363738",
    // RC atomic ACK: BTH, AETH, AtomicAckETH
    "0x12, 1240ffff00aabbcc800000051f0000074142434445464748",
    // RC SEND only with invalidate: BTH, IETH
    "0x17, 1740ffff00aabbcc8000000504030201",
    // RC FLUSH: BTH, FETH, RETH
    "0x1c, 1c40ffff00aabbcc800000050000001211223344556677880a0b0c0d00001000",
    // UD SEND only with immediate: BTH, DETH, ImmDt
    "0x65, 6540ffff00aabbcc80000005800100000012345601020304",
  })
  void headersAreThoseOfTheSpecification(String opcode, String expected) {
    Packet packet = new Packet().reset(Integer.decode(opcode), 0xaabbcc, 5);
    packet.ackRequested = true;
    packet.address = 0x1122334455667788L;
    packet.remoteKey = 0x0a0b0c0d;
    packet.dmaLength = 4096;
    packet.immediate = 0x04030201; // As it lies in memory: 01 02 03 04.
    packet.syndrome = Syndrome.ACK;
    packet.messageNumber = 7;
    packet.swapOrAdd = 0x2122232425262728L;
    packet.compare = 0x3132333435363738L;
    packet.original = 0x4142434445464748L;
    packet.flushLevel = 1;
    packet.flushType = 2;
    packet.queueKey = 0x80010000;
    packet.sourceNumber = 0x123456;
    int length = RoceCodec.write(packet, address);
    byte[] written = Memory.at(address, length).toArray(ValueLayout.JAVA_BYTE);
    assertEquals(expected, HexFormat.of().formatHex(written));
  }

  @Test
  void otherVersionsPartitionsAndLengthsAreMalformed() {
    Packet packet = new Packet().reset(Opcode.SEND_ONLY, 0x11, 5);
    packet.length = 5;
    int length = RoceCodec.write(packet, address);
    int first = RoceCodec.getInt(address);
    assertEquals(RoceCodec.Result.PACKET, RoceCodec.read(address, length, packet));
    for (int flip : new int[] {0x0001_0000, 0x0008_0000, 0x1, 0x4000}) {
      RoceCodec.putInt(address, first ^ flip);
      assertEquals(
          RoceCodec.Result.MALFORMED,
          RoceCodec.read(address, length, packet),
          Integer.toHexString(flip));
    }
    RoceCodec.putInt(address, first);
    assertEquals(RoceCodec.Result.MALFORMED, RoceCodec.read(address, length - 1, packet));
    RoceCodec.putInt(address, first ^ 0x8000); // A limited member of the same partition.
    assertEquals(RoceCodec.Result.PACKET, RoceCodec.read(address, length, packet));
  }

  @Test
  void bytesOfAnyContentAreReadWithoutAccessBeyondThem() {
    Random random = new Random(3);
    Packet packet = new Packet();
    int packets = 0;
    for (int i = 0; i < 200_000; i++) {
      int length = random.nextInt(128);
      for (int at = 0; at < 128; at += 8) {
        Memory.putLong(address + at, random.nextLong());
      }
      // Half of them with valid fields, so that some pass.
      if (random.nextBoolean()) {
        Memory.putByte(address + 1, (byte) (random.nextInt(4) << 4));
        Memory.putShort(address + 2, (short) -1);
      }
      if (RoceCodec.read(address, length, packet) == RoceCodec.Result.PACKET) {
        packets++;
        assertTrue(packet.length >= 0 && packet.length <= length - RoceCodec.BTH);
        assertFalse(PacketText.of(packet).isEmpty());
      }
    }
    assertTrue(packets > 1000, packets + " packets");
  }
}
