import static java.nio.charset.StandardCharsets.UTF_8;

import dev.verbena.messages.Answer;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.messages.Request;
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
    if (args.length != 1) {
      System.out.println("Usage: RequestResponse ADDRESS");
      return;
    }
    InetSocketAddress local = new InetSocketAddress(args[0], 0);
    try (RequestServer server =
        RequestServer.builder(local, RequestResponse::handle).settings(SETTINGS).open().start()) {
      InetSocketAddress address = new InetSocketAddress(args[0], server.port());
      try (RequestClient client = RequestClient.connect(address, SETTINGS)) {
        System.out.println(new String(client.call("one".getBytes(UTF_8), SOON), UTF_8));
        CompletableFuture<byte[]> two = client.submit("two".getBytes(UTF_8), SOON);
        CompletableFuture<byte[]> three = client.submit("three".getBytes(UTF_8), SOON);
        System.out.println(new String(three.get(), UTF_8));
        System.out.println(new String(two.get(), UTF_8));
        Printing four = new Printing();
        client.submit(MemorySegment.ofArray("four".getBytes(UTF_8)), SOON, four);
        while (!four.isDone) {
          client.poll(SOON);
        }
      }
    }
  }

  /** Is called by poll, or by a thread of the client. */
  private static final class Printing implements RequestClient.Callback {
    private volatile boolean isDone;

    @Override
    public void answered(Answer answer) {
      System.out.println(new String(answer.bytes().toArray(ValueLayout.JAVA_BYTE), UTF_8));
      isDone = true;
    }

    @Override
    public void failed(RuntimeException reason) {
      System.out.println(reason);
      isDone = true;
    }
  }

  private static void handle(Request request) {
    String text = new String(request.bytes().toArray(ValueLayout.JAVA_BYTE), UTF_8);
    request.answer(MemorySegment.ofArray(text.toUpperCase().getBytes(UTF_8)));
  }
}
