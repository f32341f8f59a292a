package dev.verbena.soft.device;

import dev.verbena.soft.wire.EthernetFrame;
import dev.verbena.soft.wire.Packet;
import org.jspecify.annotations.Nullable;

/**
 * The Ethernet that joins all ports of a network: a frame for the MAC address of a port goes there,
 * any other frame to all ports but the one that sent it.
 */
public final class Ethernet {
  private final Fabric network;
  private final EthernetFrame frame = new EthernetFrame();

  public Ethernet(Fabric network) {
    this.network = network;
  }

  /** Delivers the frame that a packet carries. Called under the network's lock. */
  public void forward(SoftPort from, Packet packet) {
    frame.at(packet.payload, packet.length);
    SoftPort only = portOf(frame.destination());
    for (SoftDevice device : network.devices()) {
      for (SoftPort port : device.ports) {
        if (port != from && (only == null || only == port) && network.reaches(from, port)) {
          deliver(packet, port);
        }
      }
    }
  }

  private @Nullable SoftPort portOf(long mac) {
    for (SoftDevice device : network.devices()) {
      for (SoftPort port : device.ports) {
        if (port.mac() == mac) {
          return port;
        }
      }
    }
    return null;
  }

  private void deliver(Packet packet, SoftPort port) {
    port.device.counters.receivedPackets++;
    if (packet.corrupt) {
      port.device.counters.corruptPackets++;
    } else {
      port.flows.steer(frame, packet);
    }
  }
}
