package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.EventType;
import dev.verbena.cm.Listener;
import dev.verbena.internal.time.Time;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.testing.Await;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/** More clients than a listener has places for connect at the same time. */
@InSimulation
@EnabledForJreRange(minVersion = 24)
@Tag("host")
class BusyListenerTest {
  private static final int CLIENTS = 1000;

  /** More than a request is repeated to a peer that does not answer. */
  private static final Duration BUSY = Duration.ofSeconds(20);

  /** When a request has been sent for the last time, and its client has not given up yet. */
  private static final Duration LAST_TRY = Duration.ofMillis(268 * 15 + 150);

  private static final ConnectionSettings SETTINGS =
      ConnectionSettings.DEFAULT
          .withTimeout(Await.LIMIT)
          .withMessageSize(64)
          .withSends(1)
          .withReceives(1);

  @Test
  void clientsWithoutAPlaceWaitForOne() throws Exception {
    try (SoftHosts hosts = SoftHosts.create();
        Listener listener = listen(hosts)) {
      List<FutureTask<Connection>> connecting = connect(hosts, listener, CLIENTS);
      Time.sleep(BUSY.toNanos());
      List<Connection> ends = new ArrayList<>();
      for (int i = 0; i < CLIENTS; i++) {
        ends.add(hosts.call(() -> Connection.accept(listener, SETTINGS)));
      }
      for (FutureTask<Connection> client : connecting) {
        ends.add(Time.get(client, Await.LIMIT.toNanos()));
      }
      ends.forEach(Connection::close);
    }
  }

  /** Its request does not occupy the server any longer. */
  @Test
  void clientThatGivesUpWithdrawsItsRequest() throws Exception {
    try (SoftHosts hosts = SoftHosts.create();
        Listener listener = listen(hosts)) {
      FutureTask<Connection> connecting = connect(hosts, listener, 1).getFirst();
      try (Endpoint request = hosts.call(listener::take)) {
        hosts.faults().partition("server", "client");
        Time.sleep(LAST_TRY.toNanos());
        hosts.faults().heal();
        var unreachable =
            assertThrows(
                ExecutionException.class, () -> Time.get(connecting, Await.LIMIT.toNanos()));
        var event = assertInstanceOf(ConnectionException.class, unreachable.getCause()).event();
        assertEquals(EventType.UNREACHABLE, event.type());
        Await.pass(Duration.ofMillis(1), "the rejection has arrived");
        var gone =
            assertThrows(ConnectionException.class, () -> Connection.accept(request, SETTINGS));
        assertEquals(EventType.REJECTED, gone.event().type());
        assertTrue(gone.isTransient());
      }
    }
  }

  private static Listener listen(SoftHosts hosts) throws Exception {
    return hosts.call(() -> Listener.open(new InetSocketAddress(hosts.serverAddress(), 0)));
  }

  private static List<FutureTask<Connection>> connect(
      SoftHosts hosts, Listener listener, int number) {
    InetSocketAddress address = listener.address().orElseThrow();
    List<FutureTask<Connection>> connecting = new ArrayList<>();
    for (int i = 0; i < number; i++) {
      FutureTask<Connection> client =
          new FutureTask<>(() -> hosts.call(() -> Connection.connect(address, SETTINGS)));
      Time.daemon().start(client);
      connecting.add(client);
    }
    return connecting;
  }
}
