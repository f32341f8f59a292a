package dev.verbena.address;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * A global identifier (GID): {@code union ibv_gid}. It has the form of an IPv6 address; a RoCE port
 * has a GID for each of its IP addresses, with an IPv4 address mapped to {@code ::ffff:a.b.c.d}.
 *
 * @param subnetPrefix the upper 64 bits, as a number
 * @param interfaceId the lower 64 bits, as a number
 */
public record Gid(long subnetPrefix, long interfaceId) {
  /** The GID of an empty table entry: all zeros. */
  public static final Gid ZERO = new Gid(0, 0);

  static final int SIZE = 16;

  private static final long IPV4_MAPPED = 0x0000_ffff_0000_0000L;
  private static final long UPPER_HALF = 0xffff_ffff_0000_0000L;
  private static final ValueLayout.OfLong BIG_ENDIAN =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

  /**
   * {@return the GID of its bytes}
   *
   * @param bytes 16 bytes in network byte order, as in C structs and packets
   */
  public static Gid fromBytes(byte[] bytes) {
    if (bytes.length != SIZE) {
      throw new IllegalArgumentException("GID must have 16 bytes: " + bytes.length);
    }
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    return new Gid(buffer.getLong(), buffer.getLong());
  }

  /**
   * {@return the GID that a RoCE port has for an IP address}
   *
   * @param address an IPv6 address, or an IPv4 address, which is mapped to {@code ::ffff:a.b.c.d}
   */
  public static Gid of(InetAddress address) {
    byte[] bytes = address.getAddress();
    return address instanceof Inet4Address
        ? ofIpv4(ByteBuffer.wrap(bytes).getInt())
        : fromBytes(bytes);
  }

  static Gid ofIpv4(int address) {
    return new Gid(0, IPV4_MAPPED | Integer.toUnsignedLong(address));
  }

  /**
   * {@return the GID of its text form}
   *
   * @param text an IPv6 or IPv4 address in any of the usual notations, without a scope
   * @throws IllegalArgumentException if the text is not an address
   */
  public static Gid parse(String text) {
    if (text.indexOf('%') >= 0) {
      throw new IllegalArgumentException("GID must not have a scope: " + text);
    }
    // The JDK also parses IPv4 addresses of fewer than four numbers.
    if (text.indexOf(':') < 0 && text.split("\\.", -1).length != 4) {
      throw new IllegalArgumentException("not an IP address: " + text);
    }
    return of(InetAddress.ofLiteral(text));
  }

  /**
   * Reads a GID from a C struct.
   *
   * @param gid a {@code struct ibv_gid}
   * @return the GID
   */
  public static Gid readFrom(MemorySegment gid) {
    requireSize(gid);
    return new Gid(gid.get(BIG_ENDIAN, 0), gid.get(BIG_ENDIAN, Long.BYTES));
  }

  /**
   * Writes this GID to a C struct.
   *
   * @param gid a {@code struct ibv_gid}
   */
  public void writeTo(MemorySegment gid) {
    requireSize(gid);
    gid.set(BIG_ENDIAN, 0, subnetPrefix);
    gid.set(BIG_ENDIAN, Long.BYTES, interfaceId);
  }

  private static void requireSize(MemorySegment gid) {
    if (gid.byteSize() < SIZE) {
      throw new IllegalArgumentException(
          "a struct ibv_gid has " + SIZE + " bytes, the segment has " + gid.byteSize());
    }
  }

  /** {@return the 16 bytes of this GID in network byte order} */
  public byte[] toBytes() {
    return ByteBuffer.allocate(SIZE).putLong(subnetPrefix).putLong(interfaceId).array();
  }

  /** {@return whether this is the GID of an empty table entry: true for all zeros} */
  public boolean isZero() {
    return equals(ZERO);
  }

  /** {@return whether this is an IPv4-mapped GID: true for {@code ::ffff:a.b.c.d}} */
  public boolean isIpv4Mapped() {
    return subnetPrefix == 0 && (interfaceId & UPPER_HALF) == IPV4_MAPPED;
  }

  /** {@return whether this GID is link-local: true for {@code fe80::/10}} */
  public boolean isLinkLocal() {
    return subnetPrefix >>> 54 == 0xfe80 >>> 6;
  }

  /**
   * {@return whether this is the GID of a multicast group: true for {@code ff00::/8} and for a
   * mapped IPv4 group, {@code ::ffff:224.0.0.0/100}}
   */
  public boolean isMulticast() {
    return subnetPrefix >>> 56 == 0xff || (isIpv4Mapped() && ((int) interfaceId >>> 28) == 0xe);
  }

  /**
   * {@return this GID as an IP address, an {@link Inet4Address} if it is {@linkplain #isIpv4Mapped
   * IPv4-mapped}}
   */
  public InetAddress toInetAddress() {
    try {
      return InetAddress.getByAddress(toBytes());
    } catch (UnknownHostException e) {
      throw new AssertionError("16 bytes are always an address", e);
    }
  }

  /**
   * Returns this GID in the notation of IPv6 addresses, such as {@code fe80::2a} or {@code
   * ::ffff:10.9.0.1}.
   */
  @Override
  public String toString() {
    return isIpv4Mapped()
        ? "::ffff:" + toInetAddress().getHostAddress()
        : withLongestZerosElided(groups());
  }

  private int[] groups() {
    ByteBuffer bytes = ByteBuffer.wrap(toBytes());
    int[] groups = new int[SIZE / Short.BYTES];
    Arrays.setAll(groups, i -> Short.toUnsignedInt(bytes.getShort(i * Short.BYTES)));
    return groups;
  }

  /** RFC 5952: the first of the longest runs of at least two zeros becomes two colons. */
  private static String withLongestZerosElided(int[] groups) {
    int start = groups.length;
    int length = 1;
    for (int i = 0; i < groups.length; i++) {
      int run = 0;
      while (i + run < groups.length && groups[i + run] == 0) {
        run++;
      }
      if (run > length) {
        start = i;
        length = run;
      }
    }
    if (start == groups.length) {
      return joined(groups, 0, groups.length);
    }
    return joined(groups, 0, start) + "::" + joined(groups, start + length, groups.length);
  }

  private static String joined(int[] groups, int from, int to) {
    StringBuilder text = new StringBuilder();
    for (int i = from; i < to; i++) {
      text.append(i == from ? "" : ":").append(Integer.toHexString(groups[i]));
    }
    return text.toString();
  }
}
