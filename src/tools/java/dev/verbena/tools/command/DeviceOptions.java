package dev.verbena.tools.command;

import dev.verbena.address.GidEntry;
import dev.verbena.address.GidType;
import dev.verbena.attributes.LinkLayer;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.Port;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairSetup;
import java.net.InetAddress;
import picocli.CommandLine.Option;

/** The options for device, port and GID. */
public final class DeviceOptions extends PortOptions {
  private int gidIndex = UNSET;

  @Option(
      names = {"-g", "--gid-idx"},
      paramLabel = "INDEX",
      description = "GID index; default: chosen by type and scope.")
  public void gidIndex(int index) {
    this.gidIndex = notNegative(index, "a GID index");
  }

  public boolean hasGidIndex() {
    return gidIndex != UNSET;
  }

  @Override
  public boolean isGiven() {
    return super.isGiven() || hasGidIndex();
  }

  /** Returns the device, after checking that it has the port and the GID. */
  public Device checkedDevice() {
    Device device = device();
    try (Context context = device.open()) {
      var _ = entry(context.port(port()));
    }
    return device;
  }

  private GidEntry entry(Port port) {
    return hasGidIndex() ? port.gidEntry(gidIndex) : port.chooseGid().entry();
  }

  /** Returns the index of the GID; negative if it was not given. */
  public int gidIndex() {
    return gidIndex;
  }

  /** Returns the index of the GID that connections use. */
  public int chosenGidIndex() {
    try (Context context = device().open()) {
      return entry(context.port(port())).index();
    }
  }

  /**
   * Returns the address by which RDMA CM finds the device: that of the GID that connections use; on
   * devices whose GIDs are not IP addresses, that of the TCP connection to the peer.
   */
  public InetAddress address(Peer peer) {
    try (Context context = device().open()) {
      Port port = context.port(port());
      GidEntry entry = entry(port);
      boolean isAddress =
          port.attributes().linkLayer() == LinkLayer.ETHERNET
              && (entry.type() == GidType.ROCE_V2 || entry.type() == GidType.ROCE_V1);
      return isAddress ? entry.gid().toInetAddress() : peer.localAddress();
    }
  }

  /** Sets port and GID of a queue pair. */
  public QueuePairSetup apply(QueuePair queuePair) {
    QueuePairSetup bringUp = queuePair.setup().port(port());
    return hasGidIndex() ? bringUp.gid(gidIndex) : bringUp;
  }
}
