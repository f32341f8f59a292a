package dev.verbena.messages;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.EventType;
import dev.verbena.cm.Listener;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.WorkRequestException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Requests and their answers. */
class RequestsTest extends RequestFixture {
  private static final Duration SOON = Await.LIMIT;
  private static final ConnectionSettings SETTINGS =
      DEFAULT
          .withSends(4)
          .withMessageSize(512)
          .withTimeout(SOON)
          .withAckTimeout(AckTimeout.ofCode(10));

  /** The request, with each byte plus one. */
  private static int plusOne(MemorySegment request, MemorySegment answer) {
    for (long i = 0; i < request.byteSize(); i++) {
      answer.set(ValueLayout.JAVA_BYTE, i, (byte) (request.get(ValueLayout.JAVA_BYTE, i) + 1));
    }
    return (int) request.byteSize();
  }

  private RequestServer server(Answering handler, boolean inExecutor) throws Exception {
    return open(Answering.by(handler), inExecutor);
  }

  private RequestServer open(RequestServer.Handler handler, boolean inExecutor) throws Exception {
    return serve(
        handler,
        builder -> builder.settings(SETTINGS).clients(3).executor(inExecutor ? executor : null));
  }

  private RequestClient client(RequestServer server) throws Exception {
    return connect(server, SETTINGS);
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
    assertThrows(RequestFailedException.class, () -> client.call(new byte[513], SOON));
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
    for (int i = 0; i < 2; i++) {
      assertThrows(RdmaTimeoutException.class, () -> client.call(new byte[] {7}, shortly));
      var late =
          assertThrows(
              ExecutionException.class, () -> client.submit(new byte[] {7}, shortly).get());
      assertInstanceOf(RdmaTimeoutException.class, late.getCause());
    }
    assertArrayEquals(new byte[] {2}, client.call(new byte[] {1}, SOON), "all were given up");
    for (int i = 0; i < 2; i++) { // The server has given up as many as it may.
      assertThrows(RdmaTimeoutException.class, () -> client.call(new byte[] {7}, shortly));
    }
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
  void futuresFailWhenTheirTimesAreOverInAnyOrder() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    RequestServer server =
        server(
            (request, answer) -> {
              go.await();
              return plusOne(request, answer);
            },
            true);
    RequestClient client = client(server);
    CompletableFuture<byte[]> answered = client.submit(new byte[] {1}, SOON);
    CompletableFuture<byte[]> later = client.submit(new byte[] {2}, Duration.ofMillis(60));
    CompletableFuture<byte[]> first = client.submit(new byte[] {3}, Duration.ofMillis(30));
    for (CompletableFuture<byte[]> late : List.of(first, later)) {
      var e = assertThrows(ExecutionException.class, late::get);
      assertInstanceOf(RdmaTimeoutException.class, e.getCause());
    }
    go.countDown();
    assertArrayEquals(new byte[] {2}, answered.get());
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

  /** The clients are told that the same request may succeed elsewhere, or later. */
  @Test
  void serverThatStopsAnswersWhatIsUnderWayAndRefusesTheRest() throws Exception {
    CountDownLatch arrived = new CountDownLatch(2);
    CountDownLatch go = new CountDownLatch(1);
    AtomicInteger executed = new AtomicInteger();
    RequestServer server =
        server(
            (request, answer) -> {
              executed.incrementAndGet();
              arrived.countDown();
              go.await();
              return plusOne(request, answer);
            },
            true);
    RequestClient client = client(server);
    opened.add(go::countDown); // If an assertion fails.
    CompletableFuture<byte[]> first = client.submit(new byte[] {1}, SOON);
    CompletableFuture<byte[]> second = client(server).submit(new byte[] {2}, SOON);
    arrived.await();
    assertThrows(RdmaTimeoutException.class, () -> server.stop(Duration.ofMillis(1)));
    FutureTask<Void> stopping =
        Background.inBackground(
            () -> {
              server.stop(SOON);
              return null;
            });
    var refused = assertThrows(RequestFailedException.class, () -> client.call(new byte[1], SOON));
    assertTrue(refused.isTransient(), refused.getMessage());
    assertThrows(ConnectionException.class, () -> client(server));
    assertFalse(stopping.isDone());
    go.countDown();
    stopping.get();
    assertArrayEquals(new byte[] {2}, first.get());
    assertArrayEquals(new byte[] {3}, second.get());
    assertEquals(2, executed.get());
    InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
    server.close();
    RequestServer next =
        hosts.call(
            () -> RequestServer.builder(address, Answering.by(RequestsTest::plusOne)).open());
    opened.add(next.start());
    assertThrows(IllegalStateException.class, next::run);
    assertEquals(1, client(next).call(new byte[1], SOON).length);
  }

  /** By copies and from regions, in both directions. */
  @Test
  void largeAnswersAreWrittenByTheServer() throws Exception {
    MemoryRegion[] values = new MemoryRegion[1];
    CountDownLatch sent = new CountDownLatch(10);
    RequestServer server =
        open(
            request -> {
              MemorySegment bytes = request.bytes();
              switch (bytes.get(ValueLayout.JAVA_BYTE, 0)) {
                case 0 -> request.answer(bytes);
                case 1 -> request.answer(values[0], 1, 100_000, sent::countDown);
                default -> request.answer(values[0], 0, 100, null);
              }
            },
            true);
    values[0] = server.domain().allocateMemory(1 << 17);
    values[0].memory().fill((byte) 5);
    RequestClient client = client(server);
    Random random = new Random(4711);
    for (int i = 0; i < 10; i++) {
      byte[] request = new byte[1 + random.nextInt(200_000)];
      random.nextBytes(request);
      request[0] = 0;
      MemorySegment answer = MemorySegment.ofArray(new byte[200_000]);
      long length = client.call(MemorySegment.ofArray(request), answer, SOON);
      assertArrayEquals(request, answer.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE));
      assertEquals(100_000, client.call(MemorySegment.ofArray(new byte[] {1}), answer, SOON));
      assertEquals(5, answer.get(ValueLayout.JAVA_BYTE, 99_999));
      MemoryRegion target =
          client.domain().allocateMemory(1 << 17, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      MemorySegment small = MemorySegment.ofArray(new byte[8]); // Its answer is a message.
      assertThrows(RequestFailedException.class, () -> client.call(small, target, 0, 7, SOON));
      assertEquals(8, client.call(small, target, 8, 8, SOON));
      MemorySegment one = MemorySegment.ofArray(new byte[] {1});
      assertEquals(100_000, client.call(one, target, 8, 100_000, SOON));
      assertEquals(5, target.memory().get(ValueLayout.JAVA_BYTE, 8));
      assertEquals(5, target.memory().get(ValueLayout.JAVA_BYTE, 100_007));
      assertEquals(0, target.memory().get(ValueLayout.JAVA_BYTE, 7));
      assertEquals(0, target.memory().get(ValueLayout.JAVA_BYTE, 100_008));
      MemorySegment two = MemorySegment.ofArray(new byte[] {2});
      assertEquals(100, client.call(two, target, 0, 200, SOON));
      assertEquals(5, target.memory().get(ValueLayout.JAVA_BYTE, 0));
      var tooLarge =
          assertThrows(
              RequestFailedException.class, () -> client.call(one, target, 0, 99_999, SOON));
      assertTrue(tooLarge.getMessage().contains("100000"), tooLarge.getMessage());
      target.close();
    }
    sent.await();
    var none = assertThrows(RequestFailedException.class, () -> client.call(new byte[] {1}, SOON));
    assertTrue(none.getMessage().contains("512"), none.getMessage());
  }

  @Test
  void missingArgumentsKeepNoPlace() throws Exception {
    RequestClient client = client(server(RequestsTest::plusOne, false));
    MemorySegment bytes = MemorySegment.ofArray(new byte[8192]);
    for (int i = 0; i <= client.limit(); i++) {
      assertThrows(NullPointerException.class, () -> client.call((byte[]) null, SOON));
      assertThrows(NullPointerException.class, () -> client.call(null, bytes, SOON));
      assertThrows(NullPointerException.class, () -> client.call(bytes, null, SOON));
      assertThrows(NullPointerException.class, () -> client.submit((byte[]) null, SOON));
      assertThrows(
          NullPointerException.class,
          () -> client.call(client.domain().allocateMemory(8), 0, 8, null, SOON));
    }
    assertEquals(1, client.call(new byte[1], SOON).length);
  }

  /** Each call has memory for its request, its answer or both, while others wait for it. */
  @ParameterizedTest
  @CsvSource({"8, 1", "1048576, 2", "1048576, 4"})
  void callsWaitForTheMemoryForCopies(int size, int mebibytes) throws Exception {
    int most = mebibytes << 20;
    byte[] value = new byte[1 << 20];
    RequestServer server = open(request -> request.answer(MemorySegment.ofArray(value)), false);
    RequestClient client = connect(server, SETTINGS.withCopies(most));
    List<FutureTask<Void>> callers = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      callers.add(
          Background.inBackground(
              () -> {
                MemorySegment request = MemorySegment.ofArray(new byte[size]);
                MemorySegment answer = MemorySegment.ofArray(new byte[1 << 20]);
                for (int call = 0; call < 50; call++) {
                  assertEquals(1 << 20, client.call(request, answer, SOON));
                }
                return null;
              }));
    }
    for (FutureTask<Void> caller : callers) {
      caller.get();
    }
    assertThrows(IllegalArgumentException.class, () -> client.call(new byte[most + 1], SOON));
    assertThrows( // It needs all of the memory; there is none for the answer.
        RequestFailedException.class, () -> client.call(new byte[most], SOON));
  }

