package dev.verbena.sockets;

import static dev.verbena.testing.Environment.BOOKWORM;
import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.PEERS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/** Connections to rdma-core's rstream, which is killed. */
@Needs({CM, PEERS})
@Once(value = BOOKWORM, reason = "the same")
class LostPeersTest {
  private static final RdmaSelectorProvider RDMA = RdmaSelectorProvider.provider();
  private static final int PORT = 7500;

  private static Program server() throws Exception {
    return Program.start(
        "rstream", "-b", Rig.addressB().getHostAddress(), "-p", String.valueOf(PORT));
  }

  /** Connects as soon as the server listens. */
  private static SocketChannel connected(Program server) throws Exception {
    while (true) {
      SocketChannel channel = RDMA.openSocketChannel();
      try {
        channel.bind(new InetSocketAddress(Rig.addressA(), 0));
        channel.connect(new InetSocketAddress(Rig.addressB(), PORT));
        return channel;
      } catch (ConnectException e) {
        if (!server.process().isAlive()) {
          throw new AssertionError(server.text(), e);
        }
        Await.pass(Duration.ofMillis(50), "the server does not listen yet");
      }
    }
  }

  private static int result(FutureTask<Integer> read) throws Exception {
    try {
      return read.get();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof SocketException failure) {
        throw failure;
      }
      throw e;
    }
  }

  private static void assertCannotWrite(SocketChannel channel) {
    ByteBuffer source = ByteBuffer.allocateDirect(1 << 16);
    assertThrows(
        SocketException.class,
        () -> {
          while (true) {
            channel.write(source.clear());
          }
        });
  }

  /**
   * A killed process sends no end of its stream. The kernel takes its memory away before its queue
   * pair, and the first read grants the peer credits by an RDMA write, which fails in between.
   */
  private static void assertReset(Callable<Integer> read) {
    String message = assertThrows(SocketException.class, read::call).getMessage();
    assertTrue(message.equals("Connection reset") || message.contains("REM_ACCESS_ERR"), message);
  }

  @DeviceTest
  void waitingReadThrows() throws Exception {
    try (Program server = server();
        SocketChannel channel = connected(server)) {
      var read = ChannelBehaviour.inBackground(() -> channel.read(ByteBuffer.allocate(1)));
      server.kill();
      assertReset(() -> result(read));
      assertReset(() -> channel.read(ByteBuffer.allocate(1)));
      assertCannotWrite(channel);
    }
  }

  @DeviceTest
  void channelIsSelected() throws Exception {
    try (Program server = server();
        SocketChannel channel = connected(server);
        Selector selector = RDMA.openSelector()) {
      channel.configureBlocking(false);
      SelectionKey key = channel.register(selector, SelectionKey.OP_READ);
      server.kill();
      assertEquals(1, selector.select());
      assertEquals(Set.of(key), selector.selectedKeys());
      assertReset(() -> channel.read(ByteBuffer.allocate(1)));
    }
  }

  @DeviceTest
  void waitingWriteThrows() throws Exception {
    try (Program server = server();
        SocketChannel channel = connected(server)) {
      // A stopped process does not read.
      new ProcessBuilder("kill", "-STOP", String.valueOf(server.process().pid())).start().waitFor();
      var write =
          ChannelBehaviour.inBackground(() -> channel.write(ByteBuffer.allocateDirect(16 << 20)));
      Await.pass(Duration.ofMillis(100), "most often it waits then");
      server.kill();
      Throwable failure = assertThrows(ExecutionException.class, write::get).getCause();
      assertEquals(SocketException.class, failure.getClass(), failure::toString);
    }
  }
}
