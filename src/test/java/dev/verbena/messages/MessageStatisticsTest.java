package dev.verbena.messages;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaException;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.attributes.Counter;
import dev.verbena.attributes.Statistics;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.Listener;
import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.verbs.Context;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What connections, clients and servers count. */
@Tag("host")
class MessageStatisticsTest {
  private static final ConnectionSettings SETTINGS =
      ConnectionSettings.DEFAULT.withTimeout(Await.LIMIT);

  private static long count(Context context, String name) {
    return context.statistics().messages().getOrDefault(name, 0L);
  }

  private static void assertCounts(Context context, Map<String, Long> expected) {
    Map<String, Long> all = context.statistics().messages();
    expected.forEach((name, value) -> assertEquals(value, all.get(name), name + " of " + all));
  }

  private static InetSocketAddress anyPort(SoftHosts hosts) {
    return new InetSocketAddress(hosts.serverAddress(), 0);
  }

  private static RequestClient client(SoftHosts hosts, RequestServer server) throws Exception {
    return client(hosts, server, SETTINGS);
  }

  private static RequestClient client(
      SoftHosts hosts, RequestServer server, ConnectionSettings settings) throws Exception {
    InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
    return hosts.call(
        () ->
            RequestClient.connect(
                address, settings.withLocalAddress(new InetSocketAddress("192.0.2.1", 0))));
  }

  private static RequestServer.Builder server(SoftHosts hosts, RequestServer.Handler handler) {
    return RequestServer.builder(anyPort(hosts), handler).settings(SETTINGS);
  }

  @Test
  void aDeviceWithoutConnectionsHasNoCountersOfThem() {
    try (SoftHosts hosts = SoftHosts.create()) {
      assertEquals(Map.of(), hosts.clientContext().statistics().messages());
    }
  }