  @Test
  void callbacksAreCalledOnceAndMaySendAgain() throws Exception {
    RequestClient client = client(server(RequestsTest::plusOne, false));
    CountDownLatch ended = new CountDownLatch(4);
    AtomicInteger answers = new AtomicInteger();
    for (int i = 0; i < 4; i++) {
      client.submit(
          MemorySegment.ofArray(new byte[] {0}),
          SOON,
          new RequestClient.Callback() {
            @Override
            public void answered(Answer answer) {
              byte value = answer.bytes().get(ValueLayout.JAVA_BYTE, 0);
              answers.incrementAndGet();
              if (value == 100) {
                ended.countDown();
                return;
              }
              try {
                client.submit(MemorySegment.ofArray(new byte[] {value}), SOON, this);
              } catch (InterruptedException e) {
                throw new AssertionError(e);
              }
            }

            @Override
            public void failed(RuntimeException reason) {
              throw new AssertionError(reason);
            }
          });
    }
    ended.await();
    assertEquals(400, answers.get());
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
    assertEquals(1, connect(server, SETTINGS).call(new byte[0], SOON).length + 1);
  }

  @Test
  void onlyAsManyClientsAsThereIsRoomForAndOnlyClients() throws Exception {
    RequestServer server = server(RequestsTest::plusOne, false);
    for (int i = 0; i < 2; i++) {
      assertEquals(1, client(server).call(new byte[1], SOON).length);
    }
    RequestClient last = client(server);
    assertEquals(1, last.call(new byte[1], SOON).length);
    var full = assertThrows(ConnectionException.class, () -> client(server));
    assertEquals(EventType.REJECTED, full.event().type());
    InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
    assertThrows(
        ConnectionException.class,
        () -> hosts.call(() -> Connection.connect(address, SETTINGS.withLocalAddress(CLIENT))));
    last.close();
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
