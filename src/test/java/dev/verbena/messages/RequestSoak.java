package dev.verbena.messages;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Clients that make calls until all numbers below a limit were called: each once, with its own
 * answer, and without more memory at the end. A call that fails with its client's host or device is
 * executed once at most, one of a client that repeats calls once at least.
 */
final class RequestSoak implements AutoCloseable {
  private static final long MEMORY = 32 << 20;

  /** How many calls of a client that may fail are under way at most. */
  static final int LIMIT = 4;

  static final ConnectionSettings SETTINGS =
      DEFAULT.withSends(LIMIT).withMessageSize(64).withTimeout(Await.LIMIT);

  private final int calls;
  private final int step;

  /** How often each call was executed; those of clients that repeat them follow the others. */
  private final AtomicIntegerArray executed;

  private final AtomicLong next = new AtomicLong();
  private final AtomicLong nextRepeated;
  private final Set<Long> failed = ConcurrentHashMap.newKeySet();
  private final RequestServer server;
  private final FutureTask<Void> running;
  private final LiveThreads threads = new LiveThreads();
  private final List<SoakClient> clients = new ArrayList<>();
  private SoakFootprint before;
  private LongConsumer watcher = _ -> {};
  private volatile @Nullable SoakFootprint atFirstTenth;
  private @Nullable SoakFootprint atEnd;
  private volatile long start;

  /** Opens a server. */
  RequestSoak(int calls, int maxClients, ConnectionSettings settings, InetSocketAddress local)
      throws InterruptedException {
    this.calls = calls;
    step = Math.max(calls / 10, 1);
    executed = new AtomicIntegerArray(2 * calls);
    nextRepeated = new AtomicLong(calls);
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
    before = settled();
  }

  /** Connects a client. */
  void connect(SoakClient.Fate fate, ConnectionSettings settings, InetSocketAddress local)
      throws InterruptedException {
    var address = new InetSocketAddress(local.getAddress(), server.port());
    if (clients.isEmpty()) { // What the first one opens for all remains.
      RequestClient.connect(address, settings).close();
      before = Await.attempt("its end", this::withoutAClient);
    }
    clients.add(new SoakClient(this, fate, address, settings));
  }

  private @Nullable SoakFootprint withoutAClient() throws InterruptedException {
    SoakFootprint now = settled();
    return now.threads() <= before.threads() ? now : null;
  }

  private int answer(MemorySegment request, MemorySegment answer) {
    long call = request.get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
    executed.incrementAndGet((int) call);
    answer.set(ValueLayout.JAVA_LONG_UNALIGNED, 0, mixed(call));
    return Long.BYTES;
  }

  /** Returns the answer to a call. */
  static long mixed(long call) {
    return call * 0x9e3779b97f4a7c15L ^ 0x5555;
  }

  /**
   * Makes all calls.
   *
   * @param watched is called with each number before its call, and with larger ones at the end
   */
  void callAll(LongConsumer watched) throws Exception {
    watcher = watched;
    start = System.nanoTime();
    List<FutureTask<Void>> tasks = new ArrayList<>();
    for (SoakClient client : clients) {
      tasks.add(Background.inBackground(client::call));
    }
    for (FutureTask<Void> task : tasks) {
      task.get();
    }
    atEnd = report(calls);
  }

  /**
   * Closes the clients, and checks what was executed and what remains.
   *
   * @return how many calls have failed
   */
  int finish() throws InterruptedException {
    closeClients();
    int late = 0;
    for (int call = 0; call < calls; call++) {
      boolean hasFailed = failed.contains((long) call);
      int times = executed.get(call);
      assertTrue(times == 1 || (times == 0 && hasFailed), "call " + call + ": " + times);
      late += hasFailed ? times : 0;
    }
    int twice = 0;
    for (int call = calls; call < nextRepeated.get(); call++) {
      assertTrue(executed.get(call) >= 1, "call " + call);
      twice += executed.get(call) - 1;
    }
    log(
        "%d calls failed, of which %d were executed; %d repeated calls, of which %d were executed again"
            .formatted(failed.size(), late, nextRepeated.get() - calls, twice));
    long grown = Objects.requireNonNull(atEnd).heap() - Objects.requireNonNull(atFirstTenth).heap();
    assertTrue(grown < MEMORY, () -> grown + " bytes more");
    return failed.size();
  }

  /** And waits until the process has no more than before. */
  private void closeClients() throws InterruptedException {
    clients.forEach(SoakClient::close);
    for (SoakFootprint after = settled(); after.isMoreThan(before); after = settled()) {
      log(after + " at the end and " + before + " before");
    }
  }

  private SoakFootprint settled() throws InterruptedException {
    return SoakFootprint.of(server, threads.count());
  }

  /** Returns the next number to call, or -1 if there is none. */
  long take(boolean repeats) {
    if (repeats && next.get() < calls) {
      return nextRepeated.getAndIncrement();
    }
    long call = next.getAndIncrement();
    watcher.accept(call);
    if (call % step == 0 && call < calls) {
      SoakFootprint now = report(call);
      atFirstTenth = call == step ? now : atFirstTenth;
    }
    return call < calls ? call : -1;
  }

  /** A call has failed, with its client. */
  void fail(long call) {
    boolean _ = failed.add(call);
  }

  /** Logs the number of calls and the memory in use, of the heap and of the process. */
  private SoakFootprint report(long made) {
    SoakFootprint now = SoakFootprint.of(server, threads.latest());
    log("%d calls in %.1f s, %s".formatted(made, (System.nanoTime() - start) / 1e9, now));
    return now;
  }

  private void log(String text) {
    System.getLogger(getClass().getName()).log(System.Logger.Level.INFO, text);
  }

  @Override
  public void close() {
    clients.forEach(SoakClient::close);
    server.close();
    Await.until("the end of the server", running::isDone);
    var _ = running.resultNow();
    threads.close();
  }
}
