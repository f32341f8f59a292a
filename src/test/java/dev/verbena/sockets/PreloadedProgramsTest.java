package dev.verbena.sockets;

import static dev.verbena.testing.Environment.FORKY;
import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.PEERS;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

/**
 * Programs of TCP that run with librspreload, which makes their sockets rsockets: here JVMs that
 * use {@code java.net.Socket}.
 */
@Needs({CM, PEERS})
@Once(
    value = FORKY,
    reason = "C programs over the rsockets of librdmacm, the newest of which is enough")
class PreloadedProgramsTest {
  private static final RdmaSelectorProvider RDMA = RdmaSelectorProvider.provider();
  private static final int SIZE = 300_000;
  private static final String LISTENS = "port ";

  /** Sends bytes and receives as many: {@code HOST PORT LOCAL_ADDRESS}. */
  static final class ClientMain {
    private ClientMain() {}

    public static void main(String[] args) throws IOException {
      try (Socket socket = new Socket()) {
        socket.bind(new InetSocketAddress(args[2], 0));
        socket.connect(new InetSocketAddress(args[0], Integer.parseInt(args[1])));
        socket.getOutputStream().write(data());
        byte[] back = new byte[SIZE];
        new DataInputStream(socket.getInputStream()).readFully(back);
        System.out.println(Arrays.equals(data(), back) ? "equal" : "different");
      }
    }
  }

  /** Sends back what one client sends, until the end: {@code LOCAL_ADDRESS}. */
  static final class ServerMain {
    private ServerMain() {}

    public static void main(String[] args) throws IOException {
      try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getByName(args[0]))) {
        System.out.println(LISTENS + listener.getLocalPort() + ";");
        try (Socket socket = listener.accept()) {
          socket.getOutputStream().write(socket.getInputStream().readNBytes(SIZE));
          System.out.println("then " + socket.getInputStream().read());
        }
      }
    }
  }

  private static byte[] data() {
    byte[] data = new byte[SIZE];
    new Random(7).nextBytes(data);
    return data;
  }

  private static Program start(Class<?> main, String... arguments) throws IOException {
    List<String> command = new ArrayList<>(Program.java(main, arguments));
    command.add(1, "-Djava.net.preferIPv4Stack=true");
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().put("LD_PRELOAD", library().toString());
    return Program.start(builder);
  }

  private static Path library() throws IOException {
    try (Stream<Path> found =
        Files.find(
            Path.of("/usr/lib"), 3, (path, attributes) -> path.endsWith("librspreload.so"))) {
      List<Path> libraries = found.toList();
      assertEquals(1, libraries.size(), libraries::toString);
      return libraries.getFirst();
    }
  }

  @DeviceTest
  void clientTalksToJava() throws Exception {
    try (ServerSocketChannel listener =
        RDMA.openServerSocketChannel().bind(new InetSocketAddress(Rig.addressB(), 0))) {
      InetSocketAddress address = (InetSocketAddress) listener.getLocalAddress();
      try (Program client =
              start(
                  ClientMain.class,
                  address.getAddress().getHostAddress(),
                  String.valueOf(address.getPort()),
                  Rig.addressA().getHostAddress());
          SocketChannel server = listener.accept()) {
        ByteBuffer buffer = ByteBuffer.allocate(SIZE);
        readFully(server, buffer);
        server.write(buffer.flip());
        assertEquals("equal", client.endsWell().strip());
        assertEquals(-1, server.read(ByteBuffer.allocate(1)));
      }
    }
  }

  @DeviceTest
  void serverTalksToJava() throws Exception {
    try (Program server = start(ServerMain.class, Rig.addressB().getHostAddress());
        SocketChannel client = RDMA.openSocketChannel()) {
      server.says(";");
      String port = server.text().replaceAll("(?s).*" + LISTENS + "(\\d+);.*", "$1");
      client.bind(new InetSocketAddress(Rig.addressA(), 0));
      client.connect(new InetSocketAddress(Rig.addressB(), Integer.parseInt(port)));
      client.write(ByteBuffer.wrap(data()));
      ByteBuffer back = ByteBuffer.allocate(SIZE);
      readFully(client, back);
      assertArrayEquals(data(), back.array());
      client.shutdownOutput();
      server.says("then -1");
      server.endsWell();
    }
  }

  private static void readFully(SocketChannel channel, ByteBuffer target) throws IOException {
    while (target.hasRemaining()) {
      if (channel.read(target) < 0) {
        throw new IOException("the end after " + target.position());
      }
    }
  }
}
