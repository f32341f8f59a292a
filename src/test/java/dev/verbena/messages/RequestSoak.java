package dev.verbena.messages;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Clients that make calls until all numbers below a limit were called: each once, with its own
 * answer, and without more memory at the end.
 */
final class RequestSoak implements AutoCloseable {
  private static final long MEMORY = 32 << 20;

  static final ConnectionSettings SETTINGS =
      DEFAULT.withSends(4).withMessageSize(64).withTimeout(Await.LIMIT);

  private final int calls;
  private final int step;
  private final AtomicIntegerArray seen;
  private final AtomicLong next = new AtomicLong();
  private final RequestServer server;
  private final FutureTask<Void> running;
  private final List<RequestClient> clients = new ArrayList<>();
  private volatile long start;

  /** Opens a server. */
  RequestSoak(int calls, int maxClients, ConnectionSettings settings, InetSocketAddress local) {
    this.calls = calls;
    step = Math.max(10_000, calls / 20);
    seen = new AtomicIntegerArray(calls);
    server =
        RequestServer.builder(local, Answering.by(this::answer))
            .settings(settings)
            .clients(maxClients)
            .open();
    running =
        Background.inBackground(
            () -> {
              server.run();
              return null;
            });
  }

  /** Connects a client. */
  void connect(ConnectionSettings settings, InetSocketAddress local) throws InterruptedException {
    clients.add(
        RequestClient.connect(new InetSocketAddress(local.getAddress(), server.port()), settings));
  }

  private int answer(MemorySegment request, MemorySegment answer) {
    long call = request.get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
    seen.incrementAndGet((int) call);
    answer.set(ValueLayout.JAVA_LONG_UNALIGNED, 0, mixed(call));
    return Long.BYTES;
  }

  private static long mixed(long call) {
    return call * 0x9e3779b97f4a7c15L ^ 0x5555;
  }

  /** Makes all calls. */
  void callAll() throws Exception {
    long before = usedMemory();
    start = System.nanoTime();
    List<FutureTask<Void>> tasks = new ArrayList<>();
    for (RequestClient client : clients) {
      tasks.add(Background.inBackground(() -> call(client)));
    }
    for (FutureTask<Void> task : tasks) {
      task.get();
    }
    report(calls);
    for (int call = 0; call < calls; call++) {
      assertEquals(1, seen.get(call), "call " + call);
    }
    long grown = usedMemory() - before;
    assertTrue(grown < MEMORY, () -> grown + " bytes more");
  }

  private Void call(RequestClient client) throws Exception {
    MemorySegment request = MemorySegment.ofArray(new byte[Long.BYTES]);
    MemorySegment answer = MemorySegment.ofArray(new byte[64]);
    for (long call = next.getAndIncrement(); call < calls; call = next.getAndIncrement()) {
      if (call % step == 0) {
        report(call);
      }
      request.set(ValueLayout.JAVA_LONG_UNALIGNED, 0, call);
      assertEquals(Long.BYTES, client.call(request, answer, Await.LIMIT));
      assertEquals(mixed(call), answer.get(ValueLayout.JAVA_LONG_UNALIGNED, 0));
    }
    return null;
  }

  /** Logs the number of calls and the memory in use, of the heap and of the process. */
  private void report(long made) throws IOException {
    String resident =
        Files.readAllLines(Path.of("/proc/self/status")).stream()
            .filter(line -> line.startsWith("VmRSS"))
            .findFirst()
            .orElseThrow();
    System.getLogger(getClass().getName())
        .log(
            System.Logger.Level.INFO,
            "%d calls in %.1f s, heap %d MiB, %s"
                .formatted(made, (System.nanoTime() - start) / 1e9, usedMemory() >> 20, resident));
  }

  private static long usedMemory() {
    System.gc();
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  @Override
  public void close() {
    clients.forEach(RequestClient::close);
    server.close();
    Await.until("the end of the server", running::isDone);
    var _ = running.resultNow();
  }
}
