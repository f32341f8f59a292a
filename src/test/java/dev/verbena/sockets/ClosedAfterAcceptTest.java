package dev.verbena.sockets;

import static dev.verbena.testing.Need.CM;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.cm.Listener;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Rig;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * A peer that closes its identifier right after it has accepted a request, without the message of
 * an orderly end.
 */
@Needs(CM)
class ClosedAfterAcceptTest {
  private static final int ROUNDS = 20;

  @DeviceTest
  void clientReadsTheEndOrAResetOrDoesNotConnect() throws Exception {
    try (Listener listener = Listener.open(new InetSocketAddress(Rig.addressB(), 0))) {
      for (int i = 0; i < ROUNDS; i++) {
        var peer =
            ChannelBehaviour.inBackground(
                () -> {
                  new SilentPeer(listener.take()).close();
                  return null;
                });
        try (SocketChannel channel = RdmaSelectorProvider.provider().openSocketChannel()) {
          channel.bind(new InetSocketAddress(Rig.addressA(), 0));
          channel.connect(listener.address().orElseThrow());
          assertEquals(-1, channel.read(ByteBuffer.allocate(1)), "round " + i);
        } catch (ConnectException e) {
          // The REJ arrived before the connection was established.
        } catch (SocketException e) {
          assertEquals("Connection reset", e.getMessage()); // The RTU had arrived.
        }
        peer.get();
      }
    }
  }
}
