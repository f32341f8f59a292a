package dev.verbena.aeron;

import dev.verbena.address.Gid;
import dev.verbena.address.QueuePairAddress;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * A multicast group of IPv4 whose messages go by RDMA. Nobody is asked: the rule says that all its
 * members have the bridge. What members send to their senders goes by UDP, so that a sender whose
 * device is missing hears them, too.
 *
 * @param address the group and its port
 * @param local the address of the interface
 * @param isMember whether the socket receives, and does not send
 */
record Group(InetSocketAddress address, InetAddress local, boolean isMember) {
  /** The queue pair number of all members of a group. */
  private static final int MEMBERS = 0xffffff;

  /** The Q_Key of a group has its port, so that a device tells groups of other ports apart. */
  private static final int QUEUE_KEYS = 0x72420000;

  Gid gid() {
    return Gid.of(address.getAddress());
  }

  int queueKey() {
    return queueKey(address);
  }

  private static int queueKey(InetSocketAddress group) {
    return QUEUE_KEYS | group.getPort();
  }

  /** Returns the address of all members of a group, to send to. */
  static QueuePairAddress members(InetSocketAddress group) {
    return QueuePairAddress.of(MEMBERS, Gid.of(group.getAddress())).withQueueKey(queueKey(group));
  }
}
