package dev.verbena.testing;

import java.nio.ByteBuffer;
import java.util.HexFormat;

/** Ethernet frames as bytes. */
public final class Frames {
  private static final int VLAN = 0x8100;

  private Frames() {}

  /** A MAC address. */
  public static byte[] mac(String text) {
    return HexFormat.ofDelimiter(":").parseHex(text);
  }

  /** UDP over IPv4 over Ethernet, with both checksums 0. */
  public static byte[] udp(String to, int fromIp, int toIp, int fromPort, int toPort, int payload) {
    ByteBuffer frame = ByteBuffer.allocate(42 + payload);
    frame.put(mac(to)).put(mac("02:00:00:00:00:01")).putShort((short) 0x0800);
    frame.put((byte) 0x45).put((byte) 0).putShort((short) (28 + payload)).putInt(0);
    frame.put((byte) 64).put((byte) 17).putShort((short) 0).putInt(fromIp).putInt(toIp);
    frame.putShort((short) fromPort).putShort((short) toPort).putShort((short) (8 + payload));
    frame.putShort((short) 0);
    for (int i = 0; i < payload; i++) {
      frame.put((byte) i);
    }
    return frame.array();
  }

  /** The same frame with a VLAN tag. */
  public static byte[] tagged(byte[] frame, int tag) {
    return ByteBuffer.allocate(frame.length + 4)
        .put(frame, 0, 12)
        .putShort((short) VLAN)
        .putShort((short) tag)
        .put(frame, 12, frame.length - 12)
        .array();
  }
}
