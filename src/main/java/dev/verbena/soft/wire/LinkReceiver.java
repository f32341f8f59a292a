package dev.verbena.soft.wire;

/** What a link delivers packets to. Called under the network's lock. */
public interface LinkReceiver {
  /**
   * Takes a packet that arrived, which belongs to it from now on.
   *
   * @param at the GID of the device where it arrived
   */
  void arrived(Packet packet, Gids at);

  /** Counts a datagram that arrived at a device and is not a valid packet. */
  void malformed(Gids at);
}
