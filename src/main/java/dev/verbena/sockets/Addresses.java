package dev.verbena.sockets;

import dev.verbena.internal.SocketAddresses;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Addresses of channels: validation, and conversion from and to {@code sockaddr}. */
final class Addresses {
  private static final int CAPACITY = 128; // of struct sockaddr_storage

  /** A function that writes an address, with its size. */
  interface Writer {
    void write(long address, long size) throws IOException;
  }

  private Addresses() {}

  /** Returns the address family of a protocol family. */
  static int family(@Nullable ProtocolFamily family) {
    if (family == null || family == StandardProtocolFamily.INET6) {
      return SocketAddresses.AF_INET6;
    } else if (family == StandardProtocolFamily.INET) {
      return SocketAddresses.AF_INET;
    }
    throw new UnsupportedOperationException(
        "rsockets have the protocol families INET and INET6: " + family);
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

  static MemorySegment write(InetSocketAddress address, Arena arena) {
    return SocketAddresses.write(address, arena);
  }

  /** Reads the address that a function writes. */
  static InetSocketAddress read(Writer writer) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment address = arena.allocate(CAPACITY, Long.BYTES);
      MemorySegment size = arena.allocateFrom(ValueLayout.JAVA_INT, CAPACITY);
      writer.write(address.address(), size.address());
      return SocketAddresses.read(address).orElseGet(Addresses::wildcard);
    }
  }
}
