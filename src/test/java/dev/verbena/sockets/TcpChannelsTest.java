package dev.verbena.sockets;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.NetworkChannel;
import java.nio.channels.spi.SelectorProvider;
import org.junit.jupiter.api.Tag;

/** The JDK's channels behave as {@link ChannelBehaviour} says: the reference. */
@Tag("host")
class TcpChannelsTest extends ChannelBehaviour {
  @Override
  SelectorProvider provider() {
    return SelectorProvider.provider();
  }

  @Override
  InetSocketAddress listening() {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  }

  @Override
  boolean isTcp() {
    return true;
  }

  @Override
  void buffer(NetworkChannel channel, int bytes) {
    // By itself.
  }

  @Override
  InetSocketAddress connecting() {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  }
}
