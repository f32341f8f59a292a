package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.time.Time;
import dev.verbena.soft.InSimulation;
import dev.verbena.soft.SoftNetwork;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * A software device that takes the place of one whose process was killed, at the same address:
 * connections that only receive end as soon as the peer has another one with the new device.
 */
@InSimulation
class RestartedPeersTest {
  private static final SelectorProvider RDMA = RdmaSelectorProvider.provider();
  private static final InetAddress HERE = InetAddress.ofLiteral("192.0.2.1");
  private static final InetAddress PEER = InetAddress.ofLiteral("192.0.2.2");
  private static final InetAddress OTHER = InetAddress.ofLiteral("192.0.2.3");

  private final SoftNetwork network = SoftNetwork.create();
  private final List<AutoCloseable> opened = new ArrayList<>();

  RestartedPeersTest() {
    network.addDevice("here", HERE);
    network.addDevice("peer", PEER);
    network.addDevice("other", OTHER);
  }

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable each : opened.reversed()) {
      each.close();
    }
    network.close();
  }

  private <T extends AutoCloseable> T closing(T resource) {
    opened.add(resource);
    return resource;
  }

  private ServerSocketChannel listener(InetAddress address) throws Exception {
    ServerSocketChannel listener = closing(network.call(RDMA::openServerSocketChannel));
    network.call(() -> listener.bind(new InetSocketAddress(address, 0)));
    return listener;
  }

  private SocketChannel connect(InetAddress from, ServerSocketChannel listener) throws Exception {
    SocketChannel channel = closing(network.call(RDMA::openSocketChannel));
    network.call(() -> channel.bind(new InetSocketAddress(from, 0)));
    assertTrue(channel.connect(listener.getLocalAddress()));
    return channel;
  }

  private static FutureTask<Integer> read(SocketChannel channel) {
    return ChannelFixture.inBackground(() -> channel.read(ByteBuffer.allocate(1)));
  }

  private void restart() throws InterruptedException {
    network.faults().kill("peer");
    network.addDevice("peer", PEER);
    Time.sleep(TimeUnit.MINUTES.toNanos(1));
  }

  private static void assertReset(FutureTask<Integer> read) {
    assertEquals(
        "Connection reset", ChannelFixture.causeOf(SocketException.class, read).getMessage());
  }

  private static void assertWorks(SocketChannel one, SocketChannel two) throws IOException {
    assertEquals(1, one.write(ByteBuffer.allocate(1)));
    assertEquals(1, two.read(ByteBuffer.allocate(2)));
  }

  @Test
  void connectionsOfAClientThatWasRestartedEnd() throws Exception {
    ServerSocketChannel listener = listener(HERE);
    connect(PEER, listener);
    FutureTask<Integer> first = read(closing(listener.accept()));
    connect(PEER, listener);
    FutureTask<Integer> second = read(closing(listener.accept()));
    SocketChannel beside = connect(OTHER, listener);
    SocketChannel besideServer = closing(listener.accept());
    restart();
    assertFalse(first.isDone() || second.isDone());
    SocketChannel again = connect(PEER, listener);
    SocketChannel server = closing(listener.accept());
    assertReset(first);
    assertReset(second);
    assertWorks(again, server);
    assertWorks(beside, besideServer);
    assertWorks(connect(PEER, listener), closing(listener.accept()));
    assertWorks(again, server);
  }

  @Test
  void connectionsToAServerThatWasRestartedEnd() throws Exception {
    ServerSocketChannel listener = listener(PEER);
    FutureTask<Integer> before = read(connect(HERE, listener));
    closing(listener.accept());
    restart();
    assertFalse(before.isDone());
    ServerSocketChannel next = listener(PEER);
    SocketChannel client = connect(HERE, next);
    assertReset(before);
    assertWorks(client, closing(next.accept()));
  }

  @Test
  void whatIsSentToTheNewDeviceFails() throws Exception {
    ServerSocketChannel listener = listener(HERE);
    connect(PEER, listener);
    SocketChannel server = closing(listener.accept());
    restart();
    assertEquals(1, server.write(ByteBuffer.allocate(1)));
    assertThrows(SocketException.class, () -> server.read(ByteBuffer.allocate(1)));
  }
}
