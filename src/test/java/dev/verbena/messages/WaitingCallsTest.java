package dev.verbena.messages;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.time.Time;
import dev.verbena.soft.InSimulation;
import dev.verbena.testing.Await;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Calls that wait for what other calls have: they go on when it is free, and not at a later look.
 */
@InSimulation
@EnabledForJreRange(minVersion = 24)
class WaitingCallsTest extends RequestFixture {
  private static final int LARGE = 4096;
  private static final ConnectionSettings SETTINGS = DEFAULT.withMessageSize(512).withCopies(LARGE);

  private final List<CountDownLatch> releases =
      Stream.generate(() -> new CountDownLatch(1)).limit(3).toList();
  private final CountDownLatch handled = new CountDownLatch(5);
  private InetSocketAddress address;
  private ClientMemory memory;
  private RequestClient client;

  private void open(ConnectionSettings settings) throws Exception {
    RequestServer server =
        serve(this::handle, builder -> builder.executor(task -> Time.start("handler", task)));
    address = new InetSocketAddress(hosts.serverAddress(), server.port());
    client = connect(server, settings);
  }

  @Override
  @AfterEach
  void close() throws Exception {
    releases.forEach(CountDownLatch::countDown); // If an assertion fails.
    super.close();
  }

  private static void assertSoon(long start, String what) {
    long nanos = Time.now() - start;
    assertTrue(nanos < SharedReading.SLICE_NANOS / 10, what + " after " + nanos + " ns");
  }

  /** The second call waits for its answer, and is before the handled, which waits for the first. */
  @ParameterizedTest
  @ValueSource(ints = {8, LARGE})
  void oneGoesOnWhenAnotherHasEnded(int size) throws Exception {
    open(SETTINGS.withSends(size == LARGE ? 3 : 2));
    Thread first = call(client, 0, size);
    Thread second = call(client, 1, 8);
    Thread last = call(client, 2, size);
    assertEquals(3, handled.getCount(), "it waits");
    long start = Time.now();
    releases.get(0).countDown();
    first.join();
    Await.until("the last one", () -> handled.getCount() == 2);
    assertSoon(start, "it went on");
    releases.forEach(CountDownLatch::countDown);
    second.join();
    last.join();
  }

  /** A thread reads that waits for the slot of another one, which copies its answer. */
  @Test
  void theThreadThatReadsTakesASlot() throws Exception {
    ConnectionSettings settings = SETTINGS.withSends(1);
    open(settings);
    ClientLink link =
        hosts.call(
            () ->
                settings
                    .withLocalAddress(CLIENT)
                    .connect(
                        address,
                        (endpoint, deadline) -> {
                          memory = new ClientMemory(endpoint, LARGE);
                          return new ClientLink(endpoint, memory, settings, deadline);
                        }));
    MemorySegment request = MemorySegment.ofArray(new byte[1]);
    CallSlot slot = link.take(request, 0, Time.now(), Await.LIMIT);
    Thread second =
        inThread(
            () -> {
              CallSlot taken = link.take(request, 0, Time.now(), Await.LIMIT);
              Answer _ = link.exchange(taken, request, Time.now());
              link.calls.end(taken);
            });
    releases.get(0).countDown();
    Answer _ = link.exchange(slot, request, Time.now());
    Time.sleep(1_000_000); // It copies the answer.
    long start = Time.now();
    link.calls.end(slot);
    second.join();
    assertSoon(start, "it went on");
    link.close(true);
    memory.close();
  }

  /** Two slots are free before the first thread that waits has run. */
  @RepeatedTest(20)
  void asManyGoOnAsThereIsRoomFor() throws Exception {
    open(SETTINGS.withSends(3));
    List<Thread> calls = new ArrayList<>();
    calls.add(call(client, 2, 8)); // It reads.
    for (int i = 0; i < 2; i++) {
      CompletableFuture<byte[]> _ = client.submit(new byte[1], Await.LIMIT);
    }
    for (int i = 0; i < 2; i++) {
      calls.add(call(client, 1, 8));
    }
    assertEquals(2, handled.getCount(), "two wait");
    long start = Time.now();
    releases.get(0).countDown();
    handled.await();
    assertSoon(start, "they went on");
    releases.forEach(CountDownLatch::countDown);
    for (Thread call : calls) {
      call.join();
    }
  }

  /** A thread reads for callbacks that has waited for one that reads for itself. */
  @Test
  void aCallbackNeedsNoCall() throws Exception {
    open(SETTINGS);
    Thread first = call(client, 0, 8);
    CompletableFuture<byte[]> answer = client.submit(new byte[] {1}, Await.LIMIT);
    Time.sleep(2_000_000);
    releases.get(0).countDown();
    first.join();
    long start = Time.now();
    releases.get(1).countDown();
    assertEquals(0, answer.join().length);
    assertSoon(start, "it was answered");
  }

  /** The thread that has read for callbacks wakes one that waits for itself. */
  @Test
  void aCallNeedsNoCallback() throws Exception {
    open(SETTINGS);
    CompletableFuture<byte[]> answer = client.submit(new byte[1], Await.LIMIT);
    Time.sleep(2_000_000);
    Thread second = call(client, 1, 8);
    releases.get(0).countDown();
    assertEquals(0, answer.join().length);
    long start = Time.now();
    releases.get(1).countDown();
    second.join();
    assertSoon(start, "it was answered");
  }

  /** What came during a callback that takes long is read later: the server is not silent. */
  @Test
  void aSlowCallbackDoesNotEndTheConnection() throws Exception {
    Duration second = Duration.ofSeconds(1);
    open(SETTINGS.withKeepAlive(second));
    CompletableFuture<Void> isOver = new CompletableFuture<>();
    client.submit(
        MemorySegment.ofArray(new byte[] {0}),
        Await.LIMIT,
        new RequestClient.Callback() {
          @Override
          public void answered(Answer answer) {
            try {
              Time.sleep(second.toNanos() * 20);
              isOver.complete(null);
            } catch (InterruptedException e) {
              isOver.completeExceptionally(e);
            }
          }

          @Override
          public void failed(RuntimeException reason) {
            isOver.completeExceptionally(reason);
          }
        });
    releases.forEach(CountDownLatch::countDown);
    isOver.join();
    Time.sleep(second.toNanos() * 20);
    assertEquals(0, client.call(new byte[1], Await.LIMIT).length);
  }

  private void handle(Request request) throws InterruptedException {
    handled.countDown();
    releases.get(request.bytes().get(ValueLayout.JAVA_BYTE, 0)).await();
    request.answer(0);
  }

  private static Thread call(RequestClient client, int index, int size)
      throws InterruptedException {
    byte[] request = new byte[size];
    request[0] = (byte) index;
    return inThread(() -> assertEquals(0, client.call(request, Await.LIMIT).length));
  }

  private interface Action {
    void run() throws InterruptedException;
  }

  private static Thread inThread(Action action) throws InterruptedException {
    Thread thread =
        Time.daemon()
            .start(
                () -> {
                  try {
                    action.run();
                  } catch (InterruptedException e) {
                    throw new AssertionError(e);
                  }
                });
    Time.sleep(2_000_000); // It waits before the next one does.
    return thread;
  }
}
