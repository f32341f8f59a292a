import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.Random;

/** What each program does: data that is compared, and connections that are not RDMA. */
final class Traffic {
  static final byte[] BODY = new byte[300_000];

  static {
    new Random(42).nextBytes(BODY);
  }

  private Traffic() {}

  /** Returns an address from the environment; the default is that of a device over UDP. */
  static InetAddress server() {
    return InetAddress.ofLiteral(System.getenv().getOrDefault("VERBENA_ADDRESS_B", "127.0.0.3"));
  }

  /** Downloads the body with the JDK's client. */
  static void download(int times, int port) throws IOException, InterruptedException {
    URI uri = URI.create("http://" + server().getHostAddress() + ":" + port + "/");
    try (HttpClient client = HttpClient.newHttpClient()) {
      for (int i = 0; i < times; i++) {
        check(client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofByteArray()).body());
      }
    }
    System.out.println(times + " responses of " + BODY.length + " bytes");
  }

  static void check(byte[] received) {
    if (!Arrays.equals(BODY, received)) {
      throw new AssertionError("other data has arrived: " + received.length + " bytes");
    }
  }

  /** Exchanges data over TCP with 127.0.0.1, by a channel and a socket, and sends a datagram. */
  static void besides() throws IOException {
    InetSocketAddress any = new InetSocketAddress("127.0.0.1", 0);
    try (ServerSocketChannel listener = ServerSocketChannel.open().bind(any)) {
      try (SocketChannel client = SocketChannel.open(listener.getLocalAddress());
          SocketChannel server = listener.accept()) {
        client.write(ByteBuffer.allocate(10));
        if (server.read(ByteBuffer.allocate(20)) != 10) {
          throw new AssertionError("TCP");
        }
      }
      try (Socket client =
              new Socket(
                  any.getAddress(), ((InetSocketAddress) listener.getLocalAddress()).getPort());
          SocketChannel server = listener.accept()) {
        client.getOutputStream().write(new byte[10]);
        if (server.read(ByteBuffer.allocate(20)) != 10) {
          throw new AssertionError("a socket");
        }
      }
    }
    try (DatagramChannel receiver = DatagramChannel.open().bind(any);
        DatagramChannel sender = DatagramChannel.open()) {
      sender.send(ByteBuffer.allocate(10), receiver.getLocalAddress());
      ByteBuffer received = ByteBuffer.allocate(20);
      if (receiver.receive(received) == null || received.position() != 10) {
        throw new AssertionError("a datagram");
      }
    }
    System.out.println("TCP with 127.0.0.1, and a datagram");
  }
}
