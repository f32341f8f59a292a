package dev.verbena.fuzz;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Random;

/** Capture files whose headers are right for the most part. */
final class Captures {
  private static final int[] MAGIC = {0xa1b2c3d4, 0xa1b23c4d, 0x0a0d0d0a, 0};
  private static final int[] LINK_TYPES = {1, 101, 113, 228, 229, 276, 7};
  private static final short[] ETHER_TYPES = {0x0800, (short) 0x86dd, (short) 0x8100, 0x0806};
  private static final int UDP = 17;
  private static final short ROCE = 4791;
  private static final int LONGEST = 200;

  private Captures() {}

  static InputStream random(Random random) {
    ByteBuffer file = ByteBuffer.allocate(4096);
    file.order(random.nextBoolean() ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN);
    file.putInt(MAGIC[random.nextInt(MAGIC.length)]);
    file.putShort((short) 2).putShort((short) 4).putInt(0).putInt(0).putInt(1 << 16);
    file.putInt(LINK_TYPES[random.nextInt(LINK_TYPES.length)]);
    for (int i = random.nextInt(8); i > 0; i--) {
      byte[] frame = frame(random);
      int announced = random.nextInt(8) == 0 ? random.nextInt() : frame.length;
      file.putInt(i).putInt(0).putInt(announced).putInt(announced).put(frame);
    }
    int end = random.nextInt(4) == 0 ? random.nextInt(file.position() + 1) : file.position();
    return new ByteArrayInputStream(file.array(), 0, end);
  }

  /** An Ethernet frame with an IP header that may announce another length than it has. */
  private static byte[] frame(Random random) {
    byte[] bytes = new byte[random.nextInt(LONGEST)];
    random.nextBytes(bytes);
    ByteBuffer frame = ByteBuffer.wrap(bytes);
    if (bytes.length >= 64) {
      frame.putShort(12, ETHER_TYPES[random.nextInt(ETHER_TYPES.length)]);
      boolean v4 = random.nextBoolean();
      frame.put(14, (byte) (v4 ? 0x45 : 0x60));
      frame.put(v4 ? 23 : 20, (byte) UDP);
      if (random.nextInt(4) != 0) {
        frame.putShort(16, (short) (bytes.length - 14));
      }
      frame.putShort(v4 ? 36 : 56, ROCE);
    }
    return bytes;
  }
}
