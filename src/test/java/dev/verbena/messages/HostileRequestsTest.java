package dev.verbena.messages;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.EventType;
import dev.verbena.cm.Identifiers;
import dev.verbena.soft.Faults;
import dev.verbena.soft.InSimulation;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.testing.LoggedMessages;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.WorkRequestException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Level;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What one client or its device does harms no other client of the server. */
class HostileRequestsTest extends RequestFixture {
  private static final Duration SOON = Await.LIMIT;
  private static final int LIMIT = 4;
  private static final ConnectionSettings SETTINGS =
      DEFAULT
          .withSends(LIMIT)
          .withMessageSize(512)
          .withTimeout(SOON)
          .withAckTimeout(AckTimeout.ofCode(10));

  private FutureTask<Void> running;

  private RequestServer server(int maxClients, Answering handler, boolean inExecutor)
      throws Exception {
    return server(maxClients, handler, inExecutor ? executor : null, SETTINGS);
  }

  private RequestServer server(
      int maxClients, Answering handler, @Nullable Executor caller, ConnectionSettings settings)
      throws Exception {
    RequestServer server =
        hosts.call(
            () ->
                RequestServer.builder(
                        new InetSocketAddress(hosts.serverAddress(), 0), Answering.by(handler))
                    .settings(settings)
                    .clients(maxClients)
                    .largest(Long.MAX_VALUE)
                    .executor(caller)
                    .open());
    opened.add(server);
    running =
        Background.inBackground(
            () -> {
              server.run();
              return null;
            });
    return server;
  }

  private RequestClient client(RequestServer server) throws Exception {
    return connect(server, SETTINGS);
  }

  private RequestPeer peer(RequestServer server) throws Exception {
    RequestPeer peer = RequestPeer.connect(hosts, server);
    opened.add(peer);
    return peer;
  }

  /** All places of the polite client work, and nobody else has one. */
  private void assertServes(RequestServer server, RequestClient polite) throws Exception {
    Await.until("the other client to leave", () -> running.isDone() || server.clients() == 1);
    if (running.isDone()) {
      running.get();
    }
    List<CompletableFuture<byte[]>> answers = new ArrayList<>();
    for (int i = 0; i < LIMIT; i++) {
      answers.add(polite.submit(new byte[] {3}, SOON));
    }
    for (CompletableFuture<byte[]> answer : answers) {
      assertEquals(1, answer.get().length);
    }
  }

