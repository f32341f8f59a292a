package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.EventType;
import dev.verbena.cm.Listener;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.testing.Await;
import dev.verbena.testing.ForkedJvm;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The end of a JVM with a device over UDP ends its connections. */
@Tag("host")
class UdpExitTest {
  private static final String SERVER = "127.0.0.1";
  private static final String CLIENT = "127.0.0.2";
  private static final int SERVICE = 7471;

  /** A client that ends without closing anything. */
  static final class Leaving {
    private Leaving() {}

    /** Sends a message, and ends in some way. */
    public static void main(String[] args) throws Exception {
      SoftNetwork network =
          SoftNetwork.overUdp(UdpNetworkTest.at(CLIENT, Integer.parseInt(args[0])));
      Connection connection =
          network.call(
              () ->
                  Connection.connect(
                      UdpNetworkTest.at(SERVER, SERVICE),
                      ConnectionSettings.DEFAULT.withTimeout(Await.LIMIT)));
      connection.send(new byte[] {42});
      switch (args[1]) {
        case "exit" -> System.exit(0);
        case "close" -> network.close();
        default -> {}
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"return", "exit", "close"})
  void thePeerIsToldOfTheEnd(String way) throws Exception {
    int port = UdpNetworkTest.freePort();
    try (SoftNetwork network = SoftNetwork.overUdp(UdpNetworkTest.at(SERVER, port));
        Listener listener = network.call(() -> Listener.open(UdpNetworkTest.at(SERVER, SERVICE)))) {
      FutureTask<String> client =
          new FutureTask<>(
              () ->
                  new ForkedJvm()
                      .withNativeAccess()
                      .run(Leaving.class, Integer.toString(port), way)
                      .succeeded());
      Thread.ofVirtual().start(client);
      try (Connection server = Connection.accept(listener)) {
        assertArrayEquals(new byte[] {42}, server.receive());
        ConnectionEvent end =
            Await.value(() -> "the end", () -> server.endpoint().end().orElse(null));
        assertEquals(EventType.DISCONNECTED, end.type());
        client.get();
      }
    }
  }
}
