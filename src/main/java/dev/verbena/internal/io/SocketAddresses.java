package dev.verbena.internal.io;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.sockaddr_in;
import dev.verbena.raw.sockaddr_in6;
import dev.verbena.raw.sockaddr_storage;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;
import java.util.Optional;

/**
 * Conversion of IP addresses and ports from and to {@code sockaddr_in} and {@code sockaddr_in6}.
 */
public final class SocketAddresses {
  /** IPv4. */
  public static final int AF_INET = 2;

  /** IPv6. */
  public static final int AF_INET6 = 10;

  /** InfiniBand addresses. */
  public static final int AF_IB = 27;

  private static final ValueLayout.OfShort PORT =
      ValueLayout.JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN);

  private SocketAddresses() {}

  /**
   * Writes an address to native memory.
   *
   * @param address a resolved address; null for NULL
   * @param arena where it is written
   * @return the {@code sockaddr}, of the size of its family
   * @throws IllegalArgumentException if the address is not resolved
   */
  public static MemorySegment write(InetSocketAddress address, Arena arena) {
    if (address == null) {
      return MemorySegment.NULL;
    }
    return switch (address.getAddress()) {
      case null ->
          throw new IllegalArgumentException(address.getHostString() + " could not be resolved");
      case Inet6Address ip -> {
        MemorySegment sockaddr = sockaddr_in6.allocate(arena);
        sockaddr_in6.sin6_family(sockaddr, (short) AF_INET6);
        sockaddr.set(PORT, sockaddr_in6.sin6_port$offset(), (short) address.getPort());
        MemorySegment.copy(
            MemorySegment.ofArray(ip.getAddress()), 0, sockaddr_in6.sin6_addr(sockaddr), 0, 16);
        sockaddr_in6.sin6_scope_id(sockaddr, ip.getScopeId());
        yield sockaddr;
      }
      case InetAddress ip -> {
        MemorySegment sockaddr = sockaddr_in.allocate(arena);
        sockaddr_in.sin_family(sockaddr, (short) AF_INET);
        sockaddr.set(PORT, sockaddr_in.sin_port$offset(), (short) address.getPort());
        MemorySegment.copy(
            MemorySegment.ofArray(ip.getAddress()), 0, sockaddr_in.sin_addr(sockaddr), 0, 4);
        yield sockaddr;
      }
    };
  }

  /**
   * Reads an address.
   *
   * @param sockaddr an address in a segment large enough for any family
   * @return the address; empty if there is none or it is no IP address
   */
  public static Optional<InetSocketAddress> read(MemorySegment sockaddr) {
    return switch (family(sockaddr)) {
      case AF_INET ->
          Optional.of(
              address(
                  sockaddr, sockaddr_in.sin_addr$offset(), 4, sockaddr_in.sin_port$offset(), 0));
      case AF_INET6 ->
          Optional.of(
              address(
                  sockaddr,
                  sockaddr_in6.sin6_addr$offset(),
                  16,
                  sockaddr_in6.sin6_port$offset(),
                  sockaddr_in6.sin6_scope_id(sockaddr)));
      default -> Optional.empty();
    };
  }

  /** Reads the address at a pointer. */
  public static Optional<InetSocketAddress> read(long sockaddr) {
    return read(Memory.at(sockaddr, sockaddr_storage.sizeof()));
  }

  /** Returns the address family of a {@code sockaddr}; 0 if none was written. */
  public static int family(MemorySegment sockaddr) {
    return Short.toUnsignedInt(sockaddr.get(ValueLayout.JAVA_SHORT, 0));
  }

  private static InetSocketAddress address(
      MemorySegment sockaddr, long ipOffset, int ipLength, long portOffset, int scope) {
    byte[] ip = sockaddr.asSlice(ipOffset, ipLength).toArray(ValueLayout.JAVA_BYTE);
    int port = Short.toUnsignedInt(sockaddr.get(PORT, portOffset));
    try {
      // The scope distinguishes link-local addresses only; 0 is no scope.
      InetAddress address =
          ipLength == 16 && scope != 0
              ? Inet6Address.getByAddress(null, ip, scope)
              : InetAddress.getByAddress(ip);
      return new InetSocketAddress(address, port);
    } catch (UnknownHostException e) {
      throw new AssertionError("an address of " + ipLength + " bytes", e);
    }
  }
}
