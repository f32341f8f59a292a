package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.Contexts;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.verbs.Context;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What is below a connection is closed: its context, its network; or its device is removed. */
class ClosedBelowTest {
  private static final SelectorProvider RDMA = RdmaSelectorProvider.provider();
  private static final InetAddress ADDRESS = InetAddress.ofLiteral("192.0.2.1");

  enum End {
    CONTEXT_IS_CLOSED {
      @Override
      void of(SoftNetwork network) throws Exception {
        List<Context> contexts = network.call(Contexts::list);
        contexts.forEach(Context::close);
      }
    },
    NETWORK_IS_CLOSED {
      @Override
      void of(SoftNetwork network) {
        network.close();
      }
    },
    DEVICE_IS_REMOVED {
      @Override
      void of(SoftNetwork network) {
        network.removeDevice("soft0");
      }
    };

    abstract void of(SoftNetwork network) throws Exception;
  }

  private record Connection(SocketChannel client, SocketChannel server) {
    static Connection open() throws IOException {
      try (ServerSocketChannel listener = RDMA.openServerSocketChannel()) {
        listener.bind(new InetSocketAddress(ADDRESS, 0));
        SocketChannel client = RDMA.openSocketChannel();
        client.connect(listener.getLocalAddress());
        return new Connection(client, listener.accept());
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void streamsEndInOrder(End end) throws Exception {
    try (SoftNetwork network = SoftNetwork.create()) {
      network.addDevice("soft0", ADDRESS);
      Connection waiting = network.call(Connection::open);
      Connection selected = network.call(Connection::open);
      Connection closing = network.call(Connection::open);
      ByteBuffer unread = ByteBuffer.allocate(1 << 20);
      closing.client.configureBlocking(false);
      assertTrue(closing.client.write(unread) > 0);
      try (Selector selector = RDMA.openSelector()) {
        selected.client.configureBlocking(false);
        SelectionKey key = selected.client.register(selector, SelectionKey.OP_READ);
        assertEquals(0, selector.selectNow());
        Future<?> reading =
            ChannelBehaviour.inBackground(() -> waiting.client.read(ByteBuffer.allocate(1)));
        Future<?> selecting = ChannelBehaviour.inBackground(() -> selector.select());
        end.of(network);
        assertEnds(reading);
        assertEquals(1, selecting.get());
        assertTrue(key.isReadable());
        assertThrows(
            IOException.class,
            () -> {
              while (true) {
                selected.client.write(ByteBuffer.allocate(1));
              }
            });
      }
      closing.client.close();
      for (Connection each : List.of(waiting, selected, closing)) {
        each.client.close();
        each.server.close();
      }
      Await.until(() -> "open: " + network.openObjects(), () -> network.openObjects().isEmpty());
    }
  }

  private static void assertEnds(Future<?> reading) throws Exception {
    try {
      assertEquals(-1, reading.get());
    } catch (ExecutionException e) {
      assertInstanceOf(IOException.class, e.getCause());
    }
  }
}
