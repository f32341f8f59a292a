package dev.verbena.sockets;

import dev.verbena.soft.InSimulation;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import java.lang.ref.WeakReference;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import org.junit.jupiter.api.Test;

/** Connections with SO_KEEPALIVE, whose next message is due in two hours. */
@InSimulation
class KeptAliveTest {
  private static final SelectorProvider RDMA = RdmaSelectorProvider.provider();
  private static final InetAddress CLIENT = InetAddress.ofLiteral("192.0.2.1");
  private static final InetAddress SERVER = InetAddress.ofLiteral("192.0.2.2");

  @Test
  void closedConnectionIsGarbage() throws Exception {
    try (SoftNetwork network = SoftNetwork.create()) {
      network.addDevice("client", CLIENT);
      network.addDevice("server", SERVER);
      WeakReference<SocketChannel> closed = connectAndClose(network);
      Await.until(
          "the connection to be collected",
          () -> {
            System.gc();
            return closed.refersTo(null);
          });
    }
  }

  private static WeakReference<SocketChannel> connectAndClose(SoftNetwork network)
      throws Exception {
    try (ServerSocketChannel listener = network.call(RDMA::openServerSocketChannel)) {
      network.call(() -> listener.bind(new InetSocketAddress(SERVER, 0)));
      try (SocketChannel client =
          network.call(() -> RDMA.openSocketChannel().bind(new InetSocketAddress(CLIENT, 0)))) {
        client.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
        client.connect(listener.getLocalAddress());
        listener.accept().close();
        return new WeakReference<>(client);
      }
    }
  }
}
