package dev.verbena.soft.device;

import dev.verbena.soft.wire.EthernetFrame;
import dev.verbena.soft.wire.Packet;

/** The target of flow rules: receives frames. Called under the network's lock. */
public interface FrameTarget {
  /**
   * Receives a frame.
   *
   * @param frame the headers of the packet's payload
   * @param flowTag the tag of the flow rule, or 0
   */
  void receive(EthernetFrame frame, Packet packet, int flowTag);
}
