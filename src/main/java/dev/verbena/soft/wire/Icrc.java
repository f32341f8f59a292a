package dev.verbena.soft.wire;

import dev.verbena.internal.foreign.Memory;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;

/**
 * The invariant CRC (ICRC) of a RoCE v2 packet: a CRC-32 of the packet and of the IP and UDP
 * headers in front of it, in which the fields that routers change are all ones. Not thread-safe.
 *
 * <p>The ICRC covers the identification of an IPv4 header, which a socket does not deliver. {@link
 * #matches} therefore accepts a packet if the ICRC is right for any identification: 16 of the 32
 * bits check the rest. Packets that are sent have the identification 0, unless {@link
 * #identification} sets another.
 */
public final class Icrc {
  /** The length of an ICRC. */
  public static final int LENGTH = 4;

  private static final int LOCAL_ROUTE = 8;
  private static final int IPV4 = 20;
  private static final int IPV6 = 40;
  private static final int UDP = 8;
  private static final int UDP_PROTOCOL = 17;
  private static final int DO_NOT_FRAGMENT = 0x4000;

  private final CRC32 crc = new CRC32();
  private final ByteBuffer headers =
      ByteBuffer.allocateDirect(LOCAL_ROUTE + IPV6 + UDP + RoceCodec.BTH);
  private final long headersAddress = MemorySegment.ofBuffer(headers).address();
  private final Identifications identifications = new Identifications();

  /** The ports of the UDP header: source in the upper half, destination in the lower. */
  private int ports;

  /** Identification, flags and fragment offset of an IPv4 header. */
  private int identification = DO_NOT_FRAGMENT;

  /** Sets the ports of the packets that follow. */
  public void ports(int source, int destination) {
    ports = source << 16 | destination;
  }

  /** Sets identification, flags and fragment offset of the IPv4 packets that follow. */
  void identification(int word) {
    identification = word;
  }

  /**
   * Computes the ICRC of a packet, as the number whose least significant byte is sent first.
   *
   * @param addresses the packet whose GIDs are those of the IP header
   * @param buffer holds the packet
   * @param address where the buffer begins
   * @param length the packet's length without its ICRC, at least that of a BTH
   */
  public int compute(Packet addresses, ByteBuffer buffer, long address, int length) {
    boolean isIpv4 = Gids.isIpv4(addresses.destinationGidHigh, addresses.destinationGidLow);
    long at = headersAddress;
    Memory.putLong(at, -1);
    at += LOCAL_ROUTE;
    at = isIpv4 ? putIpv4(addresses, at, length) : putIpv6(addresses, at, length);
    RoceCodec.putInt(at, ports);
    RoceCodec.putInt(at + 4, (UDP + length + LENGTH) << 16 | 0xffff);
    at += UDP;
    Memory.putInt(at, Memory.getInt(address));
    Memory.putInt(at + 4, Memory.getInt(address + 4));
    Memory.putByte(at + RoceCodec.MASKED, (byte) -1);
    Memory.putInt(at + 8, Memory.getInt(address + 8));
    at += RoceCodec.BTH;
    crc.reset();
    headers.limit((int) (at - headersAddress)).position(0);
    crc.update(headers);
    buffer.limit(length).position(RoceCodec.BTH);
    crc.update(buffer);
    return (int) crc.getValue();
  }

  /** Whether an ICRC is that of a packet: see {@link #compute}. */
  boolean matches(int received, Packet addresses, ByteBuffer buffer, long address, int length) {
    int difference = received ^ compute(addresses, buffer, address, length);
    return difference == 0
        || (Gids.isIpv4(addresses.destinationGidHigh, addresses.destinationGidLow)
            && identifications.explain(difference, length));
  }

  private long putIpv4(Packet addresses, long at, int length) {
    RoceCodec.putInt(at, 0x45ff << 16 | (IPV4 + UDP + length + LENGTH));
    RoceCodec.putInt(at + 4, identification);
    RoceCodec.putInt(at + 8, 0xff << 24 | UDP_PROTOCOL << 16 | 0xffff);
    RoceCodec.putInt(at + 12, (int) addresses.sourceGidLow);
    RoceCodec.putInt(at + 16, (int) addresses.destinationGidLow);
    return at + IPV4;
  }

  private static long putIpv6(Packet addresses, long at, int length) {
    RoceCodec.putInt(at, 0x6fffffff);
    RoceCodec.putInt(at + 4, (UDP + length + LENGTH) << 16 | UDP_PROTOCOL << 8 | 0xff);
    RoceCodec.putLong(at + 8, addresses.sourceGidHigh);
    RoceCodec.putLong(at + 16, addresses.sourceGidLow);
    RoceCodec.putLong(at + 24, addresses.destinationGidHigh);
    RoceCodec.putLong(at + 32, addresses.destinationGidLow);
    return at + IPV6;
  }

  /**
   * Tells whether a wrong ICRC is due to the identification alone. A CRC is linear: each bit of the
   * identification changes it by a value that depends only on the number of bytes that follow.
   */
  private static final class Identifications {
    private static final int BITS = 16;
    private static final int POLYNOMIAL = 0xedb88320;

    /** How many bytes that the ICRC covers follow the identification, but for the packet. */
    private static final int HEADERS_AFTER = IPV4 - 6 + UDP;

    /** By the length of the packet in words: 16 values in echelon form, the highest bit first. */
    private final int[][] changes = new int[(Packet.CAPACITY + RoceCodec.MAX_OVERHEAD) / 4 + 1][];

    boolean explain(int difference, int length) {
      if (length % 4 != 0 || length / 4 >= changes.length) {
        return false;
      }
      int[] echelon = changes[length / 4];
      if (echelon == null) {
        echelon = echelon(length);
        changes[length / 4] = echelon;
      }
      int rest = difference;
      for (int change : echelon) {
        rest = lesser(rest, rest ^ change);
      }
      return rest == 0;
    }

    private static int lesser(int a, int b) {
      return Integer.compareUnsigned(a, b) <= 0 ? a : b;
    }

    private static int[] echelon(int length) {
      int[] echelon = new int[BITS];
      for (int bit = 0; bit < BITS; bit++) {
        int change = changeOf(bit, length);
        for (int i = 0; i < bit; i++) {
          change = lesser(change, change ^ echelon[i]);
        }
        int at = bit;
        for (; at > 0 && Integer.compareUnsigned(echelon[at - 1], change) < 0; at--) {
          echelon[at] = echelon[at - 1];
        }
        echelon[at] = change;
      }
      return echelon;
    }

    /** What a bit of the identification changes in the ICRC. */
    private static int changeOf(int bit, int length) {
      int register = shift(bit >= Byte.SIZE ? 1 << (bit - Byte.SIZE) : 0);
      register = shift(register ^ (bit >= Byte.SIZE ? 0 : 1 << bit));
      for (int i = HEADERS_AFTER + length; i > 0; i--) {
        register = shift(register);
      }
      return register;
    }

    /** Shifts the register by a byte of zeros. */
    private static int shift(int register) {
      int shifted = register;
      for (int i = 0; i < Byte.SIZE; i++) {
        shifted = shifted >>> 1 ^ ((shifted & 1) == 0 ? 0 : POLYNOMIAL);
      }
      return shifted;
    }
  }
}
