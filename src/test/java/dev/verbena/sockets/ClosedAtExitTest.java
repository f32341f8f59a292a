package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.internal.time.Time;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.ForkedJvm;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.Random;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A JVM with a device over UDP ends while data of a closed channel wait for its peer to read. */
@Tag("host")
class ClosedAtExitTest {
  private static final SelectorProvider RDMA = RdmaSelectorProvider.provider();
  private static final InetAddress SERVER = InetAddress.ofLiteral("127.0.0.1");
  private static final InetAddress CLIENT = InetAddress.ofLiteral("127.0.0.2");

  /** More than the peer's receive buffer. */
  private static final byte[] DATA = new byte[240_000];

  static {
    new Random(53).nextBytes(DATA);
  }

  /** Writes, closes, and ends. */
  static final class Leaving {
    private Leaving() {}

    /** Tells by TCP that the JVM is ending. */
    public static void main(String[] args) throws Exception {
      SoftNetwork network =
          SoftNetwork.overUdp(new InetSocketAddress(CLIENT, Integer.parseInt(args[0])));
      SocketChannel channel = network.call(RDMA::openSocketChannel);
      network.call(() -> channel.connect(new InetSocketAddress(SERVER, Integer.parseInt(args[1]))));
      ByteBuffer data = ByteBuffer.wrap(DATA);
      while (data.hasRemaining()) {
        int _ = channel.write(data);
      }
      channel.close();
      Socket ending = new Socket(SERVER, Integer.parseInt(args[2]));
      Runtime.getRuntime().addShutdownHook(new Thread(() -> Leaving.close(ending)));
      if (args[3].equals("exit")) {
        System.exit(0);
      }
    }

    private static void close(Socket socket) {
      try {
        socket.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"return", "exit"})
  @SuppressWarnings("try") // The client closes what is waited for, too, if it fails.
  void whatWasWrittenArrives(String way) throws Exception {
    int port;
    try (DatagramSocket socket = new DatagramSocket()) {
      port = socket.getLocalPort();
    }
    try (SoftNetwork network = SoftNetwork.overUdp(new InetSocketAddress(SERVER, port));
        ServerSocketChannel listener = network.call(RDMA::openServerSocketChannel);
        ServerSocket told = new ServerSocket(0, 1, SERVER)) {
      network.call(() -> listener.bind(new InetSocketAddress(SERVER, 0)));
      int service = ((InetSocketAddress) listener.getLocalAddress()).getPort();
      FutureTask<String> client =
          ChannelFixture.inBackground(
              () -> {
                try {
                  return new ForkedJvm()
                      .withNativeAccess()
                      .run(Leaving.class, "" + port, "" + service, "" + told.getLocalPort(), way)
                      .succeeded();
                } finally {
                  told.close();
                }
              });
      try (SocketChannel channel = listener.accept()) {
        awaitEnd(told, client);
        Time.sleep(TimeUnit.MILLISECONDS.toNanos(300)); // Lets an end arrive that is too early.
        ByteBuffer read = ByteBuffer.allocate(DATA.length);
        while (read.hasRemaining() && channel.read(read) >= 0) {}
        assertArrayEquals(DATA, read.array());
        assertEquals(-1, channel.read(ByteBuffer.allocate(1)));
      }
      client.get();
    }
  }

  /** Waits until the client's JVM is ending. */
  private static void awaitEnd(ServerSocket told, FutureTask<String> client) throws Exception {
    try (Socket ending = told.accept()) {
      assertEquals(-1, ending.getInputStream().read());
    } catch (SocketException e) {
      client.get(); // Its output says why it has ended.
      throw e;
    }
  }
}
