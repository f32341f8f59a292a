import dev.verbena.RdmaException;
import dev.verbena.cm.Listener;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;

/**
 * A client that connects again when its connection fails, and whose messages are processed once:
 * each has a serial number, and the server says at the start of a connection which one it processed
 * last.
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar Reconnect.java 10.9.0.1}
 */
public class Reconnect {
  private static final int MESSAGES = 50;
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);

  /** Notices within two seconds that the server's host is gone. */
  private static final ConnectionSettings SETTINGS =
      ConnectionSettings.DEFAULT.withKeepAlive(Duration.ofSeconds(1));

  private static long processed; // by the server, which keeps it with its data
  private static long sum;

  public static void main(String[] args) throws Exception {
    if (args.length != 1) {
      System.out.println("Usage: Reconnect ADDRESS");
      return;
    }
    try (Listener listener = Listener.open(new InetSocketAddress(args[0], 0))) {
      Thread server = Thread.ofPlatform().start(() -> serve(listener));
      int connections = send(new InetSocketAddress(args[0], listener.port()));
      listener.stop();
      server.join();
      System.out.println(
          "sum " + sum + ", " + (connections > 1 ? "reconnected" : "connected once"));
    }
  }

  /** Sends the numbers 1 to MESSAGES; returns the number of connections that it took. */
  private static int send(InetSocketAddress address) throws InterruptedException {
    Duration pause = Duration.ofMillis(10);
    for (int connections = 1; ; connections++) {
      try (Connection server = Connection.connect(address, SETTINGS)) {
        long next = number(server.receive()) + 1; // Earlier ones were processed.
        while (next <= MESSAGES) {
          server.send(bytes(next));
          next = number(server.receive()) + 1;
          pause = Duration.ofMillis(10);
        }
        return connections;
      } catch (RdmaException e) {
        if (!e.isTransient()) {
          throw e; // A new connection would fail for the same reason.
        }
      }
      Thread.sleep(pause);
      pause = pause.compareTo(LONGEST_PAUSE) < 0 ? pause.multipliedBy(2) : LONGEST_PAUSE;
    }
  }

  private static void serve(Listener listener) {
    int received = 0;
    while (true) {
      try (Connection client = Connection.accept(listener)) {
        client.send(bytes(processed));
        for (byte[] message = client.receive(); message != null; message = client.receive()) {
          if (number(message) == processed + 1) {
            processed++;
            sum += number(message);
          }
          received++;
          if (received % 10 == 0) {
            client.endpoint().id().disconnect(); // This server fails often, without an answer.
            break;
          }
          client.send(bytes(processed));
        }
      } catch (RdmaException e) {
        // The client connects again.
      } catch (IllegalStateException e) {
        if (processed == MESSAGES) {
          return; // The listener is closed.
        }
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  private static byte[] bytes(long number) {
    return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
  }

  private static long number(byte[] message) {
    return message == null ? processedByNobody() : ByteBuffer.wrap(message).getLong();
  }

  private static long processedByNobody() {
    throw new IllegalStateException("the server has closed the connection in order");
  }
}
