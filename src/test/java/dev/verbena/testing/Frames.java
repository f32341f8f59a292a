package dev.verbena.testing;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;

/** Ethernet frames as bytes. */
public final class Frames {
  /** A MAC address that no port has. */
  public static final String MAC = "02:00:00:00:00:0a";

  /** An IPv4 address. */
  public static final int HERE = 0x0a00_0001;

  /** Another IPv4 address. */
  public static final int THERE = 0x0a00_0002;

  /** The sequence number of {@link #tcp}. */
  public static final int SEQUENCE = 0x7fff_ff00;

  private static final int VLAN = 0x8100;

  private Frames() {}

  /** A MAC address. */
  public static byte[] mac(String text) {
    return HexFormat.ofDelimiter(":").parseHex(text);
  }

  /** UDP over IPv4 over Ethernet with 64 bytes of data, to {@link #MAC}. */
  public static byte[] toPort(int port) {
    return udp(MAC, HERE, THERE, 3000, port, 64);
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

  /** UDP over IPv6 over Ethernet, with flow label 0x12345, traffic class 0x67 and checksum 0. */
  public static byte[] udp6(
      String mac, String from, String to, int fromPort, int toPort, int payload)
      throws UnknownHostException {
    ByteBuffer frame = ByteBuffer.allocate(62 + payload);
    frame.put(mac(mac)).put(mac("02:00:00:00:00:01")).putShort((short) 0x86dd);
    frame.putInt(0x6671_2345).putShort((short) (8 + payload)).put((byte) 17).put((byte) 64);
    frame.put(InetAddress.getByName(from).getAddress());
    frame.put(InetAddress.getByName(to).getAddress());
    frame.putShort((short) fromPort).putShort((short) toPort).putShort((short) (8 + payload));
    frame.putShort((short) 0);
    for (int i = 0; i < payload; i++) {
      frame.put((byte) i);
    }
    return frame.array();
  }

  /** What remains of the checksum of UDP over IPv6: 0 if it is right. */
  public static int udp6Sum(byte[] frame) {
    ByteBuffer bytes = ByteBuffer.wrap(Arrays.copyOf(frame, frame.length + 1));
    int sum = 17 + frame.length - 54;
    for (int at = 22; at < frame.length; at += 2) {
      sum += bytes.getShort(at) & 0xffff;
    }
    return ~((sum & 0xffff) + (sum >>> 16)) & 0xffff;
  }

  /** TCP over IPv4 over Ethernet, with ACK, PSH and FIN set and both checksums 0. */
  public static byte[] tcp(String to, int fromIp, int toIp, int fromPort, int toPort, int payload) {
    ByteBuffer frame = ByteBuffer.allocate(54 + payload);
    frame.put(mac(to)).put(mac("02:00:00:00:00:01")).putShort((short) 0x0800);
    frame.put((byte) 0x45).put((byte) 0).putShort((short) (40 + payload)).putInt(0);
    frame.put((byte) 64).put((byte) 6).putShort((short) 0).putInt(fromIp).putInt(toIp);
    frame.putShort((short) fromPort).putShort((short) toPort).putInt(SEQUENCE).putInt(0);
    frame.putShort((short) 0x5019).putShort((short) 1024).putInt(0);
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
