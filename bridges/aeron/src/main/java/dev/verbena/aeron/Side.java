package dev.verbena.aeron;

import io.aeron.driver.MediaDriver;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.channels.DatagramChannel;
import java.security.SecureRandom;
import java.util.random.RandomGenerator;
import org.agrona.concurrent.CachedNanoClock;

/**
 * What the sockets of the sender, or of the receiver, of a driver share.
 *
 * @param context the context of the driver
 * @param clock the time of the sender's or the receiver's duty cycle
 * @param receiveSlots how many messages may arrive before a socket is polled
 */
record Side(
    MediaDriver.Context context,
    CachedNanoClock clock,
    TransportCounters counters,
    Rules rules,
    int receiveSlots,
    RandomGenerator random) {
  static Side of(
      MediaDriver.Context context,
      CachedNanoClock clock,
      String agent,
      Rules rules,
      int receiveSlots) {
    TransportCounters counters = new TransportCounters(context.countersManager(), agent);
    return new Side(context, clock, counters, rules, receiveSlots, new SecureRandom());
  }

  /**
   * Throws an exception if the rule is rdma-only, and no device has the address of a socket.
   *
   * @param peer the address that the rules are asked for; null if it is that of the socket
   */
  void requireDevice(DatagramChannel socket, InetSocketAddress peer) {
    try {
      InetSocketAddress local = (InetSocketAddress) socket.getLocalAddress();
      rules.requireDevice(peer == null ? local : peer, local.getAddress());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Returns a channel that sends and receives by RDMA, too.
   *
   * @param receiving the socket that receives, which is another one for multicast
   * @param group the group whose messages it receives or sends; null if it is not one of a group
   */
  RdmaChannel wrap(DatagramChannel socket, DatagramChannel receiving, Group group) {
    try {
      return new RdmaChannel(socket, receiving, group, this);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
