package dev.verbena.soft.transport;

import dev.verbena.soft.wire.Packet;

/**
 * The transport service of a queue pair, or its requester or responder. Called under the network's
 * lock.
 */
interface TransportService {
  /** Takes over the attributes of the queue pair; {@code ibv_modify_qp} has set some of them. */
  void modified(int mask);

  /**
   * Sends a bounded number of packets.
   *
   * @return whether more can be sent at once
   */
  boolean send();

  /** Handles a packet for the queue pair. */
  void receive(Packet packet);

  /** Ends all transfers: the queue pair enters the error state or is reset. */
  void stop();
}
