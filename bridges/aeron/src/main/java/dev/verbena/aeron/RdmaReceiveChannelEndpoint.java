package dev.verbena.aeron;

import io.aeron.driver.DataPacketDispatcher;
import io.aeron.driver.media.ReceiveChannelEndpoint;
import io.aeron.driver.media.ReceiveDestinationTransport;
import io.aeron.driver.media.UdpChannel;
import io.aeron.driver.status.SystemCounterDescriptor;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.status.AtomicCounter;

/**
 * The socket of subscriptions: it receives streams, and sends status messages and NAKs. With
 * several destinations (MDS) the sockets are those of transports.
 */
final class RdmaReceiveChannelEndpoint extends ReceiveChannelEndpoint {
  private final Side side;
  private final FrameDispatcher dispatcher;
  private RdmaChannel channel;

  /** Transports whose sockets do not receive by RDMA yet. */
  private final List<ReceiveDestinationTransport> added = new ArrayList<>();

  RdmaReceiveChannelEndpoint(
      UdpChannel udpChannel,
      DataPacketDispatcher dispatcher,
      AtomicCounter statusIndicator,
      Side side) {
    super(udpChannel, dispatcher, statusIndicator, side.context());
    this.side = side;
    AtomicCounter bytes = context.systemCounters().get(SystemCounterDescriptor.BYTES_RECEIVED);
    this.dispatcher = new FrameDispatcher(bytes);
  }

  @Override
  public void openDatagramChannel(AtomicCounter statusIndicator) {
    if (udpChannel.isMulticast()) {
      side.rules().requireUdpAllowed(udpChannel, "multicast is by UDP");
    }
    super.openDatagramChannel(statusIndicator);
    Group group = side.rules().group(udpChannel, true);
    if (!udpChannel.isMulticast() || group != null) {
      channel = side.wrap(sendDatagramChannel, receiveDatagramChannel, group);
      sendDatagramChannel = channel;
    }
  }

  /**
   * Receives a frame, and hands those that have arrived with it to Aeron before the last one is
   * returned: the poller of the driver handles one in a duty cycle.
   */
  @Override
  public InetSocketAddress receive(ByteBuffer buffer) {
    if (channel == null) {
      return super.receive(buffer);
    }
    InetSocketAddress from = channel.receiveInto(buffer);
    while (from != null && channel.hasMore()) {
      dispatcher.dispatch(this, buffer, from);
      from = channel.receiveInto(buffer);
    }
    return from;
  }

  @Override
  public int addDestination(ReceiveDestinationTransport transport) {
    if (TransportChannels.wrapSends(transport, side)) {
      added.add(transport);
    }
    return super.addDestination(transport);
  }

  @Override
  public void removeDestination(int transportIndex) {
    boolean _ = added.remove(destination(transportIndex));
    super.removeDestination(transportIndex);
  }

  @Override
  public void sendSetupElicitingStatusMessage(
      int transportIndex, InetSocketAddress controlAddress, int sessionId, int streamId) {
    receiveByRdma();
    super.sendSetupElicitingStatusMessage(transportIndex, controlAddress, sessionId, streamId);
  }

  @Override
  public boolean isValidFrame(UnsafeBuffer buffer, int length) {
    receiveByRdma();
    return super.isValidFrame(buffer, length);
  }

  /**
   * Lets new transports receive by RDMA. A selector registers the socket itself, and has done so
   * when this is called; nothing comes by RDMA before, since the first HELLO comes by UDP.
   */
  private void receiveByRdma() {
    if (!added.isEmpty()) {
      added.forEach(TransportChannels::wrapReceives);
      added.clear();
    }
  }
}
