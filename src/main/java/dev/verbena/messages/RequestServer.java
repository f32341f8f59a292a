package dev.verbena.messages;

import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Listener;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.HalfOpenRequests;
import dev.verbena.internal.Inside;
import dev.verbena.internal.LeakReport;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.Unclosed;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.internal.io.ServiceLoop;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import dev.verbena.internal.time.Uninterrupted;
import dev.verbena.util.QueuePairMap;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * A server that answers the requests of {@link RequestClient}s by a {@link Handler}: all clients
 * share a completion queue and a shared receive queue.
 *
 * {@snippet :
 * try (RequestServer server =
 *     RequestServer.open(new InetSocketAddress("10.9.0.1", 7471), settings, 1000, handler)) {
 *   server.run();
 * }
 * }
 *
 * <p><b>Threads.</b> {@link #run} reads the completions in the thread that calls it, and calls the
 * handler there; with an {@link Executor}, such as one of virtual threads, it calls the handler in
 * the executor's threads, several at a time.
 *
 * <p><b>Limits.</b> Each client may have {@link ConnectionSettings#withSends} requests under way;
 * the server has receive requests for all of them. A client that sends more, or a message that is
 * not a request, is disconnected; until then requests of others may wait for a receive request
 * (RNR, without a limit of retries). Clients beyond the maximum number are rejected, or
 * disconnected if another one was established meanwhile. A connection request that its peer does
 * not complete takes no place; further ones of an address wait while 16 of its requests are
 * incomplete. A large request that cannot be read for want of memory is answered by {@link
 * RequestFailedException}.
 *
 * <p><b>Failures.</b> A failure that one client causes ends its connection alone, and is logged.
 * {@link #run} throws when the device is removed.
 *
 * <p><b>Closing.</b> {@link #close} stops listening, disconnects the clients, and ends {@link
 * #run}.
 */
public final class RequestServer implements AutoCloseable {
  /** Answers requests. */
  @FunctionalInterface
  public interface Handler {
    /**
     * Answers a request.
     *
     * @param request the bytes of the request, valid until this method returns
     * @param answer memory for the answer, of the maximum size of a message
     * @return the length of the answer in bytes
     * @throws Exception if the request cannot be answered: the client's call throws {@link
     *     RequestFailedException} with its message
     */
    int answer(MemorySegment request, MemorySegment answer) throws Exception;
  }

  private static final int BATCH = 64;
  private static final int NOT_BEGUN = Integer.MIN_VALUE;
  private static final Duration SLICE = Duration.ofMillis(20);
  private static final Duration CLOSING_TIME = Duration.ofSeconds(5);

  /** The RNR retry count that is no limit. */
  private static final int UNLIMITED = 7;

  /** Between two requests for a connection that fail, perhaps for the same reason. */
  private static final long PAUSE_NANOS = 50_000_000;

  private final Listener listener;
  private final ConnectionSettings settings;

  /** A client that fills the receive queue must not let the messages of others fail. */
  private final ConnectionParameters parameters;

  private final Handler handler;
  private final @Nullable Executor executor;
  private final int limit;
  private final CompletionChannel channel;
  private final CompletionQueue queue;
  private final CompletionWaiter waiter;

  /** Those of one turn: more than a client may have sent, also if the others are answers. */
  private final Completions completions;

  /** Of which kind the requests are that were begun, or {@link #NOT_BEGUN}. */
  private final int[] kinds;

  private final ServedRequests requests;
  private final HalfOpenRequests<Endpoint> connecting = new HalfOpenRequests<>();
  private final int maxClients;

  /** The places that no connected client has. */
  private final Semaphore places;

  private final QueuePairMap<ServedClient> byNumber = new QueuePairMap<>();

  /** In the order in which they have connected. */
  private final Set<ServedClient> clients = Collections.synchronizedSet(new LinkedHashSet<>());

  private final Queue<ServedClient> ended = new ConcurrentLinkedQueue<>();

  /** What clients had that have ended. */
  private final Unclosed unclosed = new Unclosed();

  /** Held by {@link #run}. */
  private final ScopedLock running = new ScopedLock();

  /** The interval in nanoseconds, or 0; and when silent clients were asked, guarded by running. */
  private final long keepAlive;

  private long askedAt = Time.now();

  private final LeakReport leak;
  private volatile boolean closed;

  /** Whether {@link #close} waits no longer for the end of the clients. */
  private volatile boolean isLate;

  /** The end of the device, or null. */
  private volatile @Nullable ConnectionException removal;

  private RequestServer(
      Listener listener,
      ConnectionSettings settings,
      int maxClients,
      long largest,
      Handler handler,
      @Nullable Executor executor) {
    this.listener = listener;
    this.settings = settings;
    this.parameters = settings.parameters().withRnrRetryCount(UNLIMITED);
    this.maxClients = maxClients;
    this.places = new Semaphore(maxClients);
    this.handler = Objects.requireNonNull(handler, "handler");
    this.executor = executor;
    this.keepAlive = settings.keepAlive().map(Duration::toNanos).orElse(0L);
    this.limit = settings.sends();
    this.completions = new Completions(Math.max(BATCH, 2 * (limit + 1)));
    this.kinds = new int[completions.capacity()];
    int most = Math.multiplyExact(maxClients, limit);
    ProtectionDomain domain = listener.domain();
    int completionsOfAll =
        Math.addExact(Math.multiplyExact(4, most), 2 * maxClients + HalfOpenRequests.LIMIT);
    channel = domain.context().createCompletionChannel();
    try {
      queue =
          domain
              .context()
              .completionQueue(completionsOfAll)
              .channel(channel)
              .withoutCapacityWarning() // A client without a place posts its last request only.
              .create();
      waiter = new CompletionWaiter(queue, settings.spin());
      requests = new ServedRequests(domain, most, settings.messageSize(), largest);
    } catch (Throwable t) {
      AfterFailure.close(t, channel::close); // With its queue; the caller closes the rest.
      throw t;
    }
    leak = new LeakReport(toString());
    leak.watch(this);
    Thread.ofVirtual().name("clients of " + this).start(this::acceptAll);
  }

  /**
   * Opens a server whose handler is called by the thread of {@link #run}.
   *
   * @param local the address of a device
   * @param settings the settings: {@code withSends} is the limit of requests under way for each
   *     client
   * @param maxClients the maximum number of clients
   * @param handler answers the requests
   * @return the server, to be closed by the caller
   */
  public static RequestServer open(
      InetSocketAddress local, ConnectionSettings settings, int maxClients, Handler handler) {
    return open(local, settings, maxClients, settings.messageSize(), handler, null);
  }

  /**
   * Opens a server.
   *
   * @param local the address of a device
   * @param settings the settings: {@code withSends} is the limit of requests under way for each
   *     client
   * @param maxClients the maximum number of clients
   * @param largest the maximum size of a {@linkplain RequestClient#call(MemoryRegion, long, long,
   *     MemorySegment, Duration) large request}, in bytes; at most 2 GiB, the maximum of an RDMA
   *     read
   * @param handler answers the requests
   * @param executor calls the handler; null for the thread of {@link #run}
   * @return the server, to be closed by the caller
   */
  public static RequestServer open(
      InetSocketAddress local,
      ConnectionSettings settings,
      int maxClients,
      long largest,
      Handler handler,
      @Nullable Executor executor) {
    var _ = Ranges.positive(maxClients, "maximum number of clients");
    Listener listener = Listener.open(local);
    try {
      return new RequestServer(listener, settings, maxClients, largest, handler, executor);
    } catch (Throwable t) {
      AfterFailure.close(t, listener::close);
      throw t;
    }
  }

  /** {@return the local port of the server} */
  public int port() {
    return listener.port();
  }

  /** {@return the number of connected clients} */
  public int clients() {
    return maxClients - places.availablePermits();
  }

  // Clients

  private void acceptAll() {
    while (!closed && removal == null) {
      if (!ServiceLoop.attempt(this::acceptNext)) {
        Time.park(PAUSE_NANOS);
      }
    }
  }

  private void acceptNext() {
    try {
      listener.take(connecting);
      beginPending();
    } catch (InterruptedException e) {
      throw new AssertionError("the thread is not accessible to callers", e);
    } catch (ConnectionException e) {
      removal = e;
    } catch (IllegalStateException e) {
      if (!closed) {
        throw e;
      }
    }
  }

  private void beginPending() {
    connecting.begin(() -> Math.max(1, places.availablePermits()), this::beginServing);
  }

  private void beginServing(HalfOpenRequests.Pending<Endpoint> begun) {
    try {
      Thread.ofVirtual().name("client of " + this).start(() -> serve(begun));
    } catch (Throwable t) { // Such as OutOfMemoryError.
      AfterFailure.close(t, begun.request()::close);
      throw t;
    }
  }

  void endPending(HalfOpenRequests.Pending<Endpoint> begun) {
    connecting.end(begun);
    beginPending();
  }

  /** Returns the domain of all clients. */
  ProtectionDomain domain() {
    return listener.domain();
  }

  /** Takes the place of a connected client; returns false if there is none. */
  boolean tryTakePlace() {
    return places.tryAcquire();
  }

  /** Frees the place of a client. */
  void freePlace() {
    places.release();
  }

  /** A client has gone, whose last completions are to be read. */
  void ending(ServedClient client) {
    ended.add(client);
  }

  /** A client has no more completions. */
  void forget(ServedClient client) {
    byNumber.remove(client.queuePair().number());
  }

  /**
   * Closes what a client had, which has nothing under way. While the server is being closed, {@link
   * #close} does so, and throws what fails; otherwise it tries again what has failed.
   */
  void release(Endpoint endpoint, Runnable closing) {
    unclosed.add(closing);
    if (!closed || isLate) {
      boolean _ = ServiceLoop.attempt(() -> unclosed.close(closing));
    }
    endpoint.endWait(Inside.LIBRARY);
  }

  /** A client is no longer connected. */
  void closed(ServedClient client) {
    clients.remove(client);
  }

  /** Accepts a client if there is a place, and waits for its end. */
  private void serve(HalfOpenRequests.Pending<Endpoint> begun) {
    Endpoint request = begun.request();
    ServedClient client = null;
    try {
      RequestFrame.Terms terms =
          new RequestFrame.Terms(limit, settings.messageSize())
              .agreed(request.request().orElseThrow().privateData());
      if (places.availablePermits() > 0 && terms != null && !closed) {
        settings.setPassive(request.id().options());
        client = new ServedClient(this, begun, queue, requests, limit, terms.messageSize());
        clients.add(client);
        if (closed) { // Perhaps before it was added.
          throw new IllegalStateException(this + " is closed");
        }
        byNumber.put(client.queuePair(), client);
        request.accept(parameters, terms.toBytes(), settings.timeout());
        if (client.takePlace()) {
          var _ = request.awaitEnd(Deadline.NEVER);
        }
      } else {
        request.id().reject();
      }
    } catch (Throwable t) {
      System.getLogger("dev.verbena").log(System.Logger.Level.DEBUG, "client of " + this, t);
    }
    if (client != null) {
      client.beginEnd();
      if (closed) { // Otherwise close() ends it, which may have been too early.
        client.end();
      }
      return;
    }
    release(request, request::close);
    endPending(begun);
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
    if (!running.tryLock()) {
      throw new IllegalStateException("another thread runs " + this);
    }
    try (running) {
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
    for (int i = 0; i < count; i++) { // All before the first is answered: then it may send more.
      kinds[i] = begin(i);
    }
    for (int i = 0; i < count; i++) {
      completed(i);
    }
    boolean _ = ended.removeIf(ServedClient::postLast);
    if (keepAlive > 0) {
      requireAnswers(count < completions.capacity());
    }
  }

  /** Ends the clients that have gone without a word. */
  private void requireAnswers(boolean isDrained) {
    long now = Time.now();
    if (now - askedAt < keepAlive) {
      return;
    }
    askedAt = now;
    for (ServedClient client : List.copyOf(clients)) {
      try {
        client.requireAnswer(now, settings.keepAliveAnswer().toNanos(), isDrained);
      } catch (RuntimeException e) {
        abort(client, e);
      }
    }
  }

  /** Begins a request that has arrived, if it is one, and its client may; returns its kind. */
  private int begin(int index) {
    ServedClient client = byNumber.get(completions.queuePairNumber(index));
    if (client == null
        || completions.id(index) >= ServedClient.SEND
        || !completions.isSuccess(index)) {
      return NOT_BEGUN;
    }
    try { // The kind first: nothing fails between the begin of a request and what ends it.
      int kind = requests.kind((int) completions.id(index), completions.byteLength(index));
      return client.begin() ? kind : NOT_BEGUN;
    } catch (Throwable t) {
      abort(client, t);
      return NOT_BEGUN;
    }
  }

  /** Whatever a completion causes ends its client alone. */
  private void completed(int index) {
    ServedClient client = byNumber.get(completions.queuePairNumber(index));
    try {
      completed(client, completions.id(index), index);
    } catch (Throwable t) {
      abort(client, t);
    }
  }

  private void abort(@Nullable ServedClient client, Throwable reason) {
    boolean _ =
        ServiceLoop.attempt(
            () ->
                System.getLogger("dev.verbena")
                    .log(
                        System.Logger.Level.WARNING,
                        (client == null ? "a client" : client) + " of " + this + " failed",
                        reason));
    if (client != null) {
      client.disconnect();
    }
  }

  private void completed(@Nullable ServedClient client, long id, int index) {
    boolean good = completions.isSuccess(index);
    if (client != null && !good && id != ServedClient.LAST) {
      client.beginEnd(); // Without the event: a peer that was killed answers no disconnect request.
    }
    if (id < ServedClient.SEND) {
      if (client != null && good) {
        received(client, (int) id, completions.byteLength(index), kinds[index]);
      } else {
        requests.repost((int) id);
      }
    } else if (id == ServedClient.PROBE) {
      if (client != null) {
        client.answered();
      }
    } else if (id == ServedClient.LAST) {
      if (client != null) {
        client.end();
      }
    } else if (id >= ServedClient.READ) {
      int receive = (int) (id - ServedClient.READ);
      boolean isUnderWay = client != null && client.endRead();
      if (isUnderWay && good) {
        dispatch(client, receive);
      } else {
        discard(isUnderWay ? client : null, receive);
      }
    } else if (client != null) {
      int receive = client.freeAnswerPlace((int) (id - ServedClient.SEND));
      if (receive >= 0) {
        dispatch(client, receive);
      }
    }
  }

  private void received(ServedClient client, int receive, long length, int kind) {
    if (kind == NOT_BEGUN) {
      client.disconnect();
      requests.repost(receive);
    } else if (kind < 0) {
      client.disconnect();
      discard(client, receive);
    } else if (kind == RequestFrame.LARGE_REQUEST) {
      readLarge(client, receive);
    } else {
      requests.arrived(receive, length);
      dispatch(client, receive);
    }
  }

  /** Reads the bytes of a request from the client's memory, or refuses them. */
  private void readLarge(ServedClient client, int receive) {
    RemoteMemory remote = requests.remote(receive);
    MemoryRegion target;
    try {
      target = requests.allocate(receive, remote.length());
    } catch (Throwable t) { // Such as ENOMEM, or OutOfMemoryError.
      requests.refuse(receive, t);
      dispatch(client, receive);
      return;
    }
    try {
      client.read(receive, remote, target);
    } catch (Throwable t) {
      discard(client, receive);
      throw t;
    }
  }

  /** Ends a request without an answer. */
  private void discard(@Nullable ServedClient client, int receive) {
    drop(client, receive, 0, 0);
  }

  /** Answers a request, or leaves it until there is a place for its answer. */
  private void dispatch(ServedClient client, int receive) {
    int place = client.takeAnswerPlace(receive);
    if (place < 0) {
      return;
    }
    if (executor == null) {
      answer(client, receive, place);
      return;
    }
    try {
      executor.execute(() -> answer(client, receive, place));
    } catch (Throwable t) { // Such as RejectedExecutionException.
      requests.refuse(receive, t);
      answer(client, receive, place);
    }
  }

  /** Answers a request. What fails ends its client, but for the handler. */
  private void answer(ServedClient client, int receive, int place) {
    try {
      long length = 0;
      try {
        length = write(client, receive, place);
      } finally {
        drop(client, receive, place, length);
      }
    } catch (Throwable t) {
      abort(client, t);
    }
  }

  /** Writes the answer of the handler to a place, or its failure; returns the length. */
  private long write(ServedClient client, int receive, int place) {
    int kind = RequestFrame.ANSWER;
    int length;
    MemorySegment memory = client.answer(place);
    try {
      length = handler.answer(requests.bytes(receive), memory);
      Objects.checkFromIndexSize(0, length, (int) memory.byteSize());
    } catch (Throwable t) { // The client's call throws its message.
      kind = RequestFrame.FAILURE;
      String message = t.getMessage() == null ? t.toString() : t.getMessage();
      byte[] bytes = message.getBytes(StandardCharsets.UTF_8);
      length = (int) Math.min(bytes.length, memory.byteSize());
      MemorySegment.copy(MemorySegment.ofArray(bytes), 0, memory, 0, length);
    }
    client.writeHeader(place, receive, kind);
    return (long) RequestFrame.HEADER + length;
  }

  /** Posts the receive request of a request again, and ends the request. */
  private void drop(@Nullable ServedClient client, int receive, int place, long length) {
    try {
      requests.drop(receive);
    } finally {
      if (client != null) {
        client.finish(place, length);
      }
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
    // The clients close before the domain. If it ends with the listening, that ends last.
    AfterFailure.closeAll(
        () -> listener.stopIfDomainRemains(Inside.LIBRARY), this::closeAfterClients);
    leak.closed();
  }

  private void closeAfterClients() {
    List.copyOf(clients).forEach(client -> client.disconnect());
    boolean nobodyRuns =
        Uninterrupted.acquire(running, Deadline.after(CLOSING_TIME)::remainingNanos);
    try {
      List.copyOf(clients).forEach(ServedClient::end);
      Deadline gone = Deadline.after(CLOSING_TIME); // Not prolonged by an interrupt.
      boolean _ = Uninterrupted.await(() -> listener.awaitConnections(gone));
      isLate = true;
      AfterFailure.closeAll(unclosed::closeAll, listener::close, queue::close, channel::close);
    } finally {
      if (nobodyRuns) {
        running.unlock();
      }
    }
  }

  @Override
  public String toString() {
    return "server on " + listener;
  }
}
