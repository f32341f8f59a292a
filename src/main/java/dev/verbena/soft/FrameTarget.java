package dev.verbena.soft;

/** What flow rules lead frames to. Called under the network's lock. */
interface FrameTarget {
  /**
   * Receives a frame.
   *
   * @param frame the headers of the packet's payload
   * @param flowTag the tag of the flow rule, or 0
   */
  void receive(EthernetFrame frame, Packet packet, int flowTag);
}
