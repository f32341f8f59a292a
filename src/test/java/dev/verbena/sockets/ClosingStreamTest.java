package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Calls of other threads after a close has begun, before they learn of it: bytes that nobody has
 * read make the close a reset, which remains one. Found by seeds of the simulated streams.
 */
class ClosingStreamTest {
  private final SoftHosts hosts = SoftHosts.create();
  private ServerSocketChannel server;
  private RdmaConnection closing;
  private SocketChannel peer;

  @BeforeEach
  void connect() throws Exception {
    peer =
        hosts.call(
            () -> {
              server = RdmaSockets.openServerSocketChannel(StandardProtocolFamily.INET);
              server.bind(new InetSocketAddress(hosts.serverAddress(), 0));
              InetSocketAddress address = (InetSocketAddress) server.getLocalAddress();
              closing = RdmaConnection.unbound(address, _ -> {});
              closing.connect(address, Sizes.DEFAULT);
              SocketChannel accepted = server.accept();
              closing.await(Await.LIMIT.toNanos());
              return accepted;
            });
    RdmaStream stream = closing.stream();
    assertEquals(1000, stream.send(ByteBuffer.allocate(1000)));
    assertEquals(4, peer.write(ByteBuffer.allocate(4)));
    Await.until("the bytes of the peer", () -> stream.available() == 4);
    assertFalse(stream.beginClose(false), "the end is in order");
  }

  @AfterEach
  void close() throws Exception {
    peer.close();
    server.close();
    var _ = closing.close(0).get();
    Await.until(
        "the end of the peer's channel",
        () -> hosts.network().openObjects().keySet().equals(Set.of("context")));
    hosts.close();
  }

  @Test
  void bytesThatWereNotReadAreNotReadAfterwards() throws Exception {
    assertTrue(closing.stream().receive(ByteBuffer.allocate(4)) < 0);
  }

  @Test
  void shutdownOfTheOutputDoesNotTellThePeerOfAnEnd() throws Exception {
    closing.stream().shutOutput();
    var _ = closing.close(0).get();
    ByteBuffer target = ByteBuffer.allocate(4096);
    assertThrows(
        SocketException.class,
        () -> {
          while (peer.read(target.clear()) >= 0) {
            // What had arrived.
          }
        });
  }
}
