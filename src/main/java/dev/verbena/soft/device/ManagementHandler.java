package dev.verbena.soft.device;

import dev.verbena.soft.wire.Gids;
import dev.verbena.soft.wire.ManagementDatagram;

/** Receives the management datagrams (MAD) that arrive at queue pair 1 of a device. */
public interface ManagementHandler {
  /**
   * Handles a datagram, under the network's lock.
   *
   * @param port the port where it arrived
   * @param own the GID of the port that it was sent to
   * @param from the GID of the sender
   * @param datagram the address of {@value ManagementDatagram#LENGTH} bytes, valid during the call
   */
  void received(SoftPort port, Gids own, Gids from, long datagram);
}
