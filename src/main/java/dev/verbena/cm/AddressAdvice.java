package dev.verbena.cm;

import dev.verbena.Errno;
import dev.verbena.verbs.Device;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import org.jspecify.annotations.Nullable;

/** What an errno of binding or resolution means for an IP address, and what to do about it. */
final class AddressAdvice {
  private AddressAdvice() {}

  /**
   * The advice for an errno.
   *
   * @param errno what the kernel reported
   * @param address the address that was bound to or resolved; null if it is not known
   * @return a clause that begins with a semicolon, or nothing
   */
  static String on(int errno, @Nullable InetSocketAddress address) {
    return switch (errno) {
      case Errno.ENETUNREACH, Errno.EHOSTUNREACH ->
          "; this host has no route to that address from a network interface with an RDMA device:"
              + " 'ip route get' shows the route, 'rdma link' the interfaces";
      case Errno.ENODEV, Errno.ENOENT ->
          isLoopback(address)
              ? "; no RDMA device serves the loopback address: use the address of a network"
                  + " interface that 'rdma link' lists"
              : "; the network interface of that address has no RDMA device: 'rdma link' lists"
                  + " those that have one";
      case Errno.EADDRNOTAVAIL ->
          "; no network interface of this host has that address: 'ip address' lists them";
      case Errno.EADDRINUSE -> "; another identifier, perhaps of another process, has that port";
      case Errno.EACCES -> "; ports below 1024 need the capability CAP_NET_BIND_SERVICE";
      default -> "";
    };
  }

  /**
   * Refuses to listen where nobody can connect to: the kernel takes the loopback address for a
   * wildcard address, without a word.
   */
  static void requireReachable(InetSocketAddress local) {
    if (isLoopback(local) && !isLoopbackServed()) {
      throw new IllegalArgumentException(
          "cannot listen on "
              + local
              + on(Errno.ENODEV, local)
              + ", or the wildcard address '::' for all of them");
    }
  }

  private static boolean isLoopback(@Nullable InetSocketAddress address) {
    return address != null
        && address.getAddress() != null
        && address.getAddress().isLoopbackAddress();
  }

  /** A software device may sit on the loopback interface. */
  private static boolean isLoopbackServed() {
    return Device.list().stream()
        .flatMap(device -> device.networkInterfaces().stream())
        .anyMatch(AddressAdvice::isLoopback);
  }

  private static boolean isLoopback(NetworkInterface candidate) {
    try {
      return candidate.isLoopback();
    } catch (SocketException e) {
      return false; // It was removed meanwhile.
    }
  }
}
