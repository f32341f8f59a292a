package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.EventType;
import dev.verbena.cm.Listener;
import dev.verbena.internal.time.Time;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.messages.RequestClient;
import dev.verbena.messages.RequestServer;
import dev.verbena.testing.Await;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
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
  void clientWithoutAnAnswerWithdrawsItsRequestAndSendsAnother() throws Exception {
    try (SoftHosts hosts = SoftHosts.create();
        Listener listener = listen(hosts)) {
      FutureTask<Connection> connecting = connect(hosts, listener, 1).getFirst();
      try (Endpoint request = requestThatIsGivenUp(hosts, listener)) {
        try (Connection _ = hosts.call(() -> Connection.accept(listener, SETTINGS));
            Connection _ = Time.get(connecting, Await.LIMIT.toNanos())) {}
        var gone =
            assertThrows(ConnectionException.class, () -> Connection.accept(request, SETTINGS));
        assertEquals(EventType.REJECTED, gone.event().type());
        assertTrue(gone.isTransient());
      }
    }
  }

  @Test
  void clientOfRequestsWithoutAnAnswerSendsAnother() throws Exception {
    try (SoftHosts hosts = SoftHosts.create();
        Listener listener = listen(hosts)) {
      FutureTask<RequestClient> connecting =
          begin(hosts, () -> RequestClient.connect(address(listener), SETTINGS));
      try (Endpoint _ = requestThatIsGivenUp(hosts, listener);
          Endpoint second = hosts.call(listener::take)) {
        second.id().reject();
        var rejected = assertInstanceOf(ConnectionException.class, failure(connecting));
        assertEquals(EventType.REJECTED, rejected.event().type());
      }
    }
  }

  @Test
  void clientThatIsClosedSendsNoOther() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      InetSocketAddress any = new InetSocketAddress(hosts.serverAddress(), 0);
      RequestServer server = hosts.call(() -> RequestServer.builder(any, _ -> {}).open());
      InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
      ConnectionSettings again = SETTINGS.withReconnect(Duration.ofMillis(1), Duration.ofMillis(1));
      RequestClient client = hosts.call(() -> RequestClient.connect(address, again));
      server.close();
      Time.sleep(Duration.ofMillis(100).toNanos());
      try (Listener listener = hosts.call(() -> Listener.open(address))) {
        FutureTask<byte[]> call = begin(hosts, () -> client.call(new byte[1], Await.LIMIT));
        try (Endpoint _ = requestThatIsGivenUp(hosts, listener)) {
          client.close();
          long start = Time.now();
          assertInstanceOf(IllegalStateException.class, failure(call));
          assertTrue(Time.now() - start < Duration.ofSeconds(1).toNanos());
        }
      }
    }
  }

  @Test
  void silenceUntilTheTimeoutIsReportedWithTheNumberOfAttempts() throws Exception {
    try (SoftHosts hosts = SoftHosts.create();
        Listener listener = listen(hosts)) {
      Duration timeout = Duration.ofMinutes(2);
      FutureTask<Connection> connecting =
          begin(hosts, () -> Connection.connect(address(listener), SETTINGS.withTimeout(timeout)));
      RdmaTimeoutException late;
      try (Endpoint _ = hosts.call(listener::take)) {
        hosts.faults().partition("server", "client");
        late = assertInstanceOf(RdmaTimeoutException.class, failure(connecting));
      }
      assertEquals(
          "connecting to %s, in 2 attempts: not completed within 120 s"
              .formatted(address(listener)),
          late.getMessage());
      assertEquals(timeout, late.timeout());
      var silence = assertInstanceOf(ConnectionException.class, late.getCause());
      assertEquals(EventType.UNREACHABLE, silence.event().type());
    }
  }

  /** Takes a request whose client, which receives nothing, has sent it for the last time. */
  private static Endpoint requestThatIsGivenUp(SoftHosts hosts, Listener listener)
      throws Exception {
    Endpoint request = hosts.call(listener::take);
    hosts.faults().partition("server", "client");
    Time.sleep(LAST_TRY.toNanos());
    hosts.faults().heal();
    return request;
  }

  private static Listener listen(SoftHosts hosts) throws Exception {
    return hosts.call(() -> Listener.open(new InetSocketAddress(hosts.serverAddress(), 0)));
  }

  private static List<FutureTask<Connection>> connect(
      SoftHosts hosts, Listener listener, int number) {
    List<FutureTask<Connection>> connecting = new ArrayList<>();
    for (int i = 0; i < number; i++) {
      connecting.add(begin(hosts, () -> Connection.connect(address(listener), SETTINGS)));
    }
    return connecting;
  }

  private static InetSocketAddress address(Listener listener) {
    return listener.address().orElseThrow();
  }

  private static <T> FutureTask<T> begin(SoftHosts hosts, Callable<T> connecting) {
    FutureTask<T> client = new FutureTask<>(() -> hosts.call(connecting));
    Time.daemon().start(client);
    return client;
  }

  private static Throwable failure(FutureTask<?> connecting) {
    return assertThrows(ExecutionException.class, () -> Time.get(connecting, Await.LIMIT.toNanos()))
        .getCause();
  }
}
