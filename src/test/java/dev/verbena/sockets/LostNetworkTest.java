package dev.verbena.sockets;

import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.KERNEL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/**
 * A network that loses every packet for a while. Soft-RoCE retries without end, with the retry
 * count of 7 that rsockets set: a connection goes on when the network works again.
 *
 * <p>The queueing discipline is there from the beginning of a test to its end: if one is added or
 * deleted while a packet is sent, Soft-RoCE flushes the queue pair.
 */
@Needs({CM, KERNEL})
class LostNetworkTest {
  private static final RdmaSelectorProvider RDMA = RdmaSelectorProvider.provider();

  /** Something that is done while the network loses every packet. */
  private interface Action {
    void run() throws Exception;
  }

  private static void network(String change, String... fault) throws Exception {
    List<String> words = List.of("tc", "qdisc", change, "dev", Rig.netdevA(), "root");
    try (Program program = Program.start(Program.with(words, fault))) {
      program.endsWell();
    }
  }

  @BeforeEach
  void addFaults() throws Exception {
    network("add", "netem", "loss", "0%");
  }

  @AfterEach
  void deleteFaults() throws Exception {
    network("del");
  }

  private static void withoutNetwork(Action action) throws Exception {
    network("change", "netem", "loss", "100%");
    try {
      action.run();
    } finally {
      network("change", "netem", "loss", "0%");
    }
  }

  private static ServerSocketChannel listener() throws IOException {
    return RDMA.openServerSocketChannel().bind(new InetSocketAddress(Rig.addressB(), 0));
  }

  private static void close(SocketChannel channel) throws IOException {
    channel.close();
  }

  private static SocketChannel client() throws IOException {
    return RDMA.openSocketChannel().bind(new InetSocketAddress(Rig.addressA(), 0));
  }

  @DeviceTest
  void connectTimesOut() throws Exception {
    try (ServerSocketChannel listener = listener();
        SocketChannel client = client()) {
      withoutNetwork(
          () -> {
            assertThrows(
                SocketTimeoutException.class,
                () -> client.socket().connect(listener.getLocalAddress(), 500));
            assertFalse(client.isOpen());
          });
    }
  }

  @DeviceTest
  void waitsWithATimeLimitEndAndTheConnectionGoesOn() throws Exception {
    try (ServerSocketChannel listener = listener();
        SocketChannel client = client();
        Selector selector = RDMA.openSelector()) {
      client.connect(listener.getLocalAddress());
      try (SocketChannel server = listener.accept()) {
        server.setOption(ChannelBehaviour.keepaliveTime(server), 1);
        server.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
        server.socket().setSoTimeout(1500);
        withoutNetwork(
            () -> {
              assertEquals(1, client.write(ByteBuffer.allocate(1)));
              assertThrows(
                  SocketTimeoutException.class, () -> server.socket().getInputStream().read());
              client.configureBlocking(false);
              SelectionKey key = client.register(selector, SelectionKey.OP_READ);
              assertEquals(0, selector.select(100));
              key.cancel();
              selector.selectNow();
              client.configureBlocking(true);
            });
        server.socket().setSoTimeout(0);
        assertEquals(0, server.socket().getInputStream().read());
        server.write(ByteBuffer.allocate(1));
        assertEquals(1, client.read(ByteBuffer.allocate(1)));
      }
    }
  }

  @DeviceTest
  void closeGoesOnAfterTheLingerTime() throws Exception {
    try (ServerSocketChannel listener = listener();
        SocketChannel client = client()) {
      client.connect(listener.getLocalAddress());
      client.setOption(StandardSocketOptions.SO_LINGER, 1);
      try (SocketChannel server = listener.accept()) {
        KeptAliveTest.set(server, 10, 1, 20); // Otherwise it may wait for a DREQ that was lost.
        server.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
        long start = System.nanoTime();
        withoutNetwork(
            () -> {
              assertEquals(1, client.write(ByteBuffer.allocate(1)));
              close(client);
            });
        ByteBuffer target = ByteBuffer.allocate(2);
        try {
          assertEquals(1, server.read(target));
          assertEquals(-1, server.read(target));
        } catch (SocketException e) {
          // After ten seconds the close ends the connection. A host that stood still for so long
          // does so at once, also after the byte and before the message about the end is sent.
          long passed = System.nanoTime() - start;
          assertTrue(passed >= RdmaStream.LONGEST_CLOSE, () -> e + " after " + passed + " ns");
        }
      }
    }
  }

  @DeviceTest
  void shutdownOfOutputGoesOnAfterTheLingerTime() throws Exception {
    try (ServerSocketChannel listener = listener();
        SocketChannel client = client()) {
      client.connect(listener.getLocalAddress());
      client.setOption(StandardSocketOptions.SO_LINGER, 1);
      try (SocketChannel server = listener.accept()) {
        withoutNetwork(client::shutdownOutput);
        assertEquals(-1, server.read(ByteBuffer.allocate(1)));
        assertEquals(1, server.write(ByteBuffer.allocate(1)));
        assertEquals(1, client.read(ByteBuffer.allocate(1)));
      }
    }
  }
}