  @Test
  void requestWhoseMemoryCannotBeRegisteredIsRefused() throws Exception {
    RequestServer server = server(2, (request, answer) -> 1, false);
    RequestClient client = client(server);
    MemoryRegion region =
        client.domain().allocateMemory(4096, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
    MemorySegment answer = MemorySegment.ofArray(new byte[8]);
    for (int i = 0; i < 2 * LIMIT; i++) {
      Faults _ = hosts.faults().fail("ibv_reg_mr", 1, Errno.ENOMEM);
      var refused =
          assertThrows(
              RequestFailedException.class, () -> client.call(region, 0, 4096, answer, SOON));
      assertTrue(refused.getMessage().contains("ENOMEM"), refused.getMessage());
    }
    assertEquals(1, client.call(region, 0, 4096, answer, SOON));
    assertServes(server, client);
  }

  @Test
  void requestBeyondTheMaximumOfAnRdmaReadIsRefused() throws Exception {
    RequestServer server = server(2, (request, answer) -> 1, false);
    RequestClient polite = client(server);
    try (RequestPeer peer = peer(server)) {
      for (long length : List.of(1L << 32, (1L << 31) + 1, Long.MAX_VALUE, -1L, Long.MIN_VALUE)) {
        peer.sendLarge(0, peer.memory.start(), length, peer.memory.rkey());
        assertEquals(RequestFrame.FAILURE, peer.answer(), Long.toString(length));
      }
    }
    assertServes(server, polite);
  }

  /** What it sends beyond its limit finds no receive request, which others have. */
  @Test
  void clientBeyondItsLimitDelaysItselfAlone() throws Exception {
    AtomicInteger begun = new AtomicInteger();
    CountDownLatch go = new CountDownLatch(1);
    RequestServer server =
        server(
            2,
            (request, answer) -> {
              if (request.byteSize() == 0) {
                begun.incrementAndGet();
                go.await();
              }
              return 1;
            },
            true);
    opened.add(go::countDown); // If an assertion fails.
    RequestClient polite = client(server);
    RequestPeer peer = peer(server);
    for (int i = 0; i < LIMIT + 3; i++) {
      peer.send(i, RequestFrame.REQUEST, RequestFrame.HEADER);
    }
    for (int i = 0; i < 100; i++) {
      assertEquals(1, polite.call(new byte[1], SOON).length);
    }
    Await.until("as many as it may", () -> begun.get() == LIMIT);
    go.countDown();
    for (int i = 0; i < LIMIT + 3; i++) {
      assertEquals(RequestFrame.ANSWER, peer.answer());
    }
    peer.close();
    assertServes(server, polite);
  }

  /** An answer may arrive before the handler's thread has done all that follows it. */
  @Test
  void clientThatCallsOneAfterTheOtherIsNeverBeyondItsLimit() throws Exception {
    ConnectionSettings one =
        SETTINGS.withSends(1).withParameters(ConnectionParameters.DEFAULT.withRnrRetryCount(0));
    try (ExecutorService threads = Executors.newFixedThreadPool(24)) {
      RequestServer server = server(24, (request, answer) -> 1, threads, one);
      List<FutureTask<Void>> callers = new ArrayList<>();
      for (int i = 0; i < 24; i++) {
        RequestClient client = connect(server, one);
        FutureTask<Void> caller =
            new FutureTask<>(
                () -> {
                  for (int call = 0; call < 2_000; call++) {
                    assertEquals(1, client.call(new byte[1], SOON).length);
                  }
                  return null;
                });
        Thread.ofPlatform().start(caller);
        callers.add(caller);
      }
      for (FutureTask<Void> caller : callers) {
        caller.get();
      }
    }
  }

  /** Each message is against the protocol. */
  @ParameterizedTest
  @ValueSource(
      ints = {
        -1,
        0,
        2,
        3,
        4,
        5,
        Integer.MIN_VALUE,
        RequestPeer.LARGE_REQUEST,
        RequestPeer.LARGE_REQUEST | RequestFrame.TARGET,
        RequestFrame.REQUEST | RequestFrame.TARGET,
        RequestFrame.REQUEST | RequestFrame.WRITTEN
      })
  void messageOfAWrongKindEndsItsClientAlone(int kind) throws Exception {
    RequestServer server = server(2, (request, answer) -> 1, false);
    RequestClient polite = client(server);
    RequestPeer peer = peer(server);
    peer.send(0, kind, RequestFrame.HEADER + 8);
    peer.awaitEnd();
    assertServes(server, polite);
  }

  /** There is never a time without a completion. */
  @Test
  void busyServerFreesThePlacesOfClientsThatLeft() throws Exception {
    RequestServer server = server(2, (request, answer) -> 1, false);
    RequestClient busy = client(server);
    AtomicBoolean over = new AtomicBoolean();
    List<FutureTask<Integer>> callers = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      callers.add(
          Background.inBackground(
              () -> {
                int calls = 0;
                for (; !over.get(); calls++) {
                  busy.call(new byte[1], SOON);
                }
                return calls;
              }));
    }
    for (int i = 0; i < 20; i++) {
      RequestClient next = client(server);
      assertEquals(1, next.call(new byte[1], SOON).length);
      next.close();
      Await.until("a place", () -> server.clients() == 1);
    }
    over.set(true);
    for (FutureTask<Integer> caller : callers) {
      assertTrue(caller.get() > 0);
    }
  }

  @Test
  @InSimulation
  void clientsLeaveAlsoIfNobodyReadsTheEventsOfTheDevice() throws Exception {
    RequestServer server = server(1, (request, answer) -> 1, false);
    assertNull(AsyncEvents.of(server.domain().context()).poll()); // The last that reads.
    for (int i = 0; i < 3; i++) {
      RequestClient client = client(server);
      assertEquals(1, client.call(new byte[1], SOON).length);
      client.close();
      Await.until("a place", () -> server.clients() == 0);
    }
  }

