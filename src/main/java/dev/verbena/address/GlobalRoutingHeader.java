package dev.verbena.address;

import dev.verbena.raw.ibv_grh;
import dev.verbena.values.CompletionFlag;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * The global routing header (GRH) of a received datagram: {@code struct ibv_grh}. It takes the
 * first {@value #SIZE} bytes of the memory of the receive request if the completion has the flag
 * {@link CompletionFlag#GRH}.
 *
 * {@snippet :
 * if (completions.flags(i).contains(CompletionFlag.GRH)) {
 *   Gid sender = GlobalRoutingHeader.of(memory).source();
 * }
 * }
 *
 * <p>With RoCE v2 it is the header of the IP packet. That of an IPv4 packet is in the last 20
 * bytes; its addresses are IPv4-mapped GIDs here.
 *
 * @param version the IP version: 6, or 4 for an IPv4 header
 * @param trafficClass the traffic class; the type of service of IPv4
 * @param flowLabel the flow label, of 20 bits; 0 for IPv4
 * @param payloadLength the number of bytes that follow the header in the packet
 * @param nextHeader the next header: 27 for InfiniBand and RoCE v1, 17 (UDP) for RoCE v2
 * @param hopLimit the hop limit; the time to live of IPv4
 * @param source the GID of the sender
 * @param destination the GID that the datagram was sent to
 */
public record GlobalRoutingHeader(
    int version,
    int trafficClass,
    int flowLabel,
    int payloadLength,
    int nextHeader,
    int hopLimit,
    Gid source,
    Gid destination) {
  /** The size of the header in bytes. */
  public static final int SIZE = 40;

  private static final int IPV4_SIZE = 20;
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
  private static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

  /**
   * Reads the header of a received datagram.
   *
   * @param memory the memory of the receive request
   * @return the header
   * @throws IllegalArgumentException if there is neither an IPv6 nor an IPv4 header, as on
   *     InfiniBand in a datagram without a GRH
   * @throws IndexOutOfBoundsException if the memory has less than {@value #SIZE} bytes
   */
  public static GlobalRoutingHeader of(MemorySegment memory) {
    if (memory.byteSize() < SIZE) {
      throw new IndexOutOfBoundsException(
          "a GRH has " + SIZE + " bytes, the memory has " + memory.byteSize());
    }
    MemorySegment ipv4 = memory.asSlice(SIZE - IPV4_SIZE, IPV4_SIZE);
    if (memory.get(ValueLayout.JAVA_BYTE, 0) >>> 4 == 6 && !isIpv4(ipv4)) {
      return ofIpv6(memory);
    }
    if (ipv4.get(ValueLayout.JAVA_BYTE, 0) >>> 4 == 4) {
      return ofIpv4(ipv4);
    }
    throw new IllegalArgumentException("the memory does not begin with a GRH");
  }

  /**
   * Returns whether the end of an IPv6 header, which may be any address, is an IPv4 header, as
   * {@code ibv_init_ah_from_wc} decides it: without options, and with the right checksum.
   */
  private static boolean isIpv4(MemorySegment header) {
    int sum = 0;
    for (int i = 0; i < IPV4_SIZE; i += Short.BYTES) {
      sum += Short.toUnsignedInt(header.get(SHORT, i));
    }
    sum = (sum & 0xffff) + (sum >>> Short.SIZE);
    sum = (sum & 0xffff) + (sum >>> Short.SIZE);
    return header.get(ValueLayout.JAVA_BYTE, 0) == 0x45 && sum == 0xffff;
  }

  private static GlobalRoutingHeader ofIpv6(MemorySegment header) {
    int first = header.get(INT, 0);
    return new GlobalRoutingHeader(
        6,
        first >>> 20 & 0xff,
        first & 0xf_ffff,
        Short.toUnsignedInt(header.get(SHORT, ibv_grh.paylen$offset())),
        unsigned(header, ibv_grh.next_hdr$offset()),
        unsigned(header, ibv_grh.hop_limit$offset()),
        Gid.readFrom(header.asSlice(ibv_grh.sgid$offset(), Gid.SIZE)),
        Gid.readFrom(header.asSlice(ibv_grh.dgid$offset(), Gid.SIZE)));
  }

  private static GlobalRoutingHeader ofIpv4(MemorySegment header) {
    return new GlobalRoutingHeader(
        4,
        unsigned(header, 1),
        0,
        Math.max(Short.toUnsignedInt(header.get(SHORT, 2)) - IPV4_SIZE, 0),
        unsigned(header, 9),
        unsigned(header, 8),
        Gid.ofIpv4(header.get(INT, 12)),
        Gid.ofIpv4(header.get(INT, 16)));
  }

  private static int unsigned(MemorySegment header, long offset) {
    return Byte.toUnsignedInt(header.get(ValueLayout.JAVA_BYTE, offset));
  }
}
