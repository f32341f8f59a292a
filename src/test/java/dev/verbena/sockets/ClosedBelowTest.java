package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.VerbsException;
import dev.verbena.cm.Contexts;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.EventType;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PortSpace;
import dev.verbena.messages.Connection;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.verbs.Context;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
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

  private record Pair(SocketChannel client, SocketChannel server) {
    static Pair open() throws IOException {
      try (ServerSocketChannel listener = RDMA.openServerSocketChannel()) {
        listener.bind(new InetSocketAddress(ADDRESS, 0));
        SocketChannel client = RDMA.openSocketChannel();
        client.connect(listener.getLocalAddress());
        return new Pair(client, listener.accept());
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void streamsEndInOrder(End end) throws Exception {
    try (SoftNetwork network = SoftNetwork.create()) {
      network.addDevice("soft0", ADDRESS);
      Pair waiting = network.call(Pair::open);
      Pair selected = network.call(Pair::open);
      Pair closing = network.call(Pair::open);
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
      for (Pair each : List.of(waiting, selected, closing)) {
        each.client.close();
        each.server.close();
      }
      Await.until(() -> "open: " + network.openObjects(), () -> network.openObjects().isEmpty());
    }
  }

  /** The context remains that of its device: what waits goes on. */
  @ParameterizedTest
  @EnumSource(names = "CONTEXT_IS_CLOSED", mode = EnumSource.Mode.EXCLUDE)
  void waitsForConnectionsEnd(End end) throws Exception {
    try (SoftNetwork network = SoftNetwork.create()) {
      network.addDevice("soft0", ADDRESS);
      InetSocketAddress local = new InetSocketAddress(ADDRESS, 0);
      try (Listener silent = network.call(() -> Listener.open(local));
          Listener listening = network.call(() -> Listener.open(local));
          ServerSocketChannel accepting = network.call(RDMA::openServerSocketChannel);
          ServerSocketChannel selected = network.call(RDMA::openServerSocketChannel);
          SocketChannel blocking = network.call(RDMA::openSocketChannel);
          SocketChannel pending = network.call(RDMA::openSocketChannel);
          Selector selector = RDMA.openSelector()) {
        InetSocketAddress target = silent.address().orElseThrow();
        network.call(() -> accepting.bind(local));
        network.call(() -> selected.bind(local)).configureBlocking(false);
        SelectionKey acceptable = selected.register(selector, SelectionKey.OP_ACCEPT);
        pending.configureBlocking(false);
        SelectionKey connectable = pending.register(selector, SelectionKey.OP_CONNECT);
        assertFalse(network.call(() -> pending.connect(target)));
        List<FutureTask<?>> waits =
            List.of(
                network.call(() -> ChannelBehaviour.inBackground(() -> blocking.connect(target))),
                network.call(() -> ChannelBehaviour.inBackground(() -> Connection.connect(target))),
                ChannelBehaviour.inBackground(listening::take),
                ChannelBehaviour.inBackground(accepting::accept));
        try (Endpoint _ = silent.take();
            Endpoint _ = silent.take();
            Endpoint _ = silent.take()) {
          end.of(network);
          for (FutureTask<?> wait : waits) {
            Await.until("the end of a wait", wait::isDone);
            assertThrows(ExecutionException.class, wait::get);
          }
          while (!acceptable.isAcceptable() || !connectable.isConnectable()) {
            selector.selectedKeys().clear();
            selector.select();
          }
          assertThrows(SocketException.class, selected::accept);
          assertThrows(ConnectException.class, pending::finishConnect);
        }
      }
    }
  }

  @Test
  void nothingWaitsForAClosedNetwork() throws Exception {
    SoftNetwork network = SoftNetwork.create();
    network.addDevice("soft0", ADDRESS);
    try (EventChannel channel = network.call(EventChannel::open)) {
      var _ = channel.createId(PortSpace.TCP);
      network.close();
      assertSame(EventType.DEVICE_REMOVAL, channel.take().type());
      assertThrows(VerbsException.class, () -> channel.createId(PortSpace.TCP));
    }
    assertThrows(
        IOException.class,
        () ->
            network.call(
                () -> RDMA.openSocketChannel().connect(new InetSocketAddress(ADDRESS, 1))));
  }

  private static void assertEnds(Future<?> reading) throws Exception {
    try {
      assertEquals(-1, reading.get());
    } catch (ExecutionException e) {
      assertInstanceOf(IOException.class, e.getCause());
    }
  }
}
