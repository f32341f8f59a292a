package dev.verbena.messages;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaException;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.cm.Listener;
import dev.verbena.soft.Faults;
import dev.verbena.soft.InSimulation;
import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.verbs.MemoryRegion;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Whatever a server says, or does not say: each call of its client ends, with its own answer. */
@InSimulation
class HostileServerTest {
  private static final Duration SOON = Await.LIMIT;
  private static final Duration SHORTLY = Duration.ofMillis(100);
  private static final int LIMIT = 4;
  private static final int LARGE = 8192;
  private static final InetSocketAddress CLIENT =
      new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0);
  private static final ConnectionSettings SETTINGS =
      DEFAULT
          .withSends(LIMIT)
          .withMessageSize(512)
          .withTimeout(SOON)
          .withCopies(2 * LARGE)
          .withLocalAddress(CLIENT)
          .withAckTimeout(AckTimeout.ofCode(10));

  private final SoftHosts hosts = SoftHosts.create();
  private final List<AutoCloseable> opened = new ArrayList<>();
  private RequestPeer liar;
  private RequestClient client;

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable one : opened.reversed()) {
      one.close();
    }
    hosts.close();
  }

  private void connect() throws Exception {
    Listener listener =
        hosts.call(() -> Listener.open(new InetSocketAddress(hosts.serverAddress(), 0)));
    opened.add(listener);
    InetSocketAddress address = listener.address().orElseThrow();
    FutureTask<RequestClient> connecting =
        Background.inBackground(() -> hosts.call(() -> RequestClient.connect(address, SETTINGS)));
    liar = RequestPeer.accept(listener.take());
    opened.add(liar);
    client = connecting.get();
    opened.add(client);
  }

  /** As often as there are places, and memory. */
  @Test
  void writtenAnswersAreNotBelieved() throws Exception {
    connect();
    MemoryRegion target =
        client.domain().allocateMemory(LARGE, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
    MemorySegment memory = MemorySegment.ofArray(new byte[LARGE]);
    MemorySegment none = MemorySegment.ofArray(new byte[8]);
    MemorySegment one = MemorySegment.ofArray(new byte[1]);
    for (long length : List.of(LARGE + 1L, -1L, Long.MIN_VALUE, Long.MAX_VALUE, 1L << 32)) {
      for (int i = 0; i <= LIMIT; i++) {
        requireLie(length, () -> client.call(one, target, 0, LARGE, SOON));
        requireLie(length, () -> client.call(one, memory, SOON));
        requireLie(length, () -> client.call(one, none, SOON));
        requireLie(length, () -> client.call(new byte[1], SOON).length);
        requireLie(length, () -> get(client.submit(new byte[1], SOON)));
      }
    }
    FutureTask<Long> last = Background.inBackground(() -> client.call(one, memory, SOON));
    answerNext(RequestFrame.ANSWER, 7, 0);
    assertEquals(7, last.get());
  }

  private static long get(CompletableFuture<byte[]> answer) throws Exception {
    try {
      return answer.get().length;
    } catch (ExecutionException e) {
      throw (Exception) e.getCause();
    }
  }

  private void requireLie(long length, java.util.concurrent.Callable<?> call) throws Exception {
    FutureTask<?> calling = Background.inBackground(call);
    answerNext(RequestFrame.ANSWER | RequestFrame.WRITTEN, 8, length);
    var failed = assertThrows(ExecutionException.class, calling::get);
    assertInstanceOf(RequestFailedException.class, failed.getCause());
  }

  private void answerNext(int kind, int size, long length) throws InterruptedException {
    long id = liar.takeId();
    RequestFrame.writeLength(liar.memory.memory(), RequestFrame.HEADER, length);
    liar.send(id, kind, RequestFrame.HEADER + size);
    assertTrue(liar.awaitSent());
  }

  /**
   * Answers of other calls, of none, twice, of calls that were given up, and for ones that wait.
   */
  @Test
  void answersThatNobodyAskedForAreDropped() throws Exception {
    connect();
    Random random = new Random(4711);
    long last = 0;
    for (int i = 0; i < 2_000; i++) {
      boolean isFuture = random.nextBoolean();
      boolean expires = random.nextInt(4) == 0;
      FutureTask<byte[]> calling =
          Background.inBackground(
              () ->
                  isFuture
                      ? client.submit(new byte[1], SOON).get()
                      : client.call(new byte[1], SOON));
      long id = liar.takeId();
      for (int other = random.nextInt(3); other > 0; other--) {
        long forged =
            switch (random.nextInt(5)) {
              case 0 -> last;
              case 1 -> id + LIMIT;
              case 2 -> id + 1 + random.nextInt(LIMIT - 1);
              case 3 -> -1 - random.nextInt(8);
              default -> random.nextLong();
            };
        liar.send(
            forged == id ? -1 : forged, random.nextInt(8), RequestFrame.HEADER + random.nextInt(9));
        assertTrue(liar.awaitSent());
      }
      if (random.nextInt(8) == 0) {
        liar.send(id, 0, random.nextInt(RequestFrame.HEADER));
        assertTrue(liar.awaitSent());
      }
      liar.send(
          id, expires ? RequestFrame.EXPIRY : RequestFrame.ANSWER, RequestFrame.HEADER + i % 100);
      assertTrue(liar.awaitSent());
      try {
        assertEquals(i % 100, calling.get().length);
      } catch (ExecutionException e) {
        Throwable cause =
            e.getCause() instanceof ExecutionException c ? c.getCause() : e.getCause();
        assertInstanceOf(RdmaTimeoutException.class, cause);
        assertTrue(expires);
      }
      last = id;
    }
  }

  /**
   * No call waits longer than it said, and the connection ends as soon as its other end says so.
   */
  @Test
  void serverThatNeverAnswersDelaysNobody() throws Exception {
    connect();
    for (int i = 0; i < LIMIT; i++) {
      assertThrows(RdmaTimeoutException.class, () -> client.call(new byte[1], SHORTLY));
    }
    assertThrows(RdmaTimeoutException.class, () -> client.call(new byte[1], SHORTLY));
    assertThrows(RdmaTimeoutException.class, () -> client.submit(new byte[1], SHORTLY));
    liar.endpoint.id().disconnect();
    Throwable ended = assertThrows(Exception.class, () -> client.call(new byte[1], SOON));
    assertInstanceOf(RdmaException.class, ended);
  }

  /** In any order. */
  @Test
  void futuresWithoutAnAnswerEndWhenTheirTimeIsOver() throws Exception {
    connect();
    CompletableFuture<byte[]> last = client.submit(new byte[1], SOON);
    client.poll(Duration.ZERO); // Looks at the times.
    CompletableFuture<byte[]> second = client.submit(new byte[1], SHORTLY.multipliedBy(2));
    CompletableFuture<byte[]> first = client.submit(new byte[1], SHORTLY);
    Await.pass(SHORTLY.multipliedBy(3), "their time is over");
    for (var each : List.of(first, second)) {
      assertTrue(each.isDone());
      assertThrows(RdmaTimeoutException.class, () -> get(each));
    }
    assertFalse(last.isDone());
  }

  @Test
  void pollSaysThatTheConnectionHasEnded() throws Exception {
    connect();
    liar.endpoint.id().disconnect();
    assertThrows(
        RdmaException.class,
        () -> {
          for (int i = 0; i < 100; i++) {
            client.poll(SHORTLY);
          }
        });
  }

  /** The callback still has an answer, and all others come. */
  @Test
  void eachAnswerHasAReceiveRequestWhileACallbackRuns() throws Exception {
    connect();
    CountDownLatch arrived = new CountDownLatch(1);
    List<CompletableFuture<byte[]>> others = new ArrayList<>();
    client.submit(
        MemorySegment.ofArray(new byte[1]),
        SOON,
        new RequestClient.Callback() {
          @Override
          public void answered(Answer answer) {
            try {
              others.add(client.submit(new byte[1], SOON));
              arrived.await();
            } catch (InterruptedException e) {
              throw new AssertionError(e);
            }
          }

          @Override
          public void failed(RuntimeException reason) {}
        });
    for (int i = 1; i < LIMIT; i++) {
      others.add(client.submit(new byte[1], SOON));
    }
    for (int i = 0; i <= LIMIT; i++) {
      liar.send(liar.takeId(), RequestFrame.ANSWER, RequestFrame.HEADER + 1);
      assertTrue(liar.awaitSent());
    }
    arrived.countDown();
    for (CompletableFuture<byte[]> each : others) {
      assertEquals(1, each.get().length);
    }
  }

  /** Another thread than the one that reads runs it. */
  @Test
  void dependentOfAFutureMayCall() throws Exception {
    connect();
    CompletableFuture<Integer> dependent =
        client
            .submit(new byte[1], SOON)
            .thenApply(
                first -> {
                  try {
                    return client.call(first, SOON).length;
                  } catch (InterruptedException e) {
                    throw new AssertionError(e);
                  }
                });
    answerNext(RequestFrame.ANSWER, 8, 0);
    answerNext(RequestFrame.ANSWER, 7, 0);
    assertEquals(7, dependent.get());
  }

  /** The thread that reads for callbacks has failed before. */
  @Test
  void callbacksOfALostDeviceAreCalled() throws Exception {
    connect();
    CompletableFuture<byte[]> first = client.submit(new byte[1], SOON);
    Faults _ = hosts.faults().loseDevice("client");
    Await.until("the end of a call", first::isDone);
    for (int i = 0; i < 2 * LIMIT; i++) {
      Throwable ended = assertThrows(Exception.class, () -> get(client.submit(new byte[1], SOON)));
      assertTrue(!(ended instanceof RdmaTimeoutException), ended.toString());
    }
  }

  @Test
  void callbackMayCloseTheClient() throws Exception {
    connect();
    AtomicBoolean isClosed = new AtomicBoolean();
    for (int i = 0; i < LIMIT; i++) {
      client.submit(
          MemorySegment.ofArray(new byte[1]),
          SOON,
          new RequestClient.Callback() {
            @Override
            public void answered(Answer answer) {
              client.close();
              isClosed.set(true);
            }

            @Override
            public void failed(RuntimeException reason) {}
          });
    }
    for (int i = 0; i < LIMIT; i++) {
      long id = liar.takeId();
      if (id < 0) {
        break;
      }
      liar.send(id, RequestFrame.ANSWER, RequestFrame.HEADER);
      boolean _ = liar.awaitSent();
    }
    Await.until("the close", isClosed::get);
  }

  /** Also if the thread that reads for callbacks has nothing to do then. */
  @Test
  void callbackMayInterruptItsThread() throws Exception {
    connect();
    for (int i = 0; i < 2 * LIMIT; i++) {
      CompletableFuture<Thread> called = new CompletableFuture<>();
      client.submit(
          MemorySegment.ofArray(new byte[1]),
          SOON,
          new RequestClient.Callback() {
            @Override
            public void answered(Answer answer) {
              Thread.currentThread().interrupt();
              boolean _ = called.complete(Thread.currentThread());
            }

            @Override
            public void failed(RuntimeException reason) {
              boolean _ = called.completeExceptionally(reason);
            }
          });
      liar.send(liar.takeId(), RequestFrame.ANSWER, RequestFrame.HEADER);
      assertTrue(liar.awaitSent());
      Thread reader = called.get();
      CompletableFuture<byte[]> next = client.submit(new byte[1], SOON);
      liar.send(liar.takeId(), RequestFrame.ANSWER, RequestFrame.HEADER);
      assertTrue(liar.awaitSent());
      assertEquals(0, next.get().length);
      reader.interrupt();
    }
  }
}
