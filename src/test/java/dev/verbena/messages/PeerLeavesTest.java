package dev.verbena.messages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.EventType;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PortSpace;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.time.Time;
import dev.verbena.soft.InSimulation;
import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairState;
import dev.verbena.verbs.QueuePair;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

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
      Endpoint endpoint = server.endpoint();
      assertThrows(
          IllegalArgumentException.class,
          () -> endpoint.disconnectAfter(() -> true, Duration.ofNanos(-1)));
      endpoint.disconnectAfter(() -> true, Duration.ofMillis(10));
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

  /** The peer is not connected yet, and ends by REJ instead of DREQ. */
  @Test
  @InSimulation
  @EnabledForJreRange(minVersion = 24)
  void peerThatEndsBeforeItReceivesTheRtuRejects() throws Exception {
    Duration delay = Duration.ofMillis(10);
    try (SoftHosts hosts = SoftHosts.create();
        Listener listener =
            hosts.call(() -> Listener.open(new InetSocketAddress(hosts.serverAddress(), 0)))) {
      FutureTask<Connection> connecting =
          new FutureTask<>(
              () -> hosts.call(() -> Connection.connect(listener.address().orElseThrow())));
      hosts.faults().delay(delay);
      Time.daemon().start(connecting);
      try (Endpoint request = listener.take()) {
        var _ = request.id().queues().createQueuePair(QueuePairCapacity.of(4));
        request.id().accept(ConnectionParameters.DEFAULT, new byte[0]);
        // The REP has arrived there, the RTU has not arrived here.
        Await.pass(delay.multipliedBy(3).dividedBy(2), "the peer is established");
      }
      try (Connection connection = Time.get(connecting, Await.LIMIT.toNanos())) {
        long begin = Time.now();
        var end = assertThrows(ConnectionException.class, connection::receive);
        assertEquals(EventType.REJECTED, end.event().type());
        assertTrue(end.isTransient(), "a new connection may succeed");
        assertEquals(end.event(), connection.endpoint().end().orElseThrow());
        assertThrows(ConnectionException.class, () -> connection.send(new byte[1]));
        assertTrue(Time.now() - begin < Duration.ofSeconds(1).toNanos(), "waits for the cause");
      }
    }
  }

  /** Of a queue pair that librdmacm did not create the program sends the RTU. */
  @Test
  @InSimulation
  @EnabledForJreRange(minVersion = 24)
  void peerThatEndsBeforeTheProgramSendsTheRtuRejects() throws Exception {
    try (SoftHosts hosts = SoftHosts.create();
        Listener listener =
            hosts.call(() -> Listener.open(new InetSocketAddress(hosts.serverAddress(), 0)))) {
      InetSocketAddress address = listener.address().orElseThrow();
      FutureTask<Endpoint> accepting =
          new FutureTask<>(
              () -> {
                Endpoint request = listener.take();
                var _ = request.id().queues().createQueuePair(QueuePairCapacity.of(4));
                request.id().accept(ConnectionParameters.DEFAULT, new byte[0]);
                return request;
              });
      Time.daemon().start(accepting);
      try (Endpoint client =
          hosts.call(() -> Endpoint.resolve(PortSpace.TCP, null, address, Await.LIMIT))) {
        var parameters = ConnectionParameters.DEFAULT.withQueuePairNumber(7);
        ConnectionEvent response = client.connect(parameters, new byte[0], Await.LIMIT);
        assertEquals(EventType.CONNECT_RESPONSE, response.type());
        Time.get(accepting, Await.LIMIT.toNanos()).close();
        var end = client.awaitEnd(Deadline.after(Await.LIMIT));
        assertEquals(EventType.REJECTED, end.orElseThrow().type());
      }
    }
  }
}
