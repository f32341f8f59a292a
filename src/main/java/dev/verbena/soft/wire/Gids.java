package dev.verbena.soft.wire;

import dev.verbena.internal.foreign.Memory;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** A GID as two numbers. */
public record Gids(long high, long low) {
  private static final int IPV4 = 4;
  private static final int IPV6 = 16;
  private static final long LINK_LOCAL = 0xfe80_0000_0000_0000L;
  private static final long IPV4_MAPPED = 0x0000_ffff_0000_0000L;

  /** The GID of an IP address. */
  public static Gids of(InetAddress address) {
    ByteBuffer bytes = ByteBuffer.wrap(address.getAddress());
    return address instanceof Inet4Address
        ? new Gids(0, IPV4_MAPPED | Integer.toUnsignedLong(bytes.getInt()))
        : new Gids(bytes.getLong(), bytes.getLong());
  }

  /** The IP address that this is the GID of. */
  public InetAddress address() {
    byte[] bytes = ByteBuffer.allocate(IPV6).putLong(high).putLong(low).array();
    try {
      return InetAddress.getByAddress(
          isIpv4() ? Arrays.copyOfRange(bytes, IPV6 - IPV4, IPV6) : bytes);
    } catch (UnknownHostException e) {
      throw new AssertionError(e); // An address of 4 or 16 bytes.
    }
  }

  /** The link-local GID of a port with a GUID. */
  public static Gids linkLocal(long guid) {
    return new Gids(LINK_LOCAL, guid);
  }

  /** Reads a {@code union ibv_gid}. */
  public static Gids read(long address) {
    return new Gids(
        Long.reverseBytes(Memory.getLong(address)),
        Long.reverseBytes(Memory.getLong(address + Long.BYTES)));
  }

  /** Writes a {@code union ibv_gid}. */
  public void write(long address) {
    Memory.putLong(address, Long.reverseBytes(high));
    Memory.putLong(address + Long.BYTES, Long.reverseBytes(low));
  }

  public boolean isIpv4() {
    return isIpv4(high, low);
  }

  public static boolean isIpv4(long high, long low) {
    return high == 0 && (low & 0xffff_ffff_0000_0000L) == IPV4_MAPPED;
  }

  /** Sets the GID that a packet comes from to that of an IPv4 address. */
  static void setIpv4Source(Packet packet, int address) {
    packet.sourceGidHigh = 0;
    packet.sourceGidLow = IPV4_MAPPED | Integer.toUnsignedLong(address);
  }

  public int ipv4() {
    return (int) low;
  }

  /** Whether it is a multicast group: ff00::/8, or a mapped IPv4 group. */
  public boolean isMulticast() {
    return high >>> 56 == 0xff || (isIpv4() && (ipv4() >>> 28) == 0xe);
  }
}
