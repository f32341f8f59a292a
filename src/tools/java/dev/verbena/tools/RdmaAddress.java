package dev.verbena.tools;

import dev.verbena.tools.command.DeviceOptions;
import dev.verbena.tools.command.Peer;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.GidEntry;
import dev.verbena.verbs.GidType;
import dev.verbena.verbs.LinkLayer;
import dev.verbena.verbs.Port;
import java.net.InetAddress;

/** The IP address of a device, by which RDMA CM finds it. */
final class RdmaAddress {
  private RdmaAddress() {}

  /**
   * Returns the address of the GID that connections use; on devices whose GIDs are not IP
   * addresses, that of the TCP connection to the peer.
   */
  static InetAddress of(DeviceOptions options, Peer peer) {
    try (Context context = options.device().open()) {
      Port port = context.port(options.port());
      GidEntry entry =
          options.hasGidIndex() ? port.gidEntry(options.gidIndex()) : port.chooseGid().entry();
      boolean isAddress =
          port.attributes().linkLayer() == LinkLayer.ETHERNET
              && (entry.type() == GidType.ROCE_V2 || entry.type() == GidType.ROCE_V1);
      return isAddress ? entry.gid().toInetAddress() : peer.localAddress();
    }
  }
}
