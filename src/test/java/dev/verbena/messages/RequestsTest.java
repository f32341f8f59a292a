package dev.verbena.messages;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.EventType;
import dev.verbena.cm.Listener;
import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.WorkRequestException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Requests and their answers. */
class RequestsTest {
  private static final Duration SOON = Await.LIMIT;
  private static final InetSocketAddress CLIENT =
      new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0);
  private static final ConnectionSettings SETTINGS =
      DEFAULT
          .withSends(4)
          .withMessageSize(512)
          .withTimeout(SOON)
          .withAckTimeout(AckTimeout.ofCode(10));

  private final SoftHosts hosts = SoftHosts.create();
  private final ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
  private final List<AutoCloseable> opened = new ArrayList<>();

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable one : opened.reversed()) {
      one.close();
    }
    executor.close();
    hosts.close();
  }

  /** The request, with each byte plus one. */
  private static int plusOne(MemorySegment request, MemorySegment answer) {
    for (long i = 0; i < request.byteSize(); i++) {
      answer.set(ValueLayout.JAVA_BYTE, i, (byte) (request.get(ValueLayout.JAVA_BYTE, i) + 1));
    }
    return (int) request.byteSize();
  }

  private RequestServer server(RequestServer.Handler handler, boolean inExecutor) throws Exception {
    RequestServer server =
        hosts.call(
            () ->
                RequestServer.open(
                    new InetSocketAddress(hosts.serverAddress(), 0),
                    SETTINGS,
                    3,
                    1 << 20,
                    handler,
                    inExecutor ? executor : null));
    opened.add(server);
    var _ =
        executor.submit(
            () -> {
              server.run();
              return null;
            });
    return server;
  }

  private RequestClient client(RequestServer server) throws Exception {
    return client(server, SETTINGS);
  }

  private RequestClient client(RequestServer server, ConnectionSettings settings) throws Exception {
    InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
    RequestClient client =
        hosts.call(() -> RequestClient.connect(address, settings.withLocalAddress(CLIENT)));
    opened.add(client);
    return client;
  }

  @Test
  void callsAreAnswered() throws Exception {
    RequestClient client = client(server(RequestsTest::plusOne, false));
    assertEquals(4, client.limit());
    assertEquals(512, client.messageSize());
    MemorySegment answer = MemorySegment.ofArray(new byte[512]);
    for (int i = 0; i < 100; i++) {
      assertArrayEquals(new byte[] {(byte) (i + 1)}, client.call(new byte[] {(byte) i}, SOON));
      byte[] longest = new byte[512];
      longest[511] = (byte) i;
      assertEquals(512, client.call(MemorySegment.ofArray(longest), answer, SOON));
      assertEquals((byte) (i + 1), answer.get(ValueLayout.JAVA_BYTE, 511));
    }
    assertEquals(0, client.call(new byte[0], SOON).length);
    var tooLong =
        assertThrows(IllegalArgumentException.class, () -> client.call(new byte[513], SOON));
    assertTrue(tooLong.getMessage().contains("513"), tooLong.getMessage());
    assertThrows(
        IndexOutOfBoundsException.class,
        () -> client.call(MemorySegment.ofArray(new byte[9]), answer.asSlice(0, 8), SOON));
    assertThrows(NullPointerException.class, () -> client.call((byte[]) null, SOON));
    assertEquals(1, client.call(new byte[1], SOON).length);
  }

  @Test
  void answersComeInAnyOrder() throws Exception {
    CountDownLatch second = new CountDownLatch(1);
    RequestClient client =
        client(
            server(
                (request, answer) -> {
                  if (request.get(ValueLayout.JAVA_BYTE, 0) == 1) {
                    second.await();
                  }
                  return plusOne(request, answer);
                },
                true));
    CompletableFuture<byte[]> first = client.submit(new byte[] {1}, SOON);
    FutureTask<byte[]> blocking = Background.inBackground(() -> client.call(new byte[] {1}, SOON));
    assertArrayEquals(new byte[] {3}, client.call(new byte[] {2}, SOON));
    assertArrayEquals(new byte[] {3}, client.submit(new byte[] {2}, SOON).get());
    second.countDown();
    assertArrayEquals(new byte[] {2}, first.get());
    assertArrayEquals(new byte[] {2}, blocking.get());
  }

  @Test
  void failureOfTheHandlerIsThatOfTheCall() throws Exception {
    RequestClient client =
        client(
            server(
                (request, answer) -> {
                  throw new IllegalStateException("no such key");
                },
                false));
    for (int i = 0; i < 10; i++) {
      var failed = assertThrows(RequestFailedException.class, () -> client.call(new byte[1], SOON));
      assertEquals("no such key", failed.getMessage());
    }
    var failed =
        assertThrows(ExecutionException.class, () -> client.submit(new byte[1], SOON).get());
    assertEquals("no such key", failed.getCause().getMessage());
    MemorySegment answer = MemorySegment.ofArray(new byte[8]);
    assertThrows(
        RequestFailedException.class,
        () -> client.call(MemorySegment.ofArray(new byte[1]), answer, SOON));
  }

  @Test
  void lateAnswersAreDroppedAndTheirPlacesAreUsedAgain() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    RequestServer server =
        server(
            (request, answer) -> {
              if (request.get(ValueLayout.JAVA_BYTE, 0) == 7) {
                go.await();
              }
              return plusOne(request, answer);
            },
            true);
    RequestClient client = client(server);
    Duration shortly = Duration.ofMillis(30);
    assertThrows(RdmaTimeoutException.class, () -> client.call(new byte[] {7}, shortly));
    var late =
        assertThrows(ExecutionException.class, () -> client.submit(new byte[] {7}, shortly).get());
    assertInstanceOf(RdmaTimeoutException.class, late.getCause());
    CompletableFuture<byte[]> cancelled = client.submit(new byte[] {7}, SOON);
    cancelled.cancel(true);
    assertArrayEquals(new byte[] {2}, client.call(new byte[] {1}, SOON), "one place is left");
    CompletableFuture<byte[]> last = client.submit(new byte[] {7}, SOON);
    var full = assertThrows(RdmaTimeoutException.class, () -> client.call(new byte[] {1}, shortly));
    assertTrue(full.getMessage().contains("4 requests are under way"), full.getMessage());
    assertThrows(RdmaTimeoutException.class, () -> client.submit(new byte[] {1}, Duration.ZERO));
    go.countDown();
    assertArrayEquals(new byte[] {8}, last.get());
    for (int i = 0; i < 50; i++) {
      assertArrayEquals(new byte[] {(byte) (i + 1)}, client.call(new byte[] {(byte) i}, SOON));
    }
    List<CompletableFuture<byte[]>> four = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      four.add(client.submit(new byte[] {(byte) i}, SOON));
    }
    for (int i = 0; i < 4; i++) {
      assertArrayEquals(new byte[] {(byte) (i + 1)}, four.get(i).get());
    }
  }

  @Test
  void largeRequestsAreReadByTheServer() throws Exception {
    RequestClient client =
        client(
            server(
                (request, answer) -> {
                  answer.set(
                      ValueLayout.JAVA_LONG_UNALIGNED,
                      0,
                      request.byteSize() << 8
                          | request.get(ValueLayout.JAVA_BYTE, request.byteSize() - 1));
                  return Long.BYTES;
                },
                true));
    MemoryRegion region =
        client.domain().allocateMemory(2 << 20, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
    MemorySegment answer = MemorySegment.ofArray(new byte[8]);
    for (int i = 1; i < 10; i++) {
      long length = i * 100_000L;
      region.memory().set(ValueLayout.JAVA_BYTE, 16 + length - 1, (byte) i);
      assertEquals(8, client.call(region, 16, length, answer, SOON));
      assertEquals(length << 8 | i, answer.get(ValueLayout.JAVA_LONG_UNALIGNED, 0));
    }
    var tooLarge =
        assertThrows(
            RequestFailedException.class, () -> client.call(region, 0, 2 << 20, answer, SOON));
    assertTrue(tooLarge.getMessage().contains("exceeds the maximum"), tooLarge.getMessage());
    assertThrows(
        IndexOutOfBoundsException.class, () -> client.call(region, 1, 2 << 20, answer, SOON));
    assertEquals(8, client.call(region, 0, 1, answer, SOON));
    MemoryRegion zeroBased =
        client.domain().allocateMemory(64, AccessFlag.REMOTE_READ, AccessFlag.ZERO_BASED);
    zeroBased.memory().set(ValueLayout.JAVA_BYTE, 15, (byte) 7);
    assertEquals(8, client.call(zeroBased, 0, 16, answer, SOON));
    assertEquals(16 << 8 | 7, answer.get(ValueLayout.JAVA_LONG_UNALIGNED, 0));
  }

  @Test
  void endOfTheConnectionEndsAllCallsWithItsReason() throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    RequestServer server =
        server(
            (request, answer) -> {
              never.await();
              return 0;
            },
            true);
    RequestClient client = client(server);
    CompletableFuture<byte[]> future = client.submit(new byte[1], SOON);
    FutureTask<byte[]> blocking = Background.inBackground(() -> client.call(new byte[1], SOON));
    Await.until("the client", () -> server.clients() == 1);
    FutureTask<Void> closing =
        Background.inBackground(
            () -> {
              server.close();
              return null;
            });
    for (Future<?> each : List.of(future, blocking)) {
      var ended = assertThrows(ExecutionException.class, each::get);
      var cause = assertInstanceOf(ConnectionException.class, ended.getCause());
      assertEquals(EventType.DISCONNECTED, cause.event().type());
    }
    assertThrows(ConnectionException.class, () -> client.call(new byte[1], SOON));
    never.countDown();
    closing.get();
  }

  @Test
  void killedServerEndsAllCalls() throws Exception {
    RequestServer server = server(RequestsTest::plusOne, false);
    RequestClient client = client(server);
    assertEquals(1, client.call(new byte[1], SOON).length);
    hosts.faults().kill("server");
    var lost = assertThrows(WorkRequestException.class, () -> client.call(new byte[1], SOON));
    assertEquals(CompletionStatus.RETRY_EXC_ERR, lost.status());
    assertThrows(WorkRequestException.class, () -> client.submit(new byte[1], SOON));
  }

  @Test
  void closedClientEndsItsCalls() throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    RequestServer server =
        server(
            (request, answer) -> {
              never.await();
              return 0;
            },
            true);
    RequestClient client = client(server);
    FutureTask<byte[]> blocking = Background.inBackground(() -> client.call(new byte[1], SOON));
    CompletableFuture<byte[]> future = client.submit(new byte[1], SOON);
    client.close();
    for (Future<?> each : List.of(future, blocking)) {
      var ended = assertThrows(ExecutionException.class, each::get);
      assertInstanceOf(IllegalStateException.class, ended.getCause());
    }
    assertThrows(IllegalStateException.class, () -> client.call(new byte[1], SOON));
    never.countDown();
    Await.until("the server notices it", () -> server.clients() == 0);
    assertEquals(1, client(server, SETTINGS).call(new byte[0], SOON).length + 1);
  }

  @Test
  void onlyAsManyClientsAsThereIsRoomForAndOnlyClients() throws Exception {
    RequestServer server = server(RequestsTest::plusOne, false);
    for (int i = 0; i < 3; i++) {
      assertEquals(1, client(server).call(new byte[1], SOON).length);
    }
    var full = assertThrows(ConnectionException.class, () -> client(server));
    assertEquals(EventType.REJECTED, full.event().type());
    InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
    assertThrows(
        ConnectionException.class,
        () -> hosts.call(() -> Connection.connect(address, SETTINGS.withLocalAddress(CLIENT))));
    ((RequestClient) opened.removeLast()).close();
    Await.until("room", () -> server.clients() == 2);
    assertEquals(1, client(server).call(new byte[1], SOON).length);
  }

  @Test
  void peerThatIsNoServerIsNamed() throws Exception {
    try (Listener listener =
        hosts.call(() -> Listener.open(new InetSocketAddress(hosts.serverAddress(), 0)))) {
      FutureTask<Connection> accepting = Background.inBackground(() -> Connection.accept(listener));
      InetSocketAddress address = listener.address().orElseThrow();
      var wrong =
          assertThrows(
              IllegalStateException.class,
              () ->
                  hosts.call(
                      () -> RequestClient.connect(address, SETTINGS.withLocalAddress(CLIENT))));
      assertTrue(wrong.getMessage().contains("not a RequestServer"), wrong.getMessage());
      accepting.get().close();
    }
  }
}
