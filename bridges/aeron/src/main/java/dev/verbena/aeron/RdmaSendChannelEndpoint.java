package dev.verbena.aeron;

import io.aeron.driver.media.SendChannelEndpoint;
import io.aeron.driver.media.UdpChannel;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import org.agrona.concurrent.status.AtomicCounter;

/** The socket of publications: it sends streams, and receives status messages and NAKs. */
final class RdmaSendChannelEndpoint extends SendChannelEndpoint {
  private final Side side;
  private RdmaChannel channel;

  RdmaSendChannelEndpoint(UdpChannel udpChannel, AtomicCounter statusIndicator, Side side) {
    super(udpChannel, statusIndicator, side.context());
    this.side = side;
  }

  @Override
  public void openDatagramChannel(AtomicCounter statusIndicator) {
    if (udpChannel.isMulticast()) {
      side.rules().requireUdpAllowed(udpChannel, "multicast is by UDP");
    }
    super.openDatagramChannel(statusIndicator);
    Group group = side.rules().group(udpChannel, false);
    if (!udpChannel.isMulticast() || group != null) {
      if (group == null) {
        side.requireDevice(sendDatagramChannel, connectAddress);
      }
      channel = side.wrap(sendDatagramChannel, receiveDatagramChannel, group);
      sendDatagramChannel = channel;
    }
  }

  @Override
  public InetSocketAddress receive(ByteBuffer buffer) {
    return channel == null ? super.receive(buffer) : channel.receiveInto(buffer);
  }
}
