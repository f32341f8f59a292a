package dev.verbena.soft.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.verbena.soft.wire.CmMessage.Drep;
import dev.verbena.soft.wire.CmMessage.Dreq;
import dev.verbena.soft.wire.CmMessage.Mra;
import dev.verbena.soft.wire.CmMessage.Offer;
import dev.verbena.soft.wire.CmMessage.Path;
import dev.verbena.soft.wire.CmMessage.Rej;
import dev.verbena.soft.wire.CmMessage.Rep;
import dev.verbena.soft.wire.CmMessage.Req;
import dev.verbena.soft.wire.CmMessage.Rtu;
import dev.verbena.soft.wire.CmMessage.SidrRep;
import dev.verbena.soft.wire.CmMessage.SidrReq;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The bytes of messages of the communication manager. */
class CmDatagramTest {
  private static final int HEADER = 24;

  private static final Offer OFFER =
      new Offer(0x1122_3344_5566_7788L, 0xabcdef, 0x123456, 3, 4, true, 7, true, 0x15b3);

  private static byte[] data(int length) {
    byte[] data = new byte[length];
    Arrays.fill(data, (byte) 0x5a);
    return data;
  }

  private static Req request() {
    Path path = new Path(new Gids(1, 2), new Gids(3, 4), 0x54321, 96, 64, 5, 19);
    return new Req(7, 0x0106_1d2fL, OFFER, 1, 20, 21, 6, 15, 5, path, data(Req.DATA));
  }

  private static byte[] bytes(CmMessage message) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(ManagementDatagram.LENGTH, Long.BYTES);
      new CmDatagram(0x0102_0304_0506_0708L, 9, message).write(memory.address());
      return memory.toArray(ValueLayout.JAVA_BYTE);
    }
  }

  private static CmDatagram read(byte[] bytes) {
    try (Arena arena = Arena.ofConfined()) {
      return CmDatagram.read(arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes).address());
    }
  }

  @Test
  void allMessagesAreReadAsTheyWereWritten() {
    List<CmMessage> messages =
        List.of(
            request(),
            new Rep(1, 2, 3, 4, OFFER, data(Rep.DATA)),
            new Rtu(1, 2),
            new Rej(1, 2, 1, 28, data(8), data(Rej.DATA)),
            new Mra(1, 2, 1, 24),
            new Dreq(1, 2, 0xabcdef),
            new Drep(1, 2),
            new SidrReq(1, 0x0111_0001L, data(SidrReq.DATA)),
            new SidrRep(1, 2, 0xabcdef, 4, 0x0123_4567, data(SidrRep.DATA)));
    for (CmMessage message : messages) {
      byte[] written = bytes(message);
      CmDatagram read = read(written);
      assertEquals(0x0102_0304_0506_0708L, read.transaction());
      assertEquals(9, read.modifier());
      assertEquals(message.getClass(), read.message().getClass());
      assertArrayEquals(written, bytes(read.message()), message::toString);
    }
  }

  @Test
  void fieldsOfARequestAreWhereTheSpecificationHasThem() {
    byte[] req = bytes(request());
    assertArrayEquals(new byte[] {1, 7, 2, 3}, Arrays.copyOf(req, 4));
    assertEquals(0x10, req[17]);
    assertEquals(7, req[HEADER + 3]);
    assertEquals((byte) 0x15, req[HEADER + 6], "vendor");
    assertEquals(0x1d, req[HEADER + 14], "service");
    assertEquals((byte) 0xab, req[HEADER + 32], "queue pair number");
    assertEquals(3, req[HEADER + 35], "responder resources");
    assertEquals(4, req[HEADER + 39], "initiator depth");
    assertEquals((byte) (20 << 3 | 1 << 1 | 1), req[HEADER + 43], "timeout, transport");
    assertEquals(0x12, req[HEADER + 44], "starting PSN");
    assertEquals((byte) (21 << 3 | 6), req[HEADER + 47], "timeout, retry count");
    assertEquals((byte) (5 << 4 | 7), req[HEADER + 50], "MTU, RNR retry count");
    assertEquals((byte) (15 << 4 | 1 << 3), req[HEADER + 51], "CM retries, SRQ");
    assertEquals(-1, req[HEADER + 52], "LID");
    assertEquals(2, req[HEADER + 71], "own GID");
    assertEquals(4, req[HEADER + 87], "peer GID");
    assertEquals(0x54, req[HEADER + 88], "flow label");
    assertEquals(96, req[HEADER + 92], "traffic class");
    assertEquals((byte) (19 << 3), req[HEADER + 95], "ACK timeout");
    assertEquals(0x5a, req[HEADER + 140], "private data");
  }

  @Test
  void otherDatagramsAreIgnored() {
    byte[] other = bytes(new Rtu(1, 2));
    other[1] = 3;
    assertNull(read(other), "another class");
    byte[] unknown = bytes(new Rtu(1, 2));
    unknown[17] = 0x55;
    assertNull(read(unknown), "another attribute");
    assertNull(read(new byte[ManagementDatagram.LENGTH]));
  }
}
