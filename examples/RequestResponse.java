import static java.nio.charset.StandardCharsets.UTF_8;

import dev.verbena.messages.ConnectionSettings;
import dev.verbena.messages.RequestClient;
import dev.verbena.messages.RequestServer;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * Requests and responses: a server that turns text to upper case, and a client.
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar RequestResponse.java 10.9.0.1}
 */
public class RequestResponse {
  private static final ConnectionSettings SETTINGS =
      ConnectionSettings.DEFAULT.withMessageSize(1024).withSends(8);
  private static final Duration SOON = Duration.ofSeconds(10);

  public static void main(String[] args) throws Exception {
    InetSocketAddress local = new InetSocketAddress(args[0], 0);
    Thread serving;
    try (RequestServer server = RequestServer.open(local, SETTINGS, 100, RequestResponse::answer)) {
      serving = Thread.ofPlatform().start(() -> run(server));
      InetSocketAddress address = new InetSocketAddress(args[0], server.port());
      try (RequestClient client = RequestClient.connect(address, SETTINGS)) {
        System.out.println(new String(client.call("one".getBytes(UTF_8), SOON), UTF_8));
        CompletableFuture<byte[]> two = client.submit("two".getBytes(UTF_8), SOON);
        CompletableFuture<byte[]> three = client.submit("three".getBytes(UTF_8), SOON);
        System.out.println(new String(three.get(), UTF_8));
        System.out.println(new String(two.get(), UTF_8));
      }
    }
    serving.join();
  }

  /** Writes the answer, and returns its length. */
  private static int answer(MemorySegment request, MemorySegment answer) {
    byte[] text = request.toArray(ValueLayout.JAVA_BYTE);
    byte[] upper = new String(text, UTF_8).toUpperCase().getBytes(UTF_8);
    MemorySegment.copy(upper, 0, answer, ValueLayout.JAVA_BYTE, 0, upper.length);
    return upper.length;
  }

  private static void run(RequestServer server) {
    try {
      server.run(); // until the server is closed
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
