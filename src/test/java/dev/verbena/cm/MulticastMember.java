package dev.verbena.cm;

import dev.verbena.verbs.AddressHandle;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/** An identifier with queues, in a group. */
record MulticastMember(EventChannel channel, NumberedDatagrams datagrams, ConnectionEvent joined)
    implements AutoCloseable {

  static MulticastMember of(InetSocketAddress group, JoinFlag flag, InetAddress address)
      throws Exception {
    EventChannel channel = EventChannel.open();
    try {
      ConnectionId id = channel.createId(PortSpace.UDP);
      id.bind(new InetSocketAddress(address, 0));
      NumberedDatagrams datagrams = new NumberedDatagrams(id);
      id.multicast().join(group, flag, 7);
      return new MulticastMember(
          channel, datagrams, Identifiers.next(channel, EventType.MULTICAST_JOIN));
    } catch (Throwable t) {
      channel.close();
      throw t;
    }
  }

  AddressHandle toGroup() {
    return joined.id().domain().createAddressHandle(group().path());
  }

  DatagramParameters group() {
    return joined.datagram().orElseThrow();
  }

  void send(AddressHandle toGroup) throws Exception {
    datagrams.send(toGroup, group().queuePairNumber(), group().queueKey());
  }

  @Override
  public void close() {
    datagrams.close();
    channel.close();
  }
}
