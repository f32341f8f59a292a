package dev.verbena.messages;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.Listener;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.HalfOpenRequests;
import dev.verbena.internal.Inside;
import dev.verbena.internal.LeakReport;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.internal.io.ServiceLoop;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import dev.verbena.internal.time.Uninterrupted;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.WorkRequestException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * A server that answers the requests of {@link RequestClient}s by a {@link Handler}: all clients
 * share a completion queue.
 *
 * {@snippet :
 * InetSocketAddress local = new InetSocketAddress("10.9.0.1", 7471);
 * try (RequestServer server =
 *     RequestServer.builder(local, request -> request.answer(request.bytes())).open()) {
 *   server.run();
 * }
 * }
 *
 * <p><b>Threads.</b> {@link #run} reads the completions in the thread that calls it, or {@link
 * #start} in one of this library, and calls the handler there; with an {@link Executor}, such as
 * one of virtual threads, it calls the handler in the executor's threads, several at a time.
 *
 * <p><b>Limits.</b> Each client may have {@link ConnectionSettings#withSends} requests under way,
 * for which it has receive requests; what it sends beyond waits (RNR). A client that sends a
 * message that is not a request is disconnected. Clients beyond the maximum number are rejected, or
 * disconnected if another one was established meanwhile. A connection request that its peer does
 * not complete takes no place; further ones of an address wait while 16 of its requests are
 * incomplete. Large requests wait for memory, of which a client has at most a quarter or one
 * request; one that cannot be read for want of memory is answered by {@link
 * RequestFailedException}.
 *
 * <p><b>Time.</b> A client says how long it waits. When that is over while a handler runs in an
 * executor, the server tells the client that it may send another request; the answer is dropped.
 *
 * <p><b>Failures.</b> A failure that one client causes ends its connection alone, and is logged.
 * {@link #run} throws when the device is removed. A client whose host is lost keeps its place, and
 * so does one that is closed if the network loses its disconnect request, which Linux then does not
 * repeat: {@link ConnectionSettings#withKeepAlive} frees it.
 *
 * <p><b>Closing.</b> {@link #stop} stops listening, and waits until the requests under way have
 * been answered. {@link #close} stops listening, disconnects the clients, and ends {@link #run}.
 */
public final class RequestServer implements AutoCloseable {
  /** Answers requests. */
  @FunctionalInterface
  public interface Handler {
    /**
     * Answers a request, by one of its methods {@code answer}.
     *
     * @param request the request, valid until this method returns
     * @throws Exception if the request cannot be answered: the client's call throws {@link
     *     RequestFailedException} with its message
     */
    void handle(Request request) throws Exception;
  }

  /** The settings of a server that is to be opened. */
  public static final class Builder {
    private final InetSocketAddress local;
    private final Handler handler;
    private ConnectionSettings settings = ConnectionSettings.DEFAULT;
    private int clients = 64;
    private long largest = 1 << 20;
    private @Nullable Executor executor;

    private Builder(InetSocketAddress local, Handler handler) {
      this.local = Objects.requireNonNull(local, "local");
      this.handler = Objects.requireNonNull(handler, "handler");
    }

    /**
     * Sets the settings of connections.
     *
     * @param value the settings: {@code withSends} is the limit of requests under way for each
     *     client, {@code withCopies} the memory for large requests, and that for large answers
     * @return this
     */
    public Builder settings(ConnectionSettings value) {
      settings = Objects.requireNonNull(value, "value");
      return this;
    }

    /**
     * Sets the maximum number of clients. The default is 64.
     *
     * @param number the number
     * @return this
     */
    public Builder clients(int number) {
      clients = Ranges.positive(number, "maximum number of clients");
      return this;
    }

    /**
     * Sets the maximum size of a request in bytes, which the server reads if it is larger than a
     * message, and for one of which it always has memory. The default is 1 MiB; the maximum is 2
     * GiB, that of an RDMA read.
     *
     * @param size the size
     * @return this
     */
    public Builder largest(long size) {
      largest = Ranges.positive(size, "maximum size of a request");
      return this;
    }

    /**
     * Sets what calls the handler.
     *
     * @param caller an executor, for example of virtual threads, which runs each task once or
     *     throws: a client whose task is lost keeps its place; null, the default, for the thread of
     *     {@link RequestServer#run}
     * @return this
     */
    public Builder executor(@Nullable Executor caller) {
      executor = caller;
      return this;
    }

    /**
     * Opens the server.
     *
     * @return the server, to be closed by the caller
     */
    public RequestServer open() {
      settings.requireNoDomain();
      Listener listener = Listener.open(local);
      try {
        return new RequestServer(listener, this);
      } catch (Throwable t) {
        AfterFailure.close(t, listener::close);
        throw t;
      }
    }
  }

  private static final int BATCH = 64;
  private static final Duration SLICE = Duration.ofNanos(SharedReading.SLICE_NANOS);
  private static final Duration CLOSING_TIME = Duration.ofSeconds(5);

  /** The maximum size of an RDMA read. */
  private static final long LARGEST_READ = 1L << 31;

  /** Between two looks at the requests under way of a server that stops. */
  private static final long PAUSE_NANOS = 1_000_000;

  private final Listener listener;
  private final int port;
  private final Duration keepAliveAnswer;
  private final Handler handler;
  private final @Nullable Executor executor;
  private final CompletionChannel channel;
  private final CompletionQueue queue;
  private final CompletionWaiter waiter;

  private final Completions completions = new Completions(BATCH);
  private final LargeRequests large;

  /** The memory for large answers that are copied. */
  private final RegionPool copies;

  /** Requests to be dispatched by the next turn. */
  private final Queue<Request> later = new ConcurrentLinkedQueue<>();

  private final ServedClients clients;

  /** Held by {@link #run}. */
  private final ScopedLock running = new ScopedLock();

  // Guarded by running.

  /** The interval in nanoseconds, or 0; and when silent clients were asked. */
  private final long keepAlive;

  private long askedAt = Time.now();

  /** When the last turn ended; and until when all completions that had come were read. */
  private long turnedAt = askedAt;

  private long drainedAt = askedAt;

  /** When the times of requests were looked at. */
  private long lookedAt = askedAt;

  /** The client whose answers are posted together. */
  private @Nullable ServedClient unflushed;

  /** The thread of {@link #start}, or null. */
  private volatile @Nullable Thread own;

  private final LeakReport leak;
  private volatile boolean closed;
  private volatile boolean isStopping;

  /** The end of the device, or null. */
  private volatile @Nullable ConnectionException removal;

  private RequestServer(Listener listener, Builder builder) {
    this.listener = listener;
    port = listener.port();
    ConnectionSettings settings = builder.settings;
    handler = builder.handler;
    executor = builder.executor;
    keepAlive = settings.keepAlive().map(Duration::toNanos).orElse(0L);
    keepAliveAnswer = settings.keepAliveAnswer();
    ProtectionDomain domain = listener.domain();
    MessageQueues.Sizes sizes = ServedClient.sizes(settings.sends(), settings.messageSize());
    int completionsOfAll =
        Math.addExact(
            Math.multiplyExact(builder.clients, sizes.completions()),
            Math.multiplyExact(HalfOpenRequests.LIMIT, sizes.receives()));
    channel = domain.context().createCompletionChannel();
    try {
      queue =
          domain
              .context()
              .completionQueue(completionsOfAll)
              .channel(channel)
              .withoutCapacityWarning() // A client without a place sends nothing.
              .create();
      waiter = new CompletionWaiter(queue, settings.spin());
    } catch (Throwable t) {
      AfterFailure.close(t, channel::close); // With its queue; the caller closes the rest.
      throw t;
    }
    long largest = Math.min(builder.largest, LARGEST_READ);
    long memory = Math.max(settings.copies(), RegionPool.sizeOf(largest));
    large =
        new LargeRequests(this, new RegionPool(domain, memory, AccessFlag.LOCAL_WRITE), largest);
    copies = new RegionPool(domain, settings.copies(), AccessFlag.LOCAL_WRITE);
    leak = new LeakReport(toString());
    leak.watch(this);
    clients = new ServedClients(this, listener, queue, settings, builder.clients);
  }

  /**
   * Returns a builder of a server.
   *
   * @param local the address of a device
   * @param handler answers the requests
   * @return a builder
   */
  public static Builder builder(InetSocketAddress local, Handler handler) {
    return new Builder(local, handler);
  }

  /** {@return the local port of the server} */
  public int port() {
    return port;
  }

  /** {@return the number of connected clients} */
  public int clients() {
    return clients.count();
  }

  /** {@return the protection domain of all clients, to register memory for large answers} */
  public ProtectionDomain domain() {
    return listener.domain();
  }

  // Requests

  /**
   * Answers requests until the server is closed.
   *
   * @throws ConnectionException if the device was removed
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if another thread runs the server
   */
  public void run() throws InterruptedException {
    run(() -> {});
  }

  /**
   * Answers requests in a platform thread of this library, which logs it if the device is removed.
   *
   * @return this
   * @throws IllegalStateException if another thread runs the server
   */
  public RequestServer start() {
    CompletableFuture<@Nullable IllegalStateException> begun = new CompletableFuture<>();
    Thread _ =
        Time.daemon()
            .name(toString())
            .start(
                () -> {
                  try {
                    runInOwnThread(() -> begun.complete(null));
                  } catch (Throwable t) {
                    boolean isRun = t instanceof IllegalStateException e && begun.complete(e);
                    if (!isRun && !closed) {
                      ServiceLoop.log(t);
                    }
                  }
                });
    IllegalStateException failure = begun.join();
    if (failure != null) {
      throw failure;
    }
    return this;
  }

  private void runInOwnThread(Runnable begun) {
    own = Thread.currentThread();
    while (true) {
      try {
        run(begun);
        return;
      } catch (InterruptedException e) {
        // By what a handler has started: nobody else knows the thread.
      }
    }
  }

  private void run(Runnable begun) throws InterruptedException {
    if (!running.tryLock()) {
      throw new IllegalStateException("another thread runs " + this);
    }
    try (running) {
      begun.run();
      while (!closed) {
        ConnectionException end = removal;
        if (end != null) {
          throw end;
        }
        turn();
      }
    }
  }

  private void turn() throws InterruptedException {
    int count = waiter.poll(completions, SLICE);
    for (int i = 0; i < count; i++) {
      completed(i);
    }
    for (Request next = later.poll(); next != null; next = later.poll()) {
      dispatch(next);
    }
    flush(null);
    if (count < completions.capacity()) { // Handlers may have taken long since.
      drainedAt = turnedAt;
    }
    clients.endFlushed(drainedAt);
    long now = Time.now();
    turnedAt = now;
    if (executor != null && now - lookedAt >= SharedReading.SLICE_NANOS) {
      lookedAt = now;
      clients.forEach(client -> client.giveUpLate(now));
    }
    if (keepAlive > 0 && now - askedAt >= keepAlive) {
      askedAt = now;
      clients.forEach(client -> client.requireAnswer(now, keepAliveAnswer.toNanos(), drainedAt));
    }
  }

  /** Whatever a completion causes ends its client alone. */
  private void completed(int index) {
    ServedClient client = clients.get(completions.queuePairNumber(index));
    if (client == null) { // It has gone.
      return;
    }
    try {
      flush(client);
      completed(client, index);
    } catch (Throwable t) {
      abort(client, t);
    }
  }

  /** Posts the answers of a client when another one follows. */
  @SuppressWarnings("ReferenceEquality")
  private void flush(@Nullable ServedClient next) {
    ServedClient before = unflushed;
    if (before != null && before != next) {
      unflushed = null;
      try {
        before.flush();
      } catch (Throwable t) {
        abort(before, t);
      }
    }
  }

  /** Logs why a client failed, and ends its connection. */
  void abort(ServedClient client, Throwable reason) {
    log(System.Logger.Level.WARNING, client + " of " + this + " failed", reason);
    client.beginEnd(); // Without the event, which does not come if rdma_disconnect fails.
  }

  /** A logger may throw. */
  static void log(System.Logger.Level level, String text, Throwable reason) {
    boolean _ = ServiceLoop.attempt(() -> System.getLogger("dev.verbena").log(level, text, reason));
  }

  private void completed(ServedClient client, int index) {
    long id = completions.id(index);
    boolean isGood = completions.isSuccess(index);
    if (!isGood && completions.status(index) == CompletionStatus.REM_ACCESS_ERR) {
      abort(client, new WorkRequestException("the memory of a client", completions, index));
    } else if (!isGood) {
      client.beginEnd(); // Without the event: a peer that was killed answers no disconnect request.
    }
    if (id < PostedSends.FIRST_ID) {
      client.received();
      if (isGood) {
        received(client, (int) id, completions.byteLength(index));
      }
    } else if (id == ServedClient.PROBE) {
      client.answered();
    } else {
      client.completed(id, isGood);
    }
  }

  private void received(ServedClient client, int receive, long length) {
    Request request = client.begin(receive, length, Time.now());
    if (request == null) {
      client.beginEnd();
    } else if (isStopping) {
      request.refuse(new RequestFailedException(this + " stops", true));
      dispatch(request);
    } else if (request.isLarge()) {
      large.begin(request);
    } else {
      dispatch(request);
    }
  }

  /** Lets the next turn answer a request. */
  void later(Request request) {
    later.add(request);
  }

  /** Answers a request, or leaves it until there is a place for its answer. */
  void dispatch(Request request) {
    if (request.client().takeAnswerPlace(request)) {
      begin(request);
    }
  }

  /** Answers a request that has a place for its answer. */
  void begin(Request request) {
    if (executor == null) {
      answer(request);
      return;
    }
    try {
      executor.execute(request);
    } catch (Throwable t) { // Such as RejectedExecutionException.
      request.refuse(t);
      answer(request);
    }
  }

  /** Answers a request. What fails ends its client, but for the handler. */
  void answer(Request request) {
    int place = request.place();
    try {
      request.handle(handler);
    } catch (Throwable t) {
      failed(request, place, t);
      return;
    } finally {
      if (Thread.currentThread().equals(own)) {
        boolean _ = Thread.interrupted(); // By the handler; the next one is of another client.
      }
    }
    end(request, place, true);
  }

  /** Ends a request without an answer, and its client. */
  void failed(Request request, int place, Throwable reason) {
    abort(request.client(), reason);
    end(request, place, false);
  }

  /** Ends a request: its receive request is posted again, and its answer is sent if it has one. */
  void end(Request request, int place, boolean isAnswered) {
    ServedClient client = request.client();
    MemoryRegion memory = request.takeLarge();
    try {
      try {
        client.finish(request, place, isAnswered);
      } finally { // Also if its answer cannot be sent.
        giveBack(client, memory);
      }
      if (executor != null || !running.isHeldByCurrentThread()) {
        client.flush();
        return;
      }
    } catch (Throwable t) {
      abort(client, t);
    }
    flush(client);
    unflushed = client;
  }

  /** Gives back the memory of a large request, if it has some. */
  void giveBack(ServedClient client, @Nullable MemoryRegion memory) {
    if (memory != null) {
      large.end(client, memory);
    }
  }

  /** Returns the memory for large answers that are copied. */
  RegionPool copies() {
    return copies;
  }

  /** There is room for another RDMA read. */
  void readMore() {
    large.advance();
  }

  /** Removes the large requests of a client that wait for memory. */
  List<Request> removeLarge(ServedClient client) {
    return large.remove(client);
  }

  // Closing

  /**
   * Stops listening, refuses further requests, whose calls throw a {@linkplain
   * RequestFailedException#isTransient transient} exception, and waits until those under way have
   * been answered. To be called before {@link #close}, while the server runs in another thread.
   *
   * @param timeout the maximum time to wait
   * @throws RdmaTimeoutException if the timeout expires
   * @throws InterruptedException if the thread is interrupted
   */
  public void stop(Duration timeout) throws InterruptedException {
    Deadline deadline = Deadline.after(timeout);
    isStopping = true;
    listener.stop();
    List<ServedClient> busy = clients.all();
    while (true) {
      busy.removeIf(client -> !client.isBusy()); // What it sends then is refused.
      if (busy.isEmpty()) {
        return;
      }
      if (deadline.isOver()) {
        throw deadline.missedBy("answering the requests under way of " + this);
      }
      Time.sleep(Math.min(PAUSE_NANOS, deadline.remainingNanos()));
    }
  }

  /**
   * Stops listening, disconnects the clients, and ends {@link #run}. Waits up to five seconds for
   * handlers.
   *
   * @throws dev.verbena.VerbsException if a C function fails; what it could not destroy stays open,
   *     and a further close tries again
   */
  @Override
  public void close() {
    closed = true;
    clients.all().forEach(ServedClient::disconnect);
    // The clients close before the domain. If it ends with the listening, that ends last.
    AfterFailure.closeAll(
        () -> listener.stopIfDomainRemains(Inside.LIBRARY), this::closeAfterClients);
    leak.closed();
  }

  private void closeAfterClients() {
    boolean nobodyRuns =
        Uninterrupted.acquire(running, Deadline.after(CLOSING_TIME)::remainingNanos);
    try {
      clients.endAll(Deadline.after(CLOSING_TIME)); // Not prolonged by an interrupt.
      AfterFailure.closeAll(clients::closeAll, listener::close, queue::close, channel::close);
    } finally {
      if (nobodyRuns) {
        running.unlock();
      }
    }
  }

  boolean isClosed() {
    return closed;
  }

  boolean mayAccept() {
    return !closed && !isStopping && removal == null;
  }

  /** The device was removed. */
  void removed(ConnectionException reason) {
    removal = reason;
  }

  @Override
  public String toString() {
    return "server on " + listener + (isStopping && !closed ? " (stopping)" : "");
  }
}
