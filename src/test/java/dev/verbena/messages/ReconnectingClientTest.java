package dev.verbena.messages;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.RdmaException;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.VerbsException;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.PortSpace;
import dev.verbena.soft.Faults;
import dev.verbena.soft.InSimulation;
import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.WorkRequestException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Clients that connect again when their server was restarted, or their device removed. */
class ReconnectingClientTest {
  private static final Duration SOON = Await.LIMIT;
  private static final int LARGE = 8192;
  private static final InetSocketAddress CLIENT =
      new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0);
  private static final ConnectionSettings SETTINGS =
      DEFAULT
          .withSends(4)
          .withMessageSize(512)
          .withTimeout(SOON)
          .withAckTimeout(AckTimeout.ofCode(10))
          .withLocalAddress(CLIENT);
  private static final ConnectionSettings AGAIN =
      SETTINGS.withReconnect(Duration.ofMillis(1), Duration.ofMillis(50));

  private final SoftHosts hosts = SoftHosts.create();
  private final AtomicInteger executed = new AtomicInteger();

  /** What a handler waits for, or null. */
  private volatile @Nullable CountDownLatch hold;

  private RequestServer server;
  private RequestClient client;

  @AfterEach
  void close() {
    client.close();
    server.close();
    hosts.close();
  }

  private void serve(int port) throws Exception {
    InetSocketAddress local = new InetSocketAddress(hosts.serverAddress(), port);
    server =
        hosts.call(
            () ->
                RequestServer.builder(
                        local,
                        request -> {
                          executed.incrementAndGet();
                          if (hold != null) {
                            hold.await();
                          }
                          request.answer(request.bytes());
                        })
                    .settings(SETTINGS)
                    .open());
    RequestServer _ = server.start();
  }

  private void connect(ConnectionSettings settings) throws Exception {
    InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
    client = hosts.call(() -> RequestClient.connect(address, settings));
  }

  private void restart() throws Exception {
    int port = server.port();
    server.close();
    serve(port);
  }

  private byte[] call(int value) throws Exception {
    return hosts.call(() -> client.call(new byte[] {(byte) value}, SOON));
  }

  /** As {@link #call}; the end of the connection before may be heard of by this call. */
  private byte[] callAfterRestart(int value) throws Exception {
    while (true) {
      try {
        return call(value);
      } catch (RdmaException e) {
        assertTrue(e.isTransient(), e::toString);
      }
    }
  }

  @Test
  void nextCallConnectsAgain() throws Exception {
    serve(0);
    connect(AGAIN);
    MemoryRegion region =
        client.domain().allocateMemory(4096, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
    MemorySegment answer = MemorySegment.ofArray(new byte[4096]);
    assertEquals(4096, hosts.call(() -> client.call(region, 0, 4096, answer, SOON)));
    Map<String, Integer> before = hosts.network().openObjects();
    for (int i = 0; i < 20; i++) {
      assertArrayEquals(new byte[] {(byte) i}, callAfterRestart(i));
      region.memory().set(ValueLayout.JAVA_BYTE, 4095, (byte) i);
      assertEquals(4096, hosts.call(() -> client.call(region, 0, 4096, answer, SOON)));
      assertEquals((byte) i, answer.get(ValueLayout.JAVA_BYTE, 4095));
      restart();
    }
    assertArrayEquals(new byte[] {1}, callAfterRestart(1));
    assertEquals(42, executed.get());
    assertEquals(4096, hosts.call(() -> client.call(region, 0, 4096, answer, SOON)));
    Await.until(
        () -> before + " and not " + hosts.network().openObjects(),
        () -> hosts.network().openObjects().equals(before));
  }

  /** It has heard of the end. */
  @Test
  @InSimulation
  void idleClientConnectsAgainWithoutAFailure() throws Exception {
    serve(0);
    connect(AGAIN);
    assertEquals(1, call(1).length);
    restart();
    Await.pass(Duration.ofSeconds(1), "the event arrives");
    assertEquals(1, call(2).length);
  }

  /** No event says so. */
  @Test
  @InSimulation
  void clientOfAHostThatWasKilledConnectsAgain() throws Exception {
    serve(0);
    connect(AGAIN);
    assertEquals(1, call(1).length);
    int port = server.port();
    Faults _ = hosts.faults().kill("server");
    assertTrue(assertThrows(RdmaException.class, () -> call(1)).isTransient());
    server.close();
    var _ = hosts.network().addDevice("server", hosts.serverAddress());
    serve(port);
    assertEquals(1, call(1).length);
  }

  @Test
  @InSimulation
  void clientWhoseDeviceIsBackConnectsAgain() throws Exception {
    serve(0);
    connect(AGAIN);
    assertEquals(1, call(1).length);
    hosts.network().removeDevice("client");
    var _ = hosts.network().addDevice("client", CLIENT.getAddress());
    assertEquals(1, callAfterRestart(2).length);
  }

  @Test
  void callsUnderWayFailAndMayBeTriedAgain() throws Exception {
    serve(0);
    connect(AGAIN);
    AtomicBoolean isOver = new AtomicBoolean();
    AtomicInteger failures = new AtomicInteger();
    List<FutureTask<Integer>> callers = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      callers.add(
          Background.inBackground(
              () -> {
                int calls = 0;
                for (; !isOver.get(); calls++) {
                  try {
                    assertArrayEquals(new byte[] {(byte) calls}, call(calls));
                  } catch (RdmaException e) {
                    assertTrue(e.isTransient(), e::toString);
                    failures.incrementAndGet();
                  }
                }
                return calls;
              }));
    }
    for (int i = 0; i < 20; i++) {
      int seen = executed.get();
      Await.until("more calls", () -> executed.get() > seen + 10);
      restart();
    }
    isOver.set(true);
    for (FutureTask<Integer> caller : callers) {
      assertTrue(caller.get() > 0);
    }
    assertTrue(failures.get() > 0, "no call was under way");
  }

  @Test
  void idempotentCallsAreSentAgain() throws Exception {
    serve(0);
    connect(AGAIN.withRepeats());
    AtomicBoolean isOver = new AtomicBoolean();
    FutureTask<Void> restarting =
        Background.inBackground(
            () -> {
              for (int i = 0; i < 20; i++) {
                int seen = executed.get();
                Await.until("more calls", () -> executed.get() > seen + 10);
                restart();
              }
              isOver.set(true);
              return null;
            });
    MemorySegment answer = MemorySegment.ofArray(new byte[8]);
    while (!isOver.get()) {
      List<CompletableFuture<byte[]>> futures = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        byte[] request = {(byte) i};
        futures.add(hosts.call(() -> client.submit(request, SOON)));
      }
      assertArrayEquals(new byte[] {9}, call(9));
      MemorySegment request = MemorySegment.ofArray(new byte[] {8});
      assertEquals(1, hosts.call(() -> client.call(request, answer, SOON)));
      for (int i = 0; i < 3; i++) {
        assertArrayEquals(new byte[] {(byte) i}, futures.get(i).get());
      }
    }
    restarting.get();
  }

  @Test
  void withoutTheSettingAnEndedConnectionRemainsEnded() throws Exception {
    serve(0);
    connect(SETTINGS);
    assertEquals(1, call(1).length);
    restart();
    for (int i = 0; i < 3; i++) {
      assertTrue(assertThrows(RdmaException.class, () -> call(1)).isTransient());
    }
  }

  @Test
  void timeoutOfACallLimitsItsAttemptsToConnect() throws Exception {
    serve(0);
    connect(AGAIN);
    assertEquals(1, call(1).length);
    int port = server.port();
    server.close();
    Await.until(
        "the client to notice",
        () -> {
          RdmaException e =
              assertThrows(
                  RdmaException.class,
                  () -> hosts.call(() -> client.call(new byte[1], Duration.ofMillis(20))));
          return e instanceof RdmaTimeoutException && e.getMessage().contains("connecting again");
        });
    serve(port);
    assertEquals(1, call(1).length);
  }

  @Test
  void closeEndsAttemptsToConnect() throws Exception {
    serve(0);
    connect(AGAIN);
    assertEquals(1, call(1).length);
    server.close();
    CountDownLatch begun = new CountDownLatch(1);
    FutureTask<byte[]> calling =
        Background.inBackground(
            () -> {
              begun.countDown();
              while (true) {
                try {
                  call(1);
                } catch (RdmaException e) {
                  assertTrue(e.isTransient(), e::toString);
                }
              }
            });
    begun.await();
    Await.pass(Duration.ofMillis(100), "attempts to connect");
    assertFalse(calling.isDone());
    client.close();
    var closed = assertThrows(Exception.class, calling::get);
    assertEquals(IllegalStateException.class, closed.getCause().getClass(), closed::toString);
  }

  /** Regions of the program stay registered. */
  @Test
  void attemptsThatFailKeepNoMemory() throws Exception {
    serve(0);
    connect(AGAIN);
    assertEquals(1, call(1).length);
    MemoryRegion region =
        client.domain().allocateMemory(64, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
    MemorySegment answer = MemorySegment.ofArray(new byte[64]);
    assertEquals(64, hosts.call(() -> client.call(region, 0, 64, answer, SOON)));
    Map<String, Integer> before = hosts.network().openObjects();
    int port = server.port();
    server.close();
    for (int i = 0; i < 5; i++) {
      assertThrows(
          RdmaException.class,
          () -> hosts.call(() -> client.call(new byte[1], Duration.ofMillis(50))));
    }
    serve(port);
    assertEquals(64, hosts.call(() -> client.call(region, 0, 64, answer, SOON)));
    Await.until(
        () -> before + " and not " + hosts.network().openObjects(),
        () -> hosts.network().openObjects().equals(before));
  }

  /** As often as there is memory, and once more. */
  @Test
  void callsUnderWayOfAnEndedConnectionKeepNoMemory() throws Exception {
    serve(0);
    connect(AGAIN.withCopies(4 * LARGE));
    byte[] bytes = new byte[LARGE];
    MemorySegment answer = MemorySegment.ofArray(new byte[LARGE]);
    for (int i = 0; i < 4; i++) {
      CountDownLatch held = new CountDownLatch(1);
      hold = held;
      int seen = executed.get();
      FutureTask<Long> call =
          Background.inBackground(
              () -> hosts.call(() -> client.call(MemorySegment.ofArray(bytes), answer, SOON)));
      Await.until("a call", () -> executed.get() > seen);
      int port = server.port();
      FutureTask<Void> closing =
          Background.inBackground(
              () -> {
                server.close();
                return null;
              });
      assertThrows(ExecutionException.class, call::get);
      held.countDown();
      hold = null;
      closing.get();
      serve(port);
      assertEquals(
          LARGE, hosts.call(() -> client.call(MemorySegment.ofArray(bytes), answer, SOON)));
    }
  }

  /** And the calls under way throw the reason. */
  @Test
  void requestThatCannotBePostedEndsItsConnection() throws Exception {
    serve(0);
    connect(AGAIN);
    CountDownLatch held = new CountDownLatch(1);
    hold = held;
    CompletableFuture<byte[]> first = client.submit(new byte[1], SOON);
    CompletableFuture<byte[]> second = client.submit(new byte[1], SOON);
    Await.until("a call", () -> executed.get() == 1);
    Faults _ = hosts.faults().fillQueues("client");
    VerbsException reason = assertThrows(VerbsException.class, () -> call(1));
    assertEquals(Errno.ENOMEM, reason.errno());
    Faults _ = hosts.faults().freeQueues();
    for (var each : List.of(first, second)) {
      var failed = assertThrows(ExecutionException.class, each::get);
      assertEquals(reason.getMessage(), failed.getCause().getMessage());
    }
    held.countDown();
    hold = null;
    for (int i = 0; i < 8; i++) {
      assertEquals(1, call(1).length);
    }
  }

  @Test
  void idempotentCallThatWaitsForItsPlaceIsSentOverTheNextConnection() throws Exception {
    serve(0);
    connect(AGAIN.withRepeats());
    CountDownLatch held = new CountDownLatch(1);
    hold = held;
    List<CompletableFuture<byte[]>> futures = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      futures.add(hosts.call(() -> client.submit(new byte[1], SOON)));
    }
    FutureTask<byte[]> fifth =
        new FutureTask<>(() -> hosts.call(() -> client.submit(new byte[] {5}, SOON)).get());
    Await.waits(Thread.ofVirtual().start(fifth));
    int port = server.port();
    FutureTask<Void> closing =
        Background.inBackground(
            () -> {
              server.close();
              return null;
            });
    hold = null;
    held.countDown();
    closing.get();
    serve(port);
    assertArrayEquals(new byte[] {5}, fifth.get());
    for (var each : futures) {
      assertEquals(1, each.get().length);
    }
  }

  /** Another call may have connected again, and closed the connection, which has no event then. */
  @Test
  void callThatLearnsLateOfItsEndMayBeTriedAgain() throws Exception {
    serve(0);
    connect(SETTINGS);
    Faults _ = hosts.faults().partition("client", "server");
    var failure = assertThrows(WorkRequestException.class, () -> call(1));
    Faults _ = hosts.faults().heal();
    InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
    Endpoint endpoint = hosts.call(() -> Endpoint.resolve(PortSpace.TCP, CLIENT, address, SOON));
    ClientEnd end = new ClientEnd("a client", endpoint);
    end.fail(failure);
    end.replaced();
    endpoint.close();
    var reason = assertInstanceOf(WorkRequestException.class, end.reason());
    assertTrue(reason.isTransient(), reason::toString);
  }

  @Test
  void clientWhoseMessagesHaveNoMemoryLeavesNothing() throws Exception {
    serve(0);
    connect(SETTINGS);
    Map<String, Integer> before = hosts.network().openObjects();
    InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
    for (int call = 1; call <= 4; call++) { // Two of the client, and two of the server.
      Faults _ = hosts.faults().fail("ibv_reg_mr", call, Errno.ENOMEM);
      assertThrows(
          RdmaException.class, () -> hosts.call(() -> RequestClient.connect(address, SETTINGS)));
      Faults _ = hosts.faults().none();
    }
    assertEquals(1, call(1).length);
    Await.until(
        () -> before + " and not " + hosts.network().openObjects(),
        () -> hosts.network().openObjects().equals(before));
  }
}
