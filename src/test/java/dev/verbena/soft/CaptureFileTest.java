package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.wire.Icrc;
import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;
import dev.verbena.soft.wire.RoceCodec;
import dev.verbena.soft.wire.RoceCodecTest;
import dev.verbena.soft.wire.Syndrome;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Capture files with the packets of NICs that {@link RoceCodecTest} has, from the IP header on. */
public final class CaptureFileTest {
  private static final int MICROSECONDS = 0xa1b2c3d4;
  private static final int NANOSECONDS = 0xa1b23c4d;
  private static final int RAW_IP = 101;
  private static final byte[] NOTIFICATION = HexFormat.of().parseHex(RoceCodecTest.NOTIFICATION);
  private static final byte[] SEND = HexFormat.of().parseHex(RoceCodecTest.SEND);

  private static final String SEND_TEXT =
      "192.168.0.7 > 192.168.0.7 UC_SEND_ONLY qpn=0x0000d3 psn=0xcf1710 payload=18 ICRC ok";
  private static final String NOTIFICATION_TEXT = "10.0.17.1 > 10.0.18.1 CNP qpn=0x000118 ICRC ok";

  CaptureFileTest() {}

  /** A file with frames, one a millisecond. */
  static byte[] file(ByteOrder order, int magic, int linkType, byte[]... frames) {
    ByteArrayOutputStream file = new ByteArrayOutputStream();
    ByteBuffer header = ByteBuffer.allocate(24).order(order);
    header.putInt(magic).putShort((short) 2).putShort((short) 4).putLong(0).putInt(65_535);
    file.writeBytes(header.putInt(linkType).array());
    int millisecond = magic == NANOSECONDS ? 1_000_000 : 1000;
    for (int i = 0; i < frames.length; i++) {
      ByteBuffer record = ByteBuffer.allocate(16).order(order);
      record.putInt(1_700_000_000).putInt(i * millisecond);
      file.writeBytes(record.putInt(frames[i].length).putInt(frames[i].length).array());
      file.writeBytes(frames[i]);
    }
    return file.toByteArray();
  }

  /** A file with the packets of NICs. */
  public static byte[] ofNics() {
    return file(ByteOrder.LITTLE_ENDIAN, MICROSECONDS, RAW_IP, NOTIFICATION, SEND);
  }

  private static byte[] after(String hex, byte[] packet) {
    return HexFormat.of().parseHex(hex + HexFormat.of().formatHex(packet));
  }

  private static List<String> lines(byte[] file) throws IOException {
    List<String> lines = new ArrayList<>();
    CaptureFile.read(new ByteArrayInputStream(file), lines::add);
    return lines;
  }

  private static String only(int linkType, byte[] frame) throws IOException {
    List<String> lines = lines(file(ByteOrder.LITTLE_ENDIAN, MICROSECONDS, linkType, frame));
    assertEquals(1, lines.size(), lines.toString());
    return lines.getFirst().substring("0.000000 ".length());
  }

  @ParameterizedTest
  @CsvSource({
    "LITTLE_ENDIAN, a1b2c3d4, 0.001000",
    "BIG_ENDIAN, a1b2c3d4, 0.001000",
    "LITTLE_ENDIAN, a1b23c4d, 0.001000000",
    "BIG_ENDIAN, a1b23c4d, 0.001000000"
  })
  void filesOfBothByteOrdersAndResolutionsAreRead(String order, String magic, String second)
      throws IOException {
    ByteOrder byteOrder =
        order.equals("BIG_ENDIAN") ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
    byte[] file = file(byteOrder, Integer.parseUnsignedInt(magic, 16), RAW_IP, NOTIFICATION, SEND);
    String first = second.replace('1', '0');
    assertEquals(List.of(first + ' ' + NOTIFICATION_TEXT, second + ' ' + SEND_TEXT), lines(file));
  }

  @ParameterizedTest
  @CsvSource({
    "1, 020000000001 020000000002 0800",
    "1, 020000000001 020000000002 8100 0064 0800",
    "1, 020000000001 020000000002 88a8 0001 8100 0064 0800",
    "113, 0000 0001 0006 0200000000010000 0800",
    "276, 0800 0000 00000002 0001 00 06 0200000000010000",
    "101, ''",
    "228, ''",
  })
  void packetsAreFoundBelowAllLinkTypes(int linkType, String header) throws IOException {
    assertEquals(SEND_TEXT, only(linkType, after(header.replace(" ", ""), SEND)));
  }

  @Test
  void packetsAreFoundInIpv6() throws IOException {
    ByteBuffer body = ByteBuffer.allocateDirect(256);
    long address = MemorySegment.ofBuffer(body).address();
    Packet packet = new Packet().reset(Opcode.ACKNOWLEDGE, 0x11, 7);
    packet.syndrome = Syndrome.ACK;
    packet.sourceGidHigh = packet.destinationGidHigh = 0xfd00L << 48;
    packet.sourceGidLow = 1;
    packet.destinationGidLow = 2;
    int length = RoceCodec.write(packet, address);
    Icrc icrc = new Icrc();
    icrc.ports(49_152, 4791);
    int crc = icrc.compute(packet, body, address, length);
    ByteBuffer frame = ByteBuffer.allocate(48 + length + 4);
    frame.putInt(0x60000000).putShort((short) (8 + length + 4)).put((byte) 17).put((byte) 64);
    frame.putLong(packet.sourceGidHigh).putLong(1).putLong(packet.sourceGidHigh).putLong(2);
    frame.putShort((short) 49_152).putShort((short) 4791).putShort((short) (8 + length + 4));
    frame.putShort((short) 0).put(body.clear().limit(length)).putInt(Integer.reverseBytes(crc));
    String text =
        "fd00:0:0:0:0:0:0:1 > fd00:0:0:0:0:0:0:2 RC_ACKNOWLEDGE qpn=0x000011 psn=0x000007 ACK"
            + " msn=0 ";
    assertEquals(text + "ICRC ok", only(RAW_IP, frame.array()));
    assertEquals(text + "ICRC ok", only(229, frame.array()));
    frame.put(7, (byte) 3); // The hop limit, which the ICRC does not cover.
    assertEquals(text + "ICRC ok", only(RAW_IP, frame.array()));
    frame.put(20, (byte) 1); // An address, which the ICRC covers.
    assertTrue(only(RAW_IP, frame.array()).endsWith("wrong ICRC"));
  }

