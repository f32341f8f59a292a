package dev.verbena.cm;

import dev.verbena.Errno;
import dev.verbena.internal.Providers;
import dev.verbena.verbs.Device;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import org.jspecify.annotations.Nullable;

/** Explains an errno of binding to or resolving an IP address, with the remedy. */
final class AddressAdvice {
  /** Where an address is bound. */
  static final String WILDCARD = "the wildcard address '::' for all of them";

  private AddressAdvice() {}

  /**
   * Returns the explanation of an errno.
   *
   * @param errno the errno of the kernel
   * @param address the address to bind to or to resolve; null if unknown
   * @return a clause that begins with a semicolon, or an empty string
   */
  static String on(int errno, @Nullable InetSocketAddress address) {
    return switch (errno) {
      case Errno.ENETUNREACH, Errno.EHOSTUNREACH ->
          "; this host has no route to that address from a network interface with an RDMA device:"
              + " 'ip route get' shows the route, 'rdma link' the interfaces";
      case Errno.ENODEV, Errno.ENOENT ->
          isLoopback(address)
              ? "; RDMA devices have no loopback address: use the address of a network"
                  + " interface that 'rdma link' lists"
              : "; the network interface of that address has no RDMA device: 'rdma link' lists"
                  + " those that have one";
      case Errno.EADDRNOTAVAIL ->
          "; no network interface of this host has that address: 'ip address' lists them, 'rdma"
              + " link' those that have an RDMA device";
      case Errno.EADDRINUSE -> "; another identifier, possibly of another process, uses that port";
      case Errno.EACCES -> "; ports below 1024 need the capability CAP_NET_BIND_SERVICE";
      default -> "";
    };
  }

  /**
   * Throws an exception for a loopback address without a device: the kernel would treat it as a
   * wildcard address.
   *
   * @param otherwise what is possible, too
   */
  static void requireReachable(String use, InetSocketAddress local, String otherwise) {
    if (isLoopback(local)
        && !Providers.system().serves(local.getAddress())
        && !isLoopbackServed()) {
      throw new IllegalArgumentException(
          "cannot %s %s%s, or %s".formatted(use, local, on(Errno.ENODEV, local), otherwise));
    }
  }

  static boolean isLoopback(@Nullable InetSocketAddress address) {
    return address != null
        && address.getAddress() != null
        && address.getAddress().isLoopbackAddress();
  }

  /** Returns whether a software RDMA device has the loopback address. */
  private static boolean isLoopbackServed() {
    return Device.list().stream()
        .flatMap(device -> device.networkInterfaces().stream())
        .anyMatch(AddressAdvice::isLoopback);
  }

  private static boolean isLoopback(NetworkInterface candidate) {
    try {
      return candidate.isLoopback();
    } catch (SocketException e) {
      return false; // The device was removed meanwhile.
    }
  }
}
