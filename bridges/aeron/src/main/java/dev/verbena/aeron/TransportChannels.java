package dev.verbena.aeron;

import io.aeron.driver.media.ReceiveDestinationTransport;
import io.aeron.driver.media.UdpChannel;
import io.aeron.driver.media.UdpChannelTransport;
import java.lang.System.Logger.Level;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.channels.DatagramChannel;

/**
 * The sockets of a receive destination, which the driver opens without asking the supplier, in
 * fields that only its subclasses and its package see.
 */
final class TransportChannels {
  private static final VarHandle SEND = field("sendDatagramChannel");
  private static final VarHandle RECEIVE = field("receiveDatagramChannel");

  private TransportChannels() {}

  private static VarHandle field(String name) {
    try {
      return MethodHandles.privateLookupIn(UdpChannelTransport.class, MethodHandles.lookup())
          .findVarHandle(UdpChannelTransport.class, name, DatagramChannel.class);
    } catch (ReflectiveOperationException e) {
      Log.once(Level.WARNING, "destinations of subscriptions (MDS) stay on UDP: " + e);
      return null;
    }
  }

  /** Returns whether the transport sends by RDMA now. */
  static boolean wrapSends(ReceiveDestinationTransport transport, Side side) {
    UdpChannel channel = transport.udpChannel();
    Group group = side.rules().group(channel, true);
    if (SEND == null || RECEIVE == null || (channel.isMulticast() && group == null)) {
      return false;
    }
    DatagramChannel socket = (DatagramChannel) SEND.get(transport);
    SEND.set(transport, side.wrap(socket, (DatagramChannel) RECEIVE.get(transport), group));
    return true;
  }

  static void wrapReceives(ReceiveDestinationTransport transport) {
    RECEIVE.set(transport, (DatagramChannel) SEND.get(transport));
  }
}