  @Test
  void connectionsCountMessagesAndRequests() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      for (int i = 0; i < 3; i++) {
        hosts.client().send(new byte[8]);
        assertArrayEquals(new byte[8], hosts.server().receive());
      }
      assertCounts(
          hosts.clientContext(),
          Map.of(
              "connections_opened", 1L,
              "connections_closed", 0L,
              "connection_requests", 3L,
              "connection_requests_failed", 0L,
              "connection_messages", 0L));
      assertCounts(
          hosts.serverContext(), Map.of("connection_messages", 3L, "connection_requests", 0L));
      hosts.client().close();
      hosts.client().close();
      assertNull(hosts.server().receive());
      hosts.server().close();
      assertCounts( // That which tells the peer of the close is not the program's.
          hosts.clientContext(), Map.of("connections_closed", 1L, "connection_requests", 3L));
      assertCounts(
          hosts.serverContext(), Map.of("connections_closed", 1L, "connection_messages", 3L));
    }
  }

  @Test
  void requestsThatFailAreCounted() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      Connection client = hosts.client();
      var _ = hosts.faults().kill("server");
      assertThrows(RdmaException.class, () -> client.send(new byte[1]));
      assertCounts(
          hosts.clientContext(),
          Map.of("connection_requests", 1L, "connection_requests_failed", 1L));
    }
  }

  @Test
  void aCloseThatCannotBeToldIsNoRequestThatFails() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      hosts.client().send(new byte[1]);
      hosts.client().endpoint().id().queuePair().orElseThrow().fail();
      hosts.client().close();
      assertCounts(
          hosts.clientContext(),
          Map.of(
              "connections_closed", 1L,
              "connection_requests", 1L,
              "connection_requests_failed", 0L));
    }
  }

  @Test
  void clientsAndServersCountRequestsAndAnswers() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      try (RequestServer server =
          hosts.call(() -> server(hosts, r -> r.answer(r.bytes())).open()).start()) {
        try (RequestClient client = client(hosts, server)) {
          for (int i = 0; i < 5; i++) {
            assertEquals(1, client.call(new byte[1], Await.LIMIT).length);
          }
          assertCounts(
              hosts.clientContext(),
              Map.of(
                  "clients_connected", 1L,
                  "clients_disconnected", 0L,
                  "client_requests", 5L,
                  "client_answers", 5L,
                  "client_waits", 0L,
                  "client_timeouts", 0L));
          assertCounts(
              hosts.serverContext(),
              Map.of(
                  "served_clients_connected", 1L,
                  "served_clients_disconnected", 0L,
                  "server_requests", 5L,
                  "server_answers", 5L,
                  "server_expired", 0L));
        }
        Await.until(
            "the end of the client",
            () -> count(hosts.serverContext(), "served_clients_disconnected") == 1);
      }
      assertCounts(hosts.clientContext(), Map.of("clients_disconnected", 1L, "client_answers", 5L));
      assertCounts(
          hosts.serverContext(),
          Map.of(
              "served_clients_connected", 1L,
              "served_clients_disconnected", 1L,
              "server_answers", 5L));
    }
  }

  @Test
  void callsThatWaitAndThoseThatAreTooLateAreCounted() throws Exception {
    CountDownLatch mayAnswer = new CountDownLatch(1);
    try (SoftHosts hosts = SoftHosts.create();
        RequestServer server =
            hosts
                .call(
                    () ->
                        server(
                                hosts,
                                request -> {
                                  mayAnswer.await();
                                  request.answer(request.bytes());
                                })
                            .executor(task -> Thread.ofVirtual().start(task))
                            .open())
                .start();
        RequestClient client = client(hosts, server, SETTINGS.withSends(1))) {
      do { // A busy machine may not send it in time.
        assertThrows(
            RdmaTimeoutException.class, () -> client.call(new byte[1], Duration.ofMillis(1)));
      } while (count(hosts.clientContext(), "client_requests") == 0);
      assertEquals(1, count(hosts.clientContext(), "client_timeouts"));
      Await.until("the expiry", () -> count(hosts.serverContext(), "server_expired") == 1);
      CompletableFuture<byte[]> first = client.submit(new byte[1], Await.LIMIT);
      FutureTask<byte[]> second =
          Background.inBackground(() -> client.call(new byte[1], Await.LIMIT));
      Await.until("a wait", () -> count(hosts.clientContext(), "client_waits") > 0);
      mayAnswer.countDown();
      assertEquals(1, first.get().length);
      assertEquals(1, second.get().length);
      assertEquals(1, count(hosts.clientContext(), "client_timeouts"));
    }
  }

  @Test
  void aCallbackThatIsTooLateIsCounted() throws Exception {
    CountDownLatch mayAnswer = new CountDownLatch(1);
    try (SoftHosts hosts = SoftHosts.create()) {
      try (RequestServer server =
              hosts.call(() -> server(hosts, _ -> mayAnswer.await()).open()).start();
          RequestClient client = client(hosts, server)) {
        do { // A busy machine may not send it in time.
          CompletableFuture<byte[]> late = client.submit(new byte[1], Duration.ofMillis(1));
          Await.until("the failure", late::isCompletedExceptionally);
        } while (count(hosts.clientContext(), "client_requests") == 0);
        mayAnswer.countDown(); // The server is closed when its handler has returned.
        assertEquals(1, count(hosts.clientContext(), "client_timeouts"));
      }
      assertEquals(1, count(hosts.serverContext(), "server_expired"));
    }
  }

  @Test
  void clientsWithoutAPlaceAreCounted() throws Exception {
    try (SoftHosts hosts = SoftHosts.create();
        RequestServer server =
            hosts.call(() -> server(hosts, r -> r.answer(r.bytes())).clients(1).open()).start();
        RequestClient client = client(hosts, server)) {
      assertEquals(1, client.call(new byte[1], Await.LIMIT).length);
      assertThrows(ConnectionException.class, () -> client(hosts, server));
      assertCounts(
          hosts.serverContext(),
          Map.of("served_clients_refused", 1L, "served_clients_connected", 1L));
    }
  }

  @Test
  void allCountersHaveUnitsAndMeanings() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      hosts.client().send(new byte[1]);
      List<Counter> counters = hosts.clientContext().statistics().counters();
      assertEquals(27, counters.size(), counters::toString);
      for (Counter counter : counters) {
        assertTrue(!counter.unit().isEmpty() && !counter.description().isEmpty(), counter.name());
      }
    }
  }

  /** Starts a thread that reads; a closed context cannot be read for the first time. */
  private static FutureTask<Long> reader(Context context) {
    Statistics first = context.statistics();
    return Background.inBackground(() -> readUntilClosed(context, first));
  }

  /** Reads statistics until the context is closed, and checks that no counter ever falls. */
  private static long readUntilClosed(Context context, Statistics first) {
    Statistics before = first;
    for (long reads = 1; ; reads++) {
      Statistics now;
      try {
        now = context.statistics();
      } catch (IllegalStateException e) {
        return reads;
      }
      for (Counter change : now.since(before).counters()) {
        assertTrue(change.value() >= 0, change::toString);
      }
      before = now;
    }
  }

  private static void exchange(SoftHosts hosts, Listener listener, int messages) throws Exception {
    FutureTask<Connection> accepted =
        Background.inBackground(() -> Connection.accept(listener, SETTINGS));
    try (Connection client =
            hosts.call(
                () ->
                    Connection.connect(
                        listener.address().orElseThrow(),
                        SETTINGS.withLocalAddress(new InetSocketAddress("192.0.2.1", 0))));
        Connection server = accepted.get()) {
      for (int i = 0; i < messages; i++) {
        client.send(new byte[1]);
        assertEquals(1, server.receive().length);
      }
    }
  }

  @Test
  void sumsAreExactWhileThreadsReadConnectionsEndAndTheContextIsClosed() throws Exception {
    int connections = 20;
    int messages = 50;
    try (SoftHosts hosts = SoftHosts.create()) {
      List<FutureTask<Long>> readers = new ArrayList<>();
      Context read = hosts.serverContext().device().open();
      for (int i = 0; i < 3; i++) {
        readers.add(reader(read));
      }
      try (Listener listener = hosts.call(() -> Listener.open(anyPort(hosts)))) {
        List<FutureTask<Void>> senders = new ArrayList<>();
        for (int thread = 0; thread < 2; thread++) {
          senders.add(
              Background.inBackground(
                  () -> {
                    for (int i = 0; i < connections / 2; i++) {
                      exchange(hosts, listener, messages);
                    }
                    return null;
                  }));
        }
        for (FutureTask<Void> sender : senders) {
          sender.get();
        }
      }
      read.close();
      for (FutureTask<Long> reader : readers) {
        assertTrue(reader.get() > 0);
      }
      assertCounts(
          hosts.serverContext(),
          Map.of(
              "connections_opened", (long) connections,
              "connections_closed", (long) connections,
              "connection_messages", (long) connections * messages));
    }
  }

  @Test
  void statisticsAreReadWhileTheDeviceIsLostAndAfterwards() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      Connection client = hosts.client();
      Context read = hosts.clientContext().device().open();
      FutureTask<Long> reader = reader(read);
      client.send(new byte[1]);
      var _ = hosts.faults().loseDevice("client");
      assertThrows(RdmaException.class, () -> client.send(new byte[1]));
      assertEquals(1, count(read, "connections_opened"));
      assertTrue(read.statistics().device().get("sent_pkts") > 0);
      read.close();
      assertTrue(reader.get() > 0);
    }
  }
}
