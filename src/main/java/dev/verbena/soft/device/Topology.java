package dev.verbena.soft.device;

import dev.verbena.soft.wire.Gids;
import java.net.InetAddress;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The devices of a network, and what they reach. Used under the network's lock. */
public interface Topology {
  /** Returns the devices, in the order of their creation. */
  List<SoftDevice> devices();

  /** Returns the port with a GID; null if there is none. */
  @Nullable SoftPort port(long gidHigh, long gidLow);

  /**
   * Whether packets get to a port.
   *
   * @param from the port that sends them; null if they come over the link
   */
  boolean reaches(@Nullable SoftPort from, SoftPort to);

  /** Whether packets from one device to another leave the network. */
  boolean isLinked();

  /** Whether the host has a route from a device, which has a GID, to an IP address. */
  boolean hasRoute(Gids own, InetAddress peer);

  /** Whether the host sends to an IP address by the interface of one of the devices. */
  boolean isNear(InetAddress peer);
}
