package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairState;
import dev.verbena.verbs.QueuePair;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** What happens to requests when the peer disconnects. */
class PeerLeavesTest {
  private static QueuePair queuePair(Connection connection) {
    return connection.endpoint().id().queuePair().orElseThrow();
  }

  private static void awaitState(Connection connection, QueuePairState state) {
    Await.until(state.name(), () -> queuePair(connection).state() == state);
  }

  @Test
  void outstandingRequestsMayCompleteBeforeTheyAreFlushed() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      Connection server = hosts.server();
      AtomicBoolean outstanding = new AtomicBoolean(true);
      server.endpoint().disconnectAfter(outstanding::get, Await.LIMIT);
      hosts.client().endpoint().id().disconnect();
      Await.until("the end", () -> server.endpoint().end().isPresent());
      Await.pass(Duration.ofMillis(100), "a transition at once would follow the event, too");
      assertEquals(QueuePairState.RTS, queuePair(server).state());
      outstanding.set(false);
      awaitState(server, QueuePairState.ERR);
    }
  }

  @Test
  void outstandingRequestsAreFlushedAfterATime() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      Connection server = hosts.server();
      server.endpoint().disconnectAfter(() -> true, Duration.ofMillis(10));
      hosts.client().endpoint().id().disconnect();
      awaitState(server, QueuePairState.ERR);
    }
  }

  /** The kernel then refuses to set up the queue pair, or to accept: EINVAL. */
  @Test
  void requestWhoseClientGaveUpFailsWithItsEvent() throws Exception {
    try (SoftHosts hosts = SoftHosts.create();
        Listener listener =
            hosts.call(() -> Listener.open(new InetSocketAddress(hosts.serverAddress(), 0)))) {
      InetSocketAddress client = new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0);
      InetSocketAddress address = listener.address().orElseThrow();
      for (int i = 0; i < 20; i++) {
        Endpoint request;
        try (Endpoint asking =
            hosts.call(() -> Endpoint.resolve(PortSpace.TCP, client, address, Await.LIMIT))) {
          QueuePair _ = asking.id().queues().createQueuePair(QueuePairCapacity.of(4));
          asking.id().connect(ConnectionParameters.DEFAULT, new byte[0]);
          request = listener.take();
        }
        var gone =
            assertThrows(
                ConnectionException.class,
                () -> Connection.accept(request, ConnectionSettings.DEFAULT));
        assertEquals(EventType.REJECTED, gone.event().type());
      }
    }
  }
}
