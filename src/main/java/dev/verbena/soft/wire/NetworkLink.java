package dev.verbena.soft.wire;

import java.net.InetAddress;

/**
 * The connection of a network to other networks: sends and delivers packets, and lets the network's
 * thread wait for them.
 */
public interface NetworkLink extends AutoCloseable {
  /** Sends a packet to a GID that the device does not have. Called under the network's lock. */
  void send(Packet packet);

  /** Sends what {@link #send} has kept. Called before the lock is given back. */
  void flush();

  /**
   * Delivers packets that have arrived, a bounded number. Called under the network's lock.
   *
   * @return whether there were any
   */
  boolean receive();

  /** Sleeps until a packet arrives, {@link #wake} is called, or so many nanoseconds are over. */
  void sleep(long nanos);

  /** Sleeps until {@link #wake} is called or so many nanoseconds are over. */
  void rest(long nanos);

  /** Ends the sleep of the network's thread, or its next one. Any thread may call this. */
  void wake(Thread thread);

  /** Whether it connects the network to others, and its devices to each other. */
  boolean isConnected();

  /** Returns the path MTU in bytes, 256 to 4096. */
  int mtu();

  /** Whether the host has a route from a device, which has a GID, to an IP address. */
  boolean reaches(Gids own, InetAddress peer);

  /** Whether the host sends to an IP address by the interface of one of the network's devices. */
  boolean isNear(InetAddress peer);

  /**
   * Has a device, which has a GID, join a multicast group, for the first of several members. Called
   * under the network's lock.
   */
  void join(Gids own, Gids group);

  /** Has a device leave a multicast group, after the last of several members. */
  void leave(Gids own, Gids group);

  @Override
  void close();
}