  @Test
  void clientsThatConnectTogetherDoNotExceedTheMaximum() throws Exception {
    RequestServer server = server(4, (request, answer) -> 1, false);
    for (int round = 0; round < 5; round++) {
      List<FutureTask<RequestClient>> connecting = new ArrayList<>();
      InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
      for (int i = 0; i < 24; i++) {
        connecting.add(
            Background.inBackground(
                () ->
                    hosts.call(
                        () -> RequestClient.connect(address, SETTINGS.withLocalAddress(CLIENT)))));
      }
      List<RequestClient> connected = new ArrayList<>();
      for (FutureTask<RequestClient> each : connecting) {
        try {
          connected.add(each.get());
        } catch (ExecutionException e) {
          assertEquals(ConnectionException.class, e.getCause().getClass());
        }
      }
      int number = connected.size();
      connected.forEach(RequestClient::close);
      assertEquals(4, number, "clients in round " + round);
      Await.until("all to leave", () -> server.clients() == 0);
    }
  }

  /** Without a queue pair of the identifier, nothing answers the response of the server. */
  @Test
  void requestsThatAreNotCompletedTakeNoPlace() throws Exception {
    InetAddress stranger = InetAddress.ofLiteral("192.0.2.3");
    var _ = hosts.network().addDevice("stranger", stranger);
    ConnectionSettings wide = SETTINGS.withSends(64);
    RequestServer server = server(2, (request, answer) -> 1, null, wide);
    InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
    byte[] terms = new RequestFrame.Terms(LIMIT, 512).toBytes();
    try (var log = new LoggedMessages("dev.verbena", Level.WARNING, "completion queue");
        EventChannel channel = hosts.call(EventChannel::open)) {
      List<ConnectionId> resolved = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        resolved.add(Identifiers.resolved(channel, stranger, address));
      }
      for (int i = 0; i < resolved.size(); i++) {
        var parameters = ConnectionParameters.DEFAULT.withQueuePairNumber(17 + i);
        resolved.get(i).connect(parameters, terms);
      }
      for (int accepted = 0; accepted < 2; ) {
        accepted += channel.take().type() == EventType.CONNECT_RESPONSE ? 1 : 0;
      }
      RequestClient first = client(server);
      RequestClient second = client(server);
      Await.until("both to be established", () -> server.clients() == 2);
      assertEquals(1, first.call(new byte[1], SOON).length);
      second.close();
      assertServes(server, first);
      assertEquals(List.of(), log.all());
    }
  }

  private static final Duration INTERVAL = Duration.ofMillis(20);

  /** Retries until the keep-alive ends the connection, or until the retry count is exhausted. */
  private static ConnectionSettings keptAlive(boolean retriesLong) {
    return retriesLong
        ? SETTINGS.withAckTimeout(AckTimeout.ofCode(31)).withKeepAlive(INTERVAL)
        : SETTINGS.withKeepAlive(INTERVAL, Await.LIMIT);
  }

  @ParameterizedTest
  @CsvSource({"false, false", "false, true", "true, false", "true, true"})
  @InSimulation
  void keepAliveFreesThePlaceOfASilentClient(boolean partitioned, boolean retriesLong)
      throws Exception {
    RequestServer server = server(2, (request, answer) -> 1, null, keptAlive(retriesLong));
    RequestClient client = client(server);
    assertEquals(1, client.call(new byte[1], SOON).length);
    Faults _ =
        partitioned ? hosts.faults().partition("client", "server") : hosts.faults().kill("client");
    Await.until("the place of the client", () -> server.clients() == 0);
    Faults _ = hosts.faults().heal();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  @InSimulation
  void keepAliveEndsTheCallsToASilentServer(boolean retriesLong) throws Exception {
    CountDownLatch arrived = new CountDownLatch(2);
    CountDownLatch go = new CountDownLatch(1);
    RequestServer server =
        server(
            1,
            (request, answer) -> {
              arrived.countDown();
              go.await();
              return 1;
            },
            true);
    RequestClient client = connect(server, keptAlive(retriesLong));
    CompletableFuture<byte[]> future = client.submit(new byte[1], SOON);
    FutureTask<byte[]> call = Background.inBackground(() -> client.call(new byte[1], SOON));
    arrived.await();
    Faults _ = hosts.faults().kill("server");
    Class<?> expected = retriesLong ? RdmaTimeoutException.class : WorkRequestException.class;
    for (var each : List.of(future, call)) {
      var failed = assertThrows(ExecutionException.class, each::get);
      assertEquals(expected, failed.getCause().getClass());
    }
    go.countDown();
  }

  /** A keep-alive would follow the read, which takes longer than an interval and its answer. */
  @Test
  void keepAliveLeavesAClientWhoseMemoryIsRead() throws Exception {
    long size = 1L << 27;
    ConnectionSettings kept = SETTINGS.withKeepAlive(INTERVAL, Duration.ofMillis(100));
    RequestServer server = server(1, (request, answer) -> 1, null, kept);
    RequestClient client = client(server);
    MemoryRegion region =
        client.domain().allocateMemory(size, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
    MemorySegment answer = MemorySegment.ofArray(new byte[8]);
    for (int i = 0; i < 3; i++) {
      assertEquals(1, client.call(region, 0, size, answer, SOON));
    }
    assertServes(server, client);
  }

  @Test
  @InSimulation
  void keepAliveLeavesAnIdleConnection() throws Exception {
    ConnectionSettings kept = SETTINGS.withKeepAlive(INTERVAL, Await.LIMIT);
    RequestServer server = server(1, (request, answer) -> 1, null, kept);
    RequestClient client = connect(server, kept);
    Await.pass(INTERVAL.multipliedBy(20), "both ends ask several times");
    assertServes(server, client);
  }

  @ParameterizedTest
  @ValueSource(strings = {"ibv_create_comp_channel", "ibv_create_cq", "rdma_listen"})
  void serverThatCannotBeOpenedLeavesNothing(String function) {
    Faults _ = hosts.faults().fail(function, 1, Errno.ENOMEM);
    assertThrows(
        VerbsException.class,
        () -> {
          RequestServer server = server(1, (request, answer) -> 1, false);
          throw new AssertionError(server + " is open");
        });
    assertEquals(Map.of("context", 2), hosts.network().openObjects());
  }

  // The client

  @Test
  void requestThatCannotBeReadKeepsNoPlace() throws Exception {
    RequestClient client = client(server(1, (request, answer) -> 1, false));
    MemorySegment closed;
    try (Arena arena = Arena.ofShared()) {
      closed = arena.allocate(8);
    }
    MemorySegment answer = MemorySegment.ofArray(new byte[8]);
    for (int i = 0; i < 2 * LIMIT; i++) {
      assertThrows(IllegalStateException.class, () -> client.call(closed, answer, SOON));
    }
    assertEquals(1, client.call(new byte[1], SOON).length);
  }

  @Test
  void answersThatNobodyWaitedForKeepNoPlace() throws Exception {
    CountDownLatch answered = new CountDownLatch(LIMIT);
    RequestServer server =
        server(
            1,
            (request, answer) -> {
              answered.countDown();
              return 1;
            },
            false);
    RequestClient client = client(server);
    for (int i = 0; i < LIMIT; i++) {
      assertThrows(RdmaTimeoutException.class, () -> client.call(new byte[1], Duration.ZERO));
    }
    answered.await();
    Await.until(
        "a free place",
        () -> {
          var missed =
              assertThrows(
                  RdmaTimeoutException.class, () -> client.call(new byte[1], Duration.ZERO));
          return !missed.getMessage().contains("limit");
        });
  }

  /** In most of the rounds a thread has a slot, and has not sent, when the connection fails. */
  @Test
  void futuresOfAConnectionThatFailsMeanwhileComplete() throws Exception {
    ConnectionSettings wide = SETTINGS.withSends(2048);
    for (int i = 0; i < 100; i++) {
      int round = i;
      RequestServer server = server(1, (request, answer) -> 1, null, wide);
      RequestClient client = connect(server, wide);
      ConcurrentLinkedQueue<CompletableFuture<byte[]>> futures = new ConcurrentLinkedQueue<>();
      List<FutureTask<Void>> submitting = new ArrayList<>();
      for (int thread = 0; thread < 16; thread++) {
        FutureTask<Void> task =
            new FutureTask<>(
                () -> {
                  while (true) {
                    futures.add(client.submit(new byte[512], SOON));
                  }
                });
        submitting.add(task);
        Thread.ofPlatform().start(task);
      }
      Await.until("some requests", () -> futures.size() > 20 + round);
      server.close();
      for (FutureTask<Void> each : submitting) {
        assertThrows(ExecutionException.class, each::get);
      }
      for (CompletableFuture<byte[]> future : futures) {
        Await.until(() -> "a future of round " + round, future::isDone);
      }
      client.close();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void futuresOfARemovedDeviceComplete(boolean lost) throws Exception {
    CountDownLatch arrived = new CountDownLatch(2);
    CountDownLatch go = new CountDownLatch(1);
    RequestServer server =
        server(
            2,
            (request, answer) -> {
              arrived.countDown();
              go.await();
              return 1;
            },
            true);
    RequestClient client = client(server);
    CompletableFuture<byte[]> future = client.submit(new byte[1], SOON);
    FutureTask<byte[]> call = Background.inBackground(() -> client.call(new byte[1], SOON));
    arrived.await(); // Otherwise the server has nothing to answer, and notices nothing.
    if (lost) {
      Faults _ = hosts.faults().loseDevice("client");
    } else {
      hosts.network().removeDevice("client");
    }
    assertThrows(ExecutionException.class, future::get);
    assertThrows(ExecutionException.class, call::get);
    go.countDown();
    Await.until("the place", () -> server.clients() == 0);
  }

  @Test
  void handlerMayInterruptTheThreadOfTheServer() throws Exception {
    RequestServer server =
        hosts.call(
            () ->
                RequestServer.builder(
                        new InetSocketAddress(hosts.serverAddress(), 0),
                        request -> {
                          boolean isInterrupted = Thread.currentThread().isInterrupted();
                          Thread.currentThread().interrupt();
                          request.answer(isInterrupted ? 1 : 0);
                        })
                    .open());
    opened.add(server);
    RequestServer _ = server.start();
    RequestClient first = client(server);
    RequestClient second = client(server);
    for (int i = 0; i < 8; i++) {
      CompletableFuture<byte[]> other = first.submit(new byte[1], SOON);
      assertEquals(0, second.call(new byte[1], SOON).length);
      assertEquals(0, other.get().length);
    }
  }

  /** The acknowledgement comes while a handler runs, for longer than it may take. */
  @Test
  @InSimulation
  void keepAliveLeavesAnIdleClientWhileHandlersRun() throws Exception {
    ConnectionSettings kept = SETTINGS.withKeepAlive(INTERVAL);
    RequestServer server =
        server(
            2,
            (request, answer) -> {
              Await.pass(INTERVAL.multipliedBy(5), "the handler runs");
              return 1;
            },
            null,
            kept);
    Faults _ = hosts.faults().delay(INTERVAL.dividedBy(10));
    RequestClient idle = client(server);
    RequestClient busy = client(server);
    for (int i = 0; i < 5; i++) {
      List<CompletableFuture<byte[]>> answers = new ArrayList<>();
      for (int call = 0; call < LIMIT; call++) {
        answers.add(busy.submit(new byte[1], SOON));
      }
      for (CompletableFuture<byte[]> answer : answers) {
        assertEquals(1, answer.get().length);
      }
    }
    assertEquals(1, idle.call(new byte[1], SOON).length);
  }

  /** The limit is one; the server knows how much of its time a call has left. */
  @Test
  @InSimulation
  void callThatHasWaitedForItsSlotGivesItBackWhenItsTimeIsOver() throws Exception {
    ConnectionSettings one = SETTINGS.withSends(1);
    CountDownLatch go = new CountDownLatch(1);
    CountDownLatch arrived = new CountDownLatch(1);
    RequestServer server =
        server(
            1,
            (request, answer) -> {
              arrived.countDown();
              if (request.byteSize() == 1) {
                Await.pass(Duration.ofSeconds(3), "it has the slot");
              } else {
                go.await();
              }
              return 1;
            },
            executor,
            one);
    opened.add(go::countDown);
    RequestClient client = connect(server, one);
    CompletableFuture<byte[]> first = client.submit(new byte[1], SOON);
    arrived.await();
    assertThrows(RdmaTimeoutException.class, () -> client.call(new byte[2], Duration.ofSeconds(4)));
    assertEquals(1, first.get().length);
    var missed =
        assertThrows(
            RdmaTimeoutException.class, () -> client.call(new byte[2], Duration.ofSeconds(1)));
    assertTrue(!missed.getMessage().contains("limit"), missed.getMessage());
  }
}
