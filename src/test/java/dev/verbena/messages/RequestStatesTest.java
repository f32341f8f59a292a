package dev.verbena.messages;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.soft.Faults;
import dev.verbena.soft.InSimulation;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The receive requests, places and memory of requests in each state, as clients observe them. */
class RequestStatesTest extends RequestFixture {
  private static final Duration SOON = Await.LIMIT;
  private static final int LIMIT = 4;

  /** The answers that are sent, or begun, at a time. */
  private static final int PLACES = 3 * LIMIT;

  /** The receive requests of {@link RequestPeer}. */
  private static final int RECEIVES = 64;

  private static final int LARGE = 4096;
  private static final ConnectionSettings SETTINGS =
      DEFAULT.withSends(LIMIT).withMessageSize(512).withTimeout(SOON).withCopies(LARGE);

  private Thread runner;

  private RequestServer server(
      RequestServer.Handler handler, ConnectionSettings settings, boolean inExecutor)
      throws Exception {
    RequestServer server =
        hosts.call(
            () ->
                RequestServer.builder(new InetSocketAddress(hosts.serverAddress(), 0), handler)
                    .settings(settings)
                    .clients(2)
                    .largest(LARGE)
                    .executor(inExecutor ? executor : null)
                    .open());
    opened.add(server);
    FutureTask<@Nullable Void> running =
        new FutureTask<>(
            () -> {
              server.run();
              return null;
            });
    runner = Thread.ofVirtual().start(running);
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

  private static void send(RequestPeer peer, long id, int milliseconds) throws Exception {
    RequestFrame.write(peer.memory.memory(), 0, id, RequestFrame.REQUEST, milliseconds);
    peer.sendFrame(RequestFrame.HEADER);
    assertEquals(true, peer.awaitSent(), "request " + id);
  }

  /**
   * A client that gives up requests sends as many others, while the handlers run; then one of its
   * receive requests is no longer spare. What was given up has no second answer.
   */
  @Test
  void eachRequestThatIsGivenUpMakesRoomForOneOther() throws Exception {
    Semaphore go = new Semaphore(0);
    AtomicInteger begun = new AtomicInteger();
    RequestServer server =
        server(
            request -> {
              begun.incrementAndGet();
              go.acquire();
              request.answer(0);
            },
            SETTINGS,
            true);
    opened.add(() -> go.release(1000)); // If an assertion fails.
    RequestPeer peer = peer(server);
    for (int round = 1; round <= 4; round++) {
      for (int i = 0; i < LIMIT; i++) {
        send(peer, i, 1);
      }
      for (int i = 0; i < LIMIT; i++) {
        assertEquals(RequestFrame.EXPIRY, peer.answer());
      }
      for (int i = 0; i < LIMIT; i++) {
        send(peer, LIMIT + i, 0);
      }
      int all = 2 * LIMIT * round;
      Await.until("all handlers", () -> begun.get() == all);
      go.release(2 * LIMIT);
      for (int i = 0; i < LIMIT; i++) {
        assertEquals(RequestFrame.ANSWER, peer.answer());
      }
      Await.until("the handlers to return", () -> go.availablePermits() == 0);
    }
    send(peer, 0, 0);
    Await.until("the handler", () -> begun.get() == 8 * LIMIT + 1);
    assertThrows(RdmaTimeoutException.class, () -> server.stop(Duration.ofMillis(50)));
    go.release();
    assertEquals(RequestFrame.ANSWER, peer.answer());
    server.stop(SOON);
  }

  @Test
  void limitOfTheServerAppliesToTheClient() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    RequestServer server =
        server(
            request -> {
              go.await();
              request.answer(0);
            },
            SETTINGS.withSends(1),
            false);
    opened.add(go::countDown);
    RequestClient client = client(server);
    CompletableFuture<byte[]> _ = client.submit(new byte[1], SOON);
    var late =
        assertThrows(
            RdmaTimeoutException.class, () -> client.call(new byte[1], Duration.ofMillis(10)));
    assertTrue(late.getMessage().contains("1 requests are under way"), late.getMessage());
  }

  @Test
  void memoryOfAnotherDomainIsRefused() throws Exception {
    RequestServer server = server(request -> request.answer(0), SETTINGS, false);
    RequestClient client = client(server);
    MemoryRegion foreign = server.domain().allocateMemory(8, AccessFlag.LOCAL_WRITE);
    MemorySegment bytes = MemorySegment.ofArray(new byte[8]);
    assertThrows(IllegalArgumentException.class, () -> client.call(foreign, 0, 8, bytes, SOON));
    assertThrows(IllegalArgumentException.class, () -> client.call(bytes, foreign, 0, 8, SOON));
  }

