import dev.verbena.RdmaException;
import dev.verbena.cm.Listener;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;

/**
 * Sends numbers to a server that returns each, and connects again when the connection fails: the
 * server was restarted, or the device of this host was reset, or unplugged and plugged in.
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar LostDevice.java server
 * 10.9.0.2}
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar LostDevice.java client 10.9.0.2
 * 1000}
 */
public class LostDevice {
  private static final Duration FIRST = Duration.ofMillis(100);
  private static final Duration LONGEST = Duration.ofSeconds(10);

  /** A device that was lost sends nothing: the server has to ask. */
  private static final ConnectionSettings ASKS =
      ConnectionSettings.DEFAULT.withKeepAlive(Duration.ofSeconds(1));

  public static void main(String[] args) throws InterruptedException {
    if (args.length < 2 || (args[0].equals("client") && args.length < 3)) {
      System.out.println("Usage: LostDevice server ADDRESS | client ADDRESS COUNT");
      return;
    }
    InetSocketAddress server = new InetSocketAddress(args[1], 7473);
    if (args[0].equals("server")) {
      serve(server);
    } else {
      send(Integer.parseInt(args[2]), server);
    }
  }

  /** Returns what the clients send, until the program is ended. */
  private static void serve(InetSocketAddress address) throws InterruptedException {
    try (Listener listener = Listener.open(address)) {
      while (true) {
        try (Connection client = Connection.accept(listener, ASKS)) {
          for (byte[] number = client.receive(); number != null; number = client.receive()) {
            client.send(number);
          }
        } catch (RdmaException e) {
          System.out.println("a client is gone: " + e.getMessage());
        }
      }
    }
  }

  private static void send(int count, InetSocketAddress server) throws InterruptedException {
    int next = 0;
    Duration pause = FIRST;
    while (next < count) {
      // Closing the connection releases its objects, also those of a device that was lost. The next
      // one uses the device that the system then has.
      try (Connection connection = Connection.connect(server)) {
        while (next < count) {
          connection.send(ByteBuffer.allocate(4).putInt(next).array());
          if (connection.receive() == null) {
            break; // The server has closed the connection.
          }
          next++;
          pause = FIRST;
        }
      } catch (RdmaException e) {
        System.out.println("after " + next + " numbers: " + e.getMessage());
      }
      if (next < count) {
        Thread.sleep(pause);
        Duration twice = pause.multipliedBy(2);
        pause = twice.compareTo(LONGEST) < 0 ? twice : LONGEST;
      }
    }
    System.out.println(count + " numbers");
  }
}
