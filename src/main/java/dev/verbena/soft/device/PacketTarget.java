package dev.verbena.soft.device;

import dev.verbena.soft.wire.Packet;

/** What packets are addressed to by a queue pair number. Called under the network's lock. */
public interface PacketTarget {
  /** Returns the queue pair number. */
  int number();

  /** Whether it takes a packet now: its state, its transport, its peer. */
  boolean accepts(Packet packet);

  /** Takes a packet that it accepts, which belongs to it from now on. */
  void deliver(Packet packet);

  /** Whether it has sent a packet from a port: a multicast packet does not return to its sender. */
  boolean isSenderOf(SoftPort from, Packet packet);
}
