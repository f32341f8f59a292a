package dev.verbena.programs;

import dev.verbena.address.EthernetAddress;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet4Address;
import java.nio.ByteOrder;

/**
 * An Ethernet frame with a UDP packet over IPv4, whose payload begins with a number.
 *
 * @param destination Ethernet address of the next hop
 * @param source Ethernet address of the sender
 * @param from IP address of the sender
 * @param to IP address of the receiver
 * @param fromPort port of the sender
 * @param toPort port of the receiver
 * @param size length of the frame, without its check sequence
 */
record UdpFrame(
    EthernetAddress destination,
    EthernetAddress source,
    Inet4Address from,
    Inet4Address to,
    int fromPort,
    int toPort,
    int size) {
  /** The size of the headers and the number. */
  static final int SHORTEST = 50;

  static final int LONGEST = 14 + 0xffff;

  private static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

  private static final int ETHER_TYPE = 12;
  private static final int IP = 14;
  private static final int IP_CHECKSUM = IP + 10;
  private static final int UDP = 34;
  private static final int NUMBER = 42;

  /** Writes the headers. The UDP checksum is 0, which IPv4 permits. */
  void writeTo(MemorySegment frame) {
    frame.fill((byte) 0);
    put(frame, 0, destination.toBytes());
    put(frame, destination.toBytes().length, source.toBytes());
    put(frame, ETHER_TYPE, 0x0800);
    put(frame, IP, 0x4500); // version 4, a header of five words
    put(frame, IP + 2, size - IP);
    put(frame, IP + 8, 64 << Byte.SIZE | 17); // hops, UDP
    put(frame, IP + 12, from.getAddress());
    put(frame, IP + 16, to.getAddress());
    put(frame, UDP, fromPort);
    put(frame, UDP + 2, toPort);
    put(frame, UDP + 4, size - UDP);
  }

  private static void put(MemorySegment frame, int at, int number) {
    frame.set(SHORT, at, (short) number);
  }

  private static void put(MemorySegment frame, int at, byte[] bytes) {
    MemorySegment.copy(bytes, 0, frame, ValueLayout.JAVA_BYTE, at, bytes.length);
  }

  /** Writes the checksum of the IPv4 header, without checksum offload. */
  static void putChecksum(MemorySegment frame) {
    put(frame, IP_CHECKSUM, 0);
    int sum = 0;
    for (int at = IP; at < UDP; at += Short.BYTES) {
      sum += Short.toUnsignedInt(frame.get(SHORT, at));
    }
    put(frame, IP_CHECKSUM, ~((sum & 0xffff) + (sum >>> Short.SIZE)));
  }

  /** Writes the number of a packet. */
  static void putNumber(MemorySegment frame, long number) {
    frame.set(LONG, NUMBER, number);
  }
}
