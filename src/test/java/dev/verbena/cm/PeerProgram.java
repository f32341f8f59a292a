package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.testing.Await;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;

/** A program of rdma-core's with two roles, and Java that can take the place of either. */
interface PeerProgram {
  Duration SOON = Await.LIMIT;

  String name();

  /** The port that servers listen on. */
  int port();

  default PortSpace portSpace() {
    return PortSpace.TCP;
  }

  /** The command of C's server. */
  List<String> server(Host host);

  /** The command of C's client. */
  List<String> client(Host host, Host server);

  /** What both print when all went well. */
  String proof();

  /** Does what C's client does. */
  void connect(InetAddress from, InetSocketAddress server) throws Exception;

  /** Does what C's server does. */
  void serve(Listener listener) throws Exception;

  /** Connects as soon as somebody listens. */
  static Connection connect(InetAddress from, InetSocketAddress to, int messageSize)
      throws Exception {
    ConnectionSettings settings =
        ConnectionSettings.DEFAULT
            .withMessageSize(messageSize)
            .withReceives(16)
            .withLocalAddress(new InetSocketAddress(from, 0))
            .withTimeout(SOON);
    return asSoonAsSomebodyListens(() -> Connection.connect(to, settings));
  }

  /** Something that fails as long as nobody listens. */
  interface Attempt<T> {
    T make() throws Exception;
  }

  static <T> T asSoonAsSomebodyListens(Attempt<T> attempt) throws Exception {
    while (true) {
      try {
        return attempt.make();
      } catch (ConnectionException e) {
        ConnectionEvent event = e.event();
        boolean nobodyListens =
            event.id().isDatagram()
                ? event.type() == EventType.UNREACHABLE
                : event.rejectReason().filter(RejectReason.INVALID_SERVICE_ID::equals).isPresent();
        if (!nobodyListens) {
          throw e;
        }
        Await.pass(Duration.ofMillis(250), "nobody listens yet");
      }
    }
  }

  static Connection accept(Listener listener, int messageSize) throws Exception {
    return Connection.accept(
        request(listener),
        ConnectionSettings.DEFAULT.withMessageSize(messageSize).withReceives(16).withTimeout(SOON));
  }

  /**
   * Sends the message after which a C program disconnects, maybe before its device has sent the
   * acknowledgement. Its exit status tells whether it had the message.
   */
  static void sendLast(Connection client, byte[] message) throws Exception {
    try {
      client.send(message);
    } catch (ConnectionException e) {
      assertEquals(EventType.DISCONNECTED, e.event().type(), e::toString);
    }
  }

  static Endpoint request(Listener listener) throws Exception {
    Endpoint request = listener.poll(SOON);
    if (request == null) {
      throw new AssertionError("nobody connected to " + listener);
    }
    return request;
  }
}
