package dev.verbena.sockets;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ProtocolFamily;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Addresses of channels: validation. */
final class Addresses {
  private Addresses() {}

  /**
   * Validates a protocol family; null is any of the internet.
   *
   * @throws UnsupportedOperationException if it is another
   */
  static void requireInternet(@Nullable ProtocolFamily family) {
    if (family != null
        && family != StandardProtocolFamily.INET
        && family != StandardProtocolFamily.INET6) {
      throw new UnsupportedOperationException(
          "RDMA sockets have the protocol families INET and INET6: " + family);
    }
  }

  /**
   * Validates an address.
   *
   * @throws UnresolvedAddressException if it is not resolved
   * @throws UnsupportedAddressTypeException if it is no IP address, or not of the family
   */
  static InetSocketAddress validated(SocketAddress address, @Nullable ProtocolFamily family) {
    if (!(Objects.requireNonNull(address) instanceof InetSocketAddress internet)) {
      throw new UnsupportedAddressTypeException();
    }
    if (internet.isUnresolved()) {
      throw new UnresolvedAddressException();
    }
    if (family == StandardProtocolFamily.INET && internet.getAddress() instanceof Inet6Address) {
      throw new UnsupportedAddressTypeException();
    }
    return internet;
  }

  /** Returns whether TCP can bind the address: this host has it. */
  static boolean isOfThisHost(InetAddress address) throws SocketException {
    return address.isAnyLocalAddress()
        || address.isLoopbackAddress()
        || NetworkInterface.getByInetAddress(address) != null;
  }

  /** Returns the wildcard address with any port. */
  static InetSocketAddress wildcard() {
    return new InetSocketAddress(0);
  }

  /** Returns the address to connect to: this host's for the wildcard address. */
  static InetSocketAddress target(InetSocketAddress remote) throws IOException {
    return remote.getAddress().isAnyLocalAddress()
        ? new InetSocketAddress(InetAddress.getLocalHost(), remote.getPort())
        : remote;
  }
}
