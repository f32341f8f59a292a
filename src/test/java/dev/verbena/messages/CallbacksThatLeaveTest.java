package dev.verbena.messages;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.ConnectionException;
import dev.verbena.internal.time.Time;
import dev.verbena.soft.InSimulation;
import dev.verbena.testing.Await;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/** Callbacks, futures and polls that end while others wait: none waits for what it holds itself. */
@InSimulation
@EnabledForJreRange(minVersion = 24)
class CallbacksThatLeaveTest extends RequestFixture {
  private static final long MILLISECOND = 1_000_000;
  private static final ConnectionSettings SETTINGS = DEFAULT.withMessageSize(512).withSends(4);
  private static final ConnectionSettings AGAIN =
      SETTINGS.withReconnect(Duration.ofMillis(1), Duration.ofMillis(50));

  private final List<CountDownLatch> releases =
      Stream.generate(() -> new CountDownLatch(1)).limit(3).toList();
  private final AtomicInteger handled = new AtomicInteger();
  private RequestServer server;
  private RequestClient client;

  private void open(ConnectionSettings settings) throws Exception {
    serve(0);
    client = connect(server, settings);
  }

  private void serve(int port) throws Exception {
    InetSocketAddress local = new InetSocketAddress(hosts.serverAddress(), port);
    server =
        hosts.call(
            () ->
                RequestServer.builder(local, this::handle)
                    .settings(SETTINGS)
                    .executor(task -> Time.start("handler", task))
                    .open());
    opened.add(server);
    RequestServer _ = server.start();
  }

  private void restart() throws Exception {
    releases.forEach(CountDownLatch::countDown);
    int port = server.port();
    server.close();
    serve(port);
  }

  private void handle(Request request) throws InterruptedException {
    handled.incrementAndGet();
    releases.get(request.bytes().get(ValueLayout.JAVA_BYTE, 0)).await();
    request.answer(0);
  }

  @Override
  @AfterEach
  void close() throws Exception {
    releases.forEach(CountDownLatch::countDown); // If an assertion fails.
    super.close();
  }

  /** Calls in a thread, which waits before the next one does. */
  private CompletableFuture<Integer> call(int index) throws InterruptedException {
    return start(
        () -> hosts.call(() -> client.call(new byte[] {(byte) index}, Await.LIMIT)).length);
  }

  private static <T> CompletableFuture<T> start(Callable<T> action) throws InterruptedException {
    CompletableFuture<T> result = new CompletableFuture<>();
    Thread _ =
        Time.daemon()
            .start(
                () -> {
                  try {
                    boolean _ = result.complete(action.call());
                  } catch (Throwable t) {
                    boolean _ = result.completeExceptionally(t);
                  }
                });
    Time.sleep(2 * MILLISECOND);
    return result;
  }

  /** Submits a request; returns how long its callback took, which begins with a wait. */
  private CompletableFuture<Long> submit(long wait, Callable<@Nullable Void> action)
      throws Exception {
    CompletableFuture<Long> took = new CompletableFuture<>();
    client.submit(
        MemorySegment.ofArray(new byte[1]),
        Await.LIMIT,
        new RequestClient.Callback() {
          @Override
          public void answered(Answer answer) {
            try {
              Time.sleep(wait);
              long start = Time.now();
              assertNull(action.call());
              boolean _ = took.complete(Time.now() - start);
            } catch (Throwable t) {
              boolean _ = took.completeExceptionally(t);
            }
          }

          @Override
          public void failed(RuntimeException reason) {
            boolean _ = took.completeExceptionally(reason);
          }
        });
    releases.get(0).countDown();
    Time.sleep(2 * MILLISECOND);
    return took;
  }

  /** Submits another request, in a callback: also if it is late, nothing is connected. */
  private @Nullable Void submitInCallback() throws Exception {
    long start = Time.now();
    try {
      var _ = hosts.call(() -> client.submit(new byte[1], Await.LIMIT));
    } catch (ConnectionException e) {
      assertTrue(e.isTransient(), e::toString);
    }
    assertSoon(start);
    return null;
  }

  private static void assertSoon(long start) {
    long nanos = Time.now() - start;
    assertTrue(nanos < 2 * MILLISECOND, "after " + nanos + " ns");
  }

  @Test
  void closesInAThreadWhoseCallWaits() throws Exception {
    open(SETTINGS);
    CompletableFuture<Integer> reader = call(1);
    CompletableFuture<Long> took =
        submit(
            0,
            () -> {
              client.close();
              return null;
            });
    assertTrue(took.get() < 100 * MILLISECOND, "a close of " + took.get() + " ns");
    ExecutionException e = assertThrows(ExecutionException.class, reader::get);
    assertInstanceOf(IllegalStateException.class, e.getCause());
  }

  @Test
  void submitsInAThreadWhoseCallWaits() throws Exception {
    open(AGAIN.withRepeats());
    CompletableFuture<Integer> reader = call(1);
    CompletableFuture<Long> took = submit(100 * MILLISECOND, this::submitInCallback);
    restart();
    assertTrue(took.get() < MILLISECOND, "a callback of " + took.get() + " ns");
    assertEquals(0, reader.get());
  }

  @Test
  void submitsWhileAnotherThreadConnectsAgain() throws Exception {
    open(AGAIN);
    CompletableFuture<Long> took = submit(100 * MILLISECOND, this::submitInCallback);
    restart();
    CompletableFuture<Integer> other = call(2);
    assertTrue(took.get() < MILLISECOND, "a callback of " + took.get() + " ns");
    assertEquals(0, other.get());
  }

  @Test
  void cancelledFutureIsNotSentAgain() throws Exception {
    open(AGAIN.withRepeats());
    CompletableFuture<byte[]> future = hosts.call(() -> client.submit(new byte[] {1}, Await.LIMIT));
    Await.until("it is handled", () -> handled.get() == 1);
    assertTrue(future.cancel(true));
    CompletableFuture<@Nullable Void> closing =
        start(
            () -> {
              server.close();
              return null;
            });
    restart();
    assertNull(closing.get());
    Time.sleep(1000 * MILLISECOND);
    assertEquals(1, handled.get());
  }

  /** It was woken to read at the same time. */
  @Test
  void interruptedPollLetsAnotherRead() throws Exception {
    open(SETTINGS);
    CompletableFuture<Thread> polling = new CompletableFuture<>();
    CompletableFuture<@Nullable Void> reader =
        start(
            () -> {
              assertEquals(0, client.call(new byte[1], Await.LIMIT).length);
              polling.get().interrupt();
              return null;
            });
    CompletableFuture<@Nullable Void> poll =
        start(
            () -> {
              boolean _ = polling.complete(Thread.currentThread());
              while (true) {
                client.poll(Duration.ofSeconds(1));
              }
            });
    CompletableFuture<Integer> last = call(1);
    releases.get(0).countDown();
    assertNull(reader.get());
    ExecutionException e = assertThrows(ExecutionException.class, poll::get);
    assertInstanceOf(InterruptedException.class, e.getCause());
    long start = Time.now();
    releases.get(1).countDown();
    assertEquals(0, last.get());
    assertSoon(start);
  }
}
