package dev.verbena.soft.device;

import dev.verbena.soft.wire.Gids;
import dev.verbena.soft.wire.Packet;
import org.jspecify.annotations.Nullable;

/**
 * What carries the packets of a network: from port to port, and over its link. Called under the
 * network's lock.
 */
public interface Fabric {
  /** Sends a packet from a port; it belongs to the fabric from now on. */
  void send(SoftPort from, Packet packet);

  /**
   * Whether packets along a path are handed to a queue pair of this network at once: neither held
   * by a fault nor sent over the link.
   */
  boolean deliversAtOnce(SoftAddressVector path);

  /** Returns the port with a GID; null if there is none. */
  @Nullable SoftPort port(long gidHigh, long gidLow);

  /** Returns the path MTU, in bytes. */
  int mtu();

  /** Whether packets from one device to another leave the network. */
  boolean isLinked();

  /** Has packets for a multicast group arrive at a device, for the first of several members. */
  void join(SoftDevice device, Gids group);

  /** Ends {@link #join}, after the last of several members. */
  void leave(SoftDevice device, Gids group);
}
