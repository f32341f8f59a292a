package dev.verbena.soft.device;

import dev.verbena.soft.wire.Gids;
import dev.verbena.soft.wire.Packet;
import java.net.InetAddress;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The devices of a network, and what carries their packets: from port to port, and over its link.
 * Called under the network's lock.
 */
public interface Fabric {
  /** Returns the devices, in the order of their creation. */
  List<SoftDevice> devices();

  /** Sends a packet from a port; it belongs to the fabric from now on. */
  void send(SoftPort from, Packet packet);

  /**
   * Whether packets along a path are handed to a queue pair of this network at once: neither held
   * by a fault nor sent over the link.
   */
  boolean deliversAtOnce(SoftAddressVector path);

  /** Returns the port with a GID; null if there is none. */
  @Nullable SoftPort port(long gidHigh, long gidLow);

  /**
   * Whether packets get to a port.
   *
   * @param from the port that sends them; null if they come over the link
   */
  boolean reaches(@Nullable SoftPort from, SoftPort to);

  /** Returns the path MTU, in bytes. */
  int mtu();

  /** Whether packets from one device to another leave the network. */
  boolean isLinked();

  /** Whether the host has a route from a device, which has a GID, to an IP address. */
  boolean hasRoute(Gids own, InetAddress peer);

  /** Whether the host sends to an IP address by the interface of one of the devices. */
  boolean isNear(InetAddress peer);

  /** Has packets for a multicast group arrive at a device, for the first of several members. */
  void join(SoftDevice device, Gids group);

  /** Ends {@link #join}, after the last of several members. */
  void leave(SoftDevice device, Gids group);
}