  @Test
  void aChangedBitIsAWrongIcrc() throws IOException {
    for (int at : new int[] {5, 12, 28, 40, SEND.length - 1}) { // Identification, source, ...
      byte[] changed = SEND.clone();
      changed[at] ^= 1;
      assertTrue(only(RAW_IP, changed).endsWith("wrong ICRC"), "byte " + at);
    }
    byte[] routed = SEND.clone();
    routed[1] ^= 3; // ECN
    routed[8]--; // TTL
    assertEquals(SEND_TEXT, only(RAW_IP, routed));
  }

  @Test
  void packetsThatWereCutOffAreDescribedAsFarAsTheyGo() throws IOException {
    assertEquals(
        SEND_TEXT.replace("ICRC ok", "ICRC not captured"),
        only(RAW_IP, Arrays.copyOf(SEND, SEND.length - 10)));
    assertEquals(
        "192.168.0.7 > 192.168.0.7 36 bytes, of which 7 were captured ICRC not captured",
        only(RAW_IP, Arrays.copyOf(SEND, 35)));
  }

  @Test
  void otherFramesAreCounted() throws IOException {
    byte[] tcp = SEND.clone();
    tcp[9] = 6;
    byte[] otherPort = SEND.clone();
    otherPort[23]++;
    byte[] fragment = SEND.clone();
    fragment[6] = 0x20;
    byte[] file =
        file(
            ByteOrder.LITTLE_ENDIAN,
            MICROSECONDS,
            RAW_IP,
            tcp,
            otherPort,
            fragment,
            new byte[0],
            new byte[] {0x45},
            NOTIFICATION);
    CaptureFile.Summary summary = CaptureFile.read(new ByteArrayInputStream(file), line -> {});
    assertEquals(new CaptureFile.Summary(6, 1, 0), summary);
    assertEquals(
        new CaptureFile.Summary(6, 1, 1), // The ICRC covers the port.
        CaptureFile.read(new ByteArrayInputStream(file), 4792, line -> {}));
  }

  @Test
  void remarksOfASimulationAreLines() throws IOException {
    String remark = "45000030000040004011fabb 00000000 00000000 02020202 001c0000";
    String text = "3c31343e6e6f2065736361706520 1b 5b 6d 20c3a4";
    byte[] frame = after(remark.replace(" ", "") + text.replace(" ", ""), new byte[0]);
    assertEquals("no escape  [m ä", only(RAW_IP, frame));
    for (int at : new int[] {15, 19, 23}) { // Addresses and port: a message of a host.
      byte[] other = frame.clone();
      other[at]++;
      assertEquals(
          List.of(), lines(file(ByteOrder.LITTLE_ENDIAN, MICROSECONDS, RAW_IP, other)), "" + at);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "'', less than 24 bytes",
    "d4c3b2a1, less than 24 bytes",
    "00000000 00000000 00000000 00000000 00000000 00000000, begins with 0x00000000",
    "0a0d0d0a 00000000 00000000 00000000 00000000 00000000, editcap",
    "d4c3b2a1 02000400 00000000 00000000 00000400 69000000, link type 105",
    "d4c3b2a1 02000400 00000000 00000000 00000400 65000000 00, within a header",
    "d4c3b2a1 02000400 00000000 00000000 00000400 65000000 00000000 00000000 ffffffff 04000000,"
        + " frame 1 has 4294967295 bytes",
    "d4c3b2a1 02000400 00000000 00000000 00000400 65000000 00000000 00000000 05000000 05000000 45,"
        + " within frame 1",
  })
  void whatIsNoCaptureFileIsReported(String hex, String message) {
    byte[] file = HexFormat.of().parseHex(hex.replace(" ", ""));
    IOException e = assertThrows(IOException.class, () -> lines(file));
    assertTrue(e.getMessage().contains(message), e.getMessage());
  }

  @Test
  void filesOfAnyContentEndWithLinesOrAnIoException() {
    Random random = new Random(5);
    byte[] file =
        file(ByteOrder.LITTLE_ENDIAN, MICROSECONDS, RAW_IP, NOTIFICATION, SEND, NOTIFICATION);
    List<String> lines = new ArrayList<>();
    for (int i = 0; i < 20_000; i++) {
      byte[] changed = Arrays.copyOf(file, random.nextInt(4) == 0 ? random.nextInt(200) : 300);
      for (int change = random.nextInt(8); change >= 0 && changed.length > 0; change--) {
        changed[random.nextInt(changed.length)] = (byte) random.nextInt();
      }
      try {
        CaptureFile.read(new ByteArrayInputStream(changed), lines::add);
      } catch (IOException e) {
        assertTrue(e.getMessage().length() > 10, e.toString());
      }
    }
    assertTrue(lines.size() > 1000, lines.size() + " packets");
  }
}