  /** The network loses it. */
  @Test
  void stopWaitsForAnAnswerThatHasNotArrived() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    RequestServer server =
        server(
            request -> {
              Faults _ = hosts.faults().partition("client", "server");
              request.answer(1);
              begun.countDown();
            },
            SETTINGS,
            false);
    CompletableFuture<byte[]> answer = client(server).submit(new byte[1], SOON);
    begun.await();
    assertThrows(RdmaTimeoutException.class, () -> server.stop(Duration.ofMillis(100)));
    Faults _ = hosts.faults().heal();
    server.stop(SOON);
    assertEquals(1, answer.get().length);
  }

  @Test
  @InSimulation
  void stopLeavesAHandlerWhoseRequestWasGivenUp() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    RequestServer server =
        server(
            request -> {
              go.await();
              request.answer(0);
            },
            SETTINGS,
            true);
    opened.add(go::countDown);
    RequestPeer peer = peer(server);
    send(peer, 0, 1);
    assertEquals(RequestFrame.EXPIRY, peer.answer());
    server.stop(Duration.ofSeconds(10));
    assertEquals(1, go.getCount());
  }

  /** The client has no memory for answers, so that requests wait for places of theirs. */
  @Test
  void requestsThatWaitForPlacesEndWithTheServer() throws Exception {
    AtomicInteger begun = new AtomicInteger();
    RequestServer server =
        server(
            request -> {
              begun.incrementAndGet();
              request.answer(0);
            },
            SETTINGS.withParameters(ConnectionParameters.DEFAULT), // Sends again without end.
            false);
    RequestPeer peer = peer(server);
    RequestClient polite = client(server);
    for (int i = 0; i < RECEIVES; i++) { // Each answer is posted alone, and its place free again.
      send(peer, i, 0);
      assertEquals(RequestFrame.ANSWER, peer.answer());
    }
    for (int i = 0; i < PLACES + LIMIT; i++) {
      send(peer, i, 0);
    }
    Await.until("all that have a place", () -> begun.get() >= RECEIVES + PLACES);
    assertEquals(0, polite.call(new byte[1], SOON).length); // Behind all others.
    assertEquals(RECEIVES + PLACES + 1, begun.get());
    runner.interrupt();
    runner.join();
    server.close();
    peer.close();
    polite.close();
    assertEquals(RECEIVES + PLACES + 1, begun.get());
    assertEquals(Map.of("context", 2), hosts.network().openObjects());
  }

  /** One client has a part of the memory for large requests, and others the rest. */
  @Test
  void largeRequestsOfOneClientLeaveMemoryToOthers() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    CountDownLatch begun = new CountDownLatch(1);
    RequestServer server =
        server(
            request -> {
              if (request.bytes().byteSize() == 64) {
                begun.countDown();
                go.await();
              }
              request.answer(1);
            },
            SETTINGS.withCopies(4 * LARGE),
            true);
    opened.add(go::countDown); // If an assertion fails.
    RequestPeer peer = peer(server);
    for (int i = 0; i < LIMIT; i++) {
      peer.sendLarge(i, peer.memory.start(), 64, peer.memory.rkey());
      assertEquals(true, peer.awaitSent());
    }
    begun.await();
    RequestClient other = client(server);
    for (int i = 0; i < 2 * LIMIT; i++) {
      requireLarge(other);
    }
    go.countDown();
    for (int i = 0; i < LIMIT; i++) {
      assertEquals(RequestFrame.ANSWER, peer.answer());
    }
  }

  private static void requireLarge(RequestClient client) throws InterruptedException {
    MemorySegment answer = MemorySegment.ofArray(new byte[8]);
    assertEquals(1, client.call(MemorySegment.ofArray(new byte[LARGE]), answer, SOON));
  }

  /** The handler closes the memory of its answer, which it must not. */
  @Test
  void requestWhoseAnswerCannotBeSentKeepsNoMemory() throws Exception {
    RequestServer[] servers = new RequestServer[1];
    AtomicInteger begun = new AtomicInteger();
    servers[0] =
        server(
            request -> {
              if (begun.incrementAndGet() > 1) {
                request.answer(1);
                return;
              }
              try (MemoryRegion region = servers[0].domain().allocateMemory(LARGE)) {
                request.answer(region, 0, LARGE, null);
              }
            },
            SETTINGS,
            false);
    RequestClient client = client(servers[0]);
    MemorySegment answer = MemorySegment.ofArray(new byte[LARGE]);
    MemoryRegion bytes =
        client.domain().allocateMemory(LARGE, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
    FutureTask<Long> call =
        Background.inBackground(() -> client.call(bytes, 0, LARGE, answer, SOON));
    assertThrows(ExecutionException.class, call::get);
    RequestClient next = client(servers[0]);
    for (int i = 0; i < 2 * LIMIT; i++) {
      requireLarge(next);
    }
  }
}
