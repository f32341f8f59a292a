package dev.verbena.verbs;

import dev.verbena.address.Gid;
import dev.verbena.address.GidEntry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.UnresolvedAddressException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The network interfaces and IP addresses of this network namespace at one time.
 *
 * <p>The GID table of a device that namespaces share has the GIDs of all of them. The index of an
 * interface is a number of its own namespace, so an interface is visible here if there is one of
 * that index, and the address of the GID is one of this namespace. A link-local GID is made of the
 * MAC address, and need not be an address of the interface.
 *
 * @param interfaces the indices of the interfaces
 * @param gids the addresses, as GIDs
 */
record LocalAddresses(Set<Integer> interfaces, Set<Gid> gids) {
  private static final int ROCE = 4791;

  /** Returns those of the namespace of this thread. */
  static LocalAddresses now() {
    Set<Integer> interfaces = new HashSet<>();
    Set<Gid> gids = new HashSet<>();
    try {
      NetworkInterface.networkInterfaces()
          .forEach(
              found -> {
                interfaces.add(found.getIndex());
                found.inetAddresses().map(Gid::of).forEach(gids::add);
              });
    } catch (SocketException e) {
      // The namespace has no interface at all.
    }
    return new LocalAddresses(interfaces, gids);
  }

  /**
   * Returns the entries whose interface is visible here; software devices have none.
   *
   * @throws IllegalStateException if there are entries, and all are of other namespaces
   */
  List<GidEntry> visible(List<GidEntry> table, String port) {
    List<GidEntry> visible = table.stream().filter(this::isVisible).toList();
    if (visible.isEmpty() && !table.isEmpty()) {
      throw new IllegalStateException(
          "the network interfaces of all GIDs of %s are in other network namespaces, or have lost their addresses: %s"
              .formatted(port, GidChoice.texts(table)));
    }
    return visible;
  }

  private boolean isVisible(GidEntry entry) {
    return entry.interfaceIndex() == 0
        || (interfaces.contains(entry.interfaceIndex())
            && (entry.gid().isLinkLocal() || gids.contains(entry.gid())));
  }

  /**
   * Returns the address that the kernel sends from to another address, by its routes.
   *
   * @return the address; null if there is no route
   */
  static @Nullable InetAddress sourceTo(InetAddress peer) {
    // Connecting a UDP socket sends nothing.
    try (DatagramChannel channel = DatagramChannel.open()) {
      channel.connect(new InetSocketAddress(peer, ROCE));
      return channel.getLocalAddress() instanceof InetSocketAddress local
          ? local.getAddress()
          : null;
    } catch (IOException | UnresolvedAddressException e) {
      return null;
    }
  }
}
