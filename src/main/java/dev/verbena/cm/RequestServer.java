package dev.verbena.cm;

import dev.verbena.internal.AfterFailure;
import dev.verbena.internal.HalfOpenRequests;
import dev.verbena.internal.LeakReport;
import dev.verbena.internal.ServiceLoop;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairCapacity;
import dev.verbena.verbs.QueuePairMap;
import dev.verbena.verbs.QueuePairType;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A server that answers the requests of {@link RequestClient}s by a {@link RequestHandler}: all
 * clients share a completion queue and a shared receive queue.
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
 * the server has receive requests for all of them. A client that sends more, or what is no request,
 * is disconnected, and meanwhile requests of others may wait for a receive request (RNR, without a
 * limit of retries); clients beyond the maximum number are rejected, or disconnected if another one
 * was established meanwhile. A request for a connection that the client does not complete takes no
 * place; those of one address wait when 16 of them are incomplete. A large request that cannot be
 * read for want of memory is answered by {@link RequestFailedException}.
 *
 * <p><b>Failures.</b> A failure that one client causes ends its connection alone, and is logged.
 * {@link #run} throws when the device is removed.
 *
 * <p><b>Closing.</b> {@link #close} stops listening, disconnects the clients, and ends {@link
 * #run}.
 */
public final class RequestServer implements AutoCloseable {
  private static final int BATCH = 64;
  private static final Duration SLICE = Duration.ofMillis(20);
  private static final Duration CLOSING_TIME = Duration.ofSeconds(5);

  /** The ids of sends and reads are at least these; those of receives are smaller. */
  private static final long SEND = 1L << 32;

  private static final long READ = 1L << 33;

  /** The id of the last request of a queue pair: all of its completions have been read. */
  private static final long LAST = 1L << 34;

  /** The id of a keep-alive. */
  private static final long PROBE = 1L << 35;

  /** The maximum size of an RDMA read. */
  private static final long LARGEST_READ = 1L << 31;

  /** The RNR retry count that is no limit. */
  private static final int UNLIMITED = 7;

  /** Between two requests for a connection that fail, perhaps for the same reason. */
  private static final long PAUSE_NANOS = 50_000_000;

  private final Listener listener;
  private final ConnectionSettings settings;

  /** A client that fills the receive queue must not let the messages of others fail. */
  private final ConnectionParameters parameters;

  private final long largest;
  private final RequestHandler handler;
  private final @Nullable Executor executor;
  private final int limit;
  private final long stride;
  private final CompletionChannel channel;
  private final CompletionQueue queue;
  private final CompletionWaiter waiter;

  /** Those of one turn: more than a client may have sent, also if the others are answers. */
  private final Completions completions;

  /** Whether they are requests that were begun. */
  private final boolean[] begun;

  private final SharedReceiveQueue receiveQueue;
  private final MemoryRegion requests;
  private final ReceiveList receives;
  private final ReentrantLock posting = new ReentrantLock();

  /** The receive requests to post, which the queue did not take; guarded by the lock. */
  private final int[] unposted;

  private int unpostedCount;

  /** The lengths of requests, by receive request. */
  private final long[] lengths;

  /** The bytes of large requests, by receive request. */
  private final @Nullable MemoryRegion[] large;

  /** Why requests are not answered by the handler, by receive request. */
  private final @Nullable Throwable[] refused;

  private final HalfOpenRequests<Endpoint> connecting = new HalfOpenRequests<>();
  private final int maxClients;

  /** The places that no connected client has. */
  private final Semaphore places;

  private final QueuePairMap<Client> byNumber = new QueuePairMap<>();
  private final Set<Client> clients = ConcurrentHashMap.newKeySet();
  private final Queue<Client> ended = new ConcurrentLinkedQueue<>();

  /** Held by {@link #run}. */
  private final ReentrantLock running = new ReentrantLock();

  /** The interval in nanoseconds, or 0; and when silent clients were asked, guarded by running. */
  private final long keepAlive;

  private long askedAt = System.nanoTime();

  private final LeakReport leak;
  private volatile boolean closed;

  /** The end of the device, or null. */
  private volatile @Nullable ConnectionException removal;

  /** A client that is connected, or connects. */
  private final class Client {
    private final HalfOpenRequests.Pending<Endpoint> pending;
    private final Endpoint endpoint;
    private final QueuePair queuePair;
    private final MemoryRegion answers;
    private final SendList sends = new SendList(2 * limit, 1);
    private final SendList reads = new SendList(limit, 1);

    /** The free places for answers, and requests that wait for one; guarded by the lock. */
    private final int[] free = new int[2 * limit];

    private int freeCount;
    private final int[] waiting = new int[limit];
    private int waitingCount;
    private final ReentrantLock lock = new ReentrantLock();

    private final int messageSize;

    /** The requests that were not answered; guarded by the lock. */
    private int underWay;

    /** The RDMA reads that have not completed; guarded by the lock. */
    private int reading;

    private boolean hasPlace;

    /** Whether something was received since the last interval, and a keep-alive is outstanding. */
    private boolean isHeard;

    private boolean isProbed;
    private long probedAt;
    private boolean left;
    private boolean gone;
    private boolean destroyed;

    Client(HalfOpenRequests.Pending<Endpoint> pending, int messageSize) {
      this.pending = pending;
      this.endpoint = pending.request();
      this.messageSize = messageSize;
      ProtectionDomain domain = listener.domain();
      queuePair =
          endpoint
              .id()
              .queues()
              .createQueuePair(
                  domain
                      .queuePair(QueuePairType.RC)
                      .completions(queue)
                      .sharedReceiveQueue(receiveQueue)
                      .capacity(QueuePairCapacity.of(3 * limit + 2)));
      answers = domain.allocateMemory(2L * limit * stride, AccessFlag.LOCAL_WRITE);
      for (int i = 0; i < 2 * limit; i++) {
        free[freeCount++] = i;
      }
    }

    /** Takes a place for an answer; -1 if the request must wait for one. */
    private int place(int receive) {
      lock.lock();
      try {
        if (freeCount == 0) {
          waiting[waitingCount++] = receive;
          return -1;
        }
        return free[--freeCount];
      } finally {
        lock.unlock();
      }
    }

    /** Frees a place; returns a request that waited for it, or -1. */
    private int freePlace(int place) {
      lock.lock();
      try {
        free[freeCount++] = place;
        if (waitingCount == 0) {
          return -1;
        }
        int first = waiting[0];
        waitingCount--;
        System.arraycopy(waiting, 1, waiting, 0, waitingCount);
        return first;
      } finally {
        lock.unlock();
      }
    }

    /**
     * Takes a place, unless the client has one: when the connection is established, or the first
     * message arrives before that. Returns false if there is none.
     */
    private boolean enter() {
      lock.lock();
      try {
        if (!hasPlace && !gone && places.tryAcquire()) {
          hasPlace = true;
          endPending(pending);
        }
        return hasPlace;
      } finally {
        lock.unlock();
      }
    }

    /** Begins a request; returns false if the client has too many, or no place. */
    private boolean begin() {
      lock.lock();
      try {
        if (underWay == limit || !enter()) {
          return false;
        }
        isHeard = true;
        underWay++;
        return true;
      } finally {
        lock.unlock();
      }
    }

    /**
     * Ends a request with its answer, or without one if the length is 0; and what the client has if
     * it was the last one of a client that has gone.
     */
    private void finish(int place, long length) {
      lock.lock();
      try {
        underWay--; // Before the client may send the next request.
        if (!gone && length > 0) {
          sends.send(place).id(SEND + place).local(answers, place * stride, length).signaled();
          if (queuePair.post(sends, place, 1) == 0) {
            throw new IllegalStateException(queuePair + " is full of answers");
          }
        }
      } finally {
        lock.unlock();
        destroyIfLast();
      }
    }

    private void read(int receive, RemoteMemory remote, MemoryRegion target) {
      lock.lock();
      try {
        int index = Math.floorMod(RequestFrame.slot(requests.memory(), receive * stride), limit);
        reads
            .read(index)
            .id(READ + receive)
            .local(target, 0, remote.length())
            .remote(remote.address(), remote.rkey())
            .signaled();
        if (queuePair.post(reads, index, 1) == 0) {
          throw new IllegalStateException(queuePair + " is full of reads");
        }
        reading++;
      } finally {
        lock.unlock();
      }
    }

    private void endRead() {
      lock.lock();
      try {
        reading--;
      } finally {
        lock.unlock();
      }
    }

    /**
     * Writes zero bytes to the memory of a silent client, which its device acknowledges; otherwise
     * the client has gone. Not behind an RDMA read, which may take long, and which the device
     * retries.
     *
     * @param isDrained whether all completions were read: none is an acknowledgement
     */
    private void requireAnswer(long now, boolean isDrained) {
      boolean isSilent = false;
      lock.lock();
      try {
        if (!hasPlace || left || gone) {
          return;
        }
        if (isProbed) {
          isSilent =
              !isHeard && isDrained && now - probedAt >= settings.keepAliveAnswer().toNanos();
        } else if (!isHeard && reading == 0) {
          SendList nothing = new SendList(1, 1);
          nothing.write(0).id(PROBE).remote(0, 0).signaled();
          isProbed = queuePair.post(nothing) == 1;
          probedAt = now;
        }
        isHeard = false;
      } finally {
        lock.unlock();
      }
      if (isSilent) {
        leave();
      }
    }

    private void answered() {
      lock.lock();
      try {
        isProbed = false;
      } finally {
        lock.unlock();
      }
    }

    /** Disconnects; {@link #run} ends the client when all of its completions have been read. */
    private void leave() {
      endpoint.id().endQuietly();
      lock.lock();
      try {
        if (!left) {
          ended.add(this);
        }
        left = true;
      } finally {
        lock.unlock();
      }
    }

    /**
     * Posts the last request of a queue pair in state ERR, whose completion follows all others;
     * returns false if the queue is full of flushed requests.
     */
    private boolean postLast() {
      try {
        SendList nothing = new SendList(1, 1);
        nothing.write(0).id(LAST).remote(0, 0).signaled();
        return queuePair.post(nothing) == 1;
      } catch (RuntimeException e) { // Nothing completes any more, or close() has ended it.
        end();
        return true;
      }
    }

    /** Ends a client whose completions have been read. */
    private void end() {
      int[] dropped;
      lock.lock();
      try {
        gone = true;
        dropped = Arrays.copyOf(waiting, waitingCount);
        underWay -= waitingCount;
        waitingCount = 0;
      } finally {
        lock.unlock();
      }
      for (int receive : dropped) {
        boolean _ = ServiceLoop.attempt(() -> drop(receive));
      }
      destroyIfLast();
    }

    private void destroyIfLast() {
      lock.lock();
      try {
        if (!gone || underWay > 0 || destroyed) {
          return;
        }
        destroyed = true;
      } finally {
        lock.unlock();
      }
      byNumber.remove(queuePair.number());
      if (hasPlace) { // Before the endpoint, for which the close of the server waits.
        places.release();
      }
      boolean _ = ServiceLoop.attempt(endpoint::close);
      boolean _ = ServiceLoop.attempt(answers::close);
      clients.remove(this);
      if (!hasPlace) {
        endPending(pending);
      }
    }
  }

  private RequestServer(
      Listener listener,
      ConnectionSettings settings,
      int maxClients,
      long largest,
      RequestHandler handler,
      @Nullable Executor executor) {
    this.listener = listener;
    this.settings = settings;
    this.parameters = settings.parameters().withRnrRetryCount(UNLIMITED);
    this.maxClients = maxClients;
    this.places = new Semaphore(maxClients);
    this.largest = Math.min(largest, LARGEST_READ);
    this.handler = Objects.requireNonNull(handler, "handler");
    this.executor = executor;
    this.keepAlive = settings.keepAlive().map(Duration::toNanos).orElse(0L);
    this.limit = settings.sends();
    this.completions = new Completions(Math.max(BATCH, 2 * (limit + 1)));
    this.begun = new boolean[completions.capacity()];
    this.stride =
        (RequestFrame.HEADER + Math.max(RemoteMemory.SIZE, settings.messageSize()) + 7L) & -8L;
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
      receiveQueue = domain.sharedReceiveQueue(most).create();
      requests = domain.allocateMemory(most * stride, AccessFlag.LOCAL_WRITE);
      receives = new ReceiveList(most, 1);
      large = new MemoryRegion[most];
      lengths = new long[most];
      refused = new Throwable[most];
      unposted = new int[most];
      for (int i = 0; i < most; i++) {
        receives.id(i, i);
        receives.local(i, requests, i * stride, stride);
      }
      if (receiveQueue.post(receives) < most) {
        throw new IllegalStateException(receiveQueue + " takes fewer requests than " + most);
      }
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
      InetSocketAddress local,
      ConnectionSettings settings,
      int maxClients,
      RequestHandler handler) {
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
      RequestHandler handler,
      @Nullable Executor executor) {
    if (maxClients < 1) {
      throw new IllegalArgumentException(
          "maximum number of clients must be positive: " + maxClients);
    }
    Listener listener = Listener.open(local);
    try {
      return new RequestServer(listener, settings, maxClients, largest, handler, executor);
    } catch (Throwable t) {
      AfterFailure.close(t, listener::close);
      throw t;
    }
  }

  /**
   * Returns the local port of the server.
   *
   * @return the port
   */
  public int port() {
    return listener.port();
  }

  /**
   * Returns the number of connected clients.
   *
   * @return the number
   */
  public int clients() {
    return maxClients - places.availablePermits();
  }

  // Clients

  private void acceptAll() {
    while (!closed && removal == null) {
      if (!ServiceLoop.attempt(this::acceptNext)) {
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
  }

  private void acceptNext() {
    try {
      Endpoint request = listener.take();
      boolean waits = false;
      try {
        waits = connecting.add(request.id().peerAddress(), request);
      } finally {
        if (!waits) {
          request.close();
        }
      }
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

  private void endPending(HalfOpenRequests.Pending<Endpoint> begun) {
    connecting.end(begun);
    beginPending();
  }

  /** Accepts a client if there is a place, and waits for its end. */
  private void serve(HalfOpenRequests.Pending<Endpoint> begun) {
    Endpoint request = begun.request();
    Client client = null;
    try {
      RequestFrame.Terms terms =
          new RequestFrame.Terms(limit, settings.messageSize())
              .agreed(request.request().orElseThrow().privateData());
      if (places.availablePermits() > 0 && terms != null && !closed) {
        settings.setPassive(request.id().options());
        client = new Client(begun, terms.messageSize());
        clients.add(client);
        if (closed) { // Perhaps before it was added.
          throw new IllegalStateException(this + " is closed");
        }
        byNumber.put(client.queuePair, client);
        request.accept(parameters, terms.toBytes(), settings.timeout());
        if (client.enter()) {
          var _ = request.awaitEnd(Deadline.NEVER);
        }
      } else {
        request.id().reject();
      }
    } catch (Throwable t) {
      System.getLogger("dev.verbena").log(System.Logger.Level.DEBUG, "client of " + this, t);
    }
    if (client != null) {
      client.leave();
      if (closed) { // Otherwise close() ends it, which may have been too early.
        client.end();
      }
      return;
    }
    try {
      request.close();
    } finally {
      endPending(begun);
    }
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
    try {
      while (!closed) {
        ConnectionException end = removal;
        if (end != null) {
          throw end;
        }
        turn();
      }
    } finally {
      running.unlock();
    }
  }

  private void turn() throws InterruptedException {
    int count = waiter.poll(completions, SLICE);
    for (int i = 0; i < count; i++) { // All before the first is answered: then it may send more.
      begun[i] = begin(i);
    }
    for (int i = 0; i < count; i++) {
      completed(i);
    }
    for (Client client = ended.peek(); client != null && client.postLast(); client = ended.peek()) {
      ended.remove();
    }
    if (keepAlive > 0) {
      requireAnswers(count < completions.capacity());
    }
  }

  /** Ends the clients that have gone without a word. */
  private void requireAnswers(boolean isDrained) {
    long now = System.nanoTime();
    if (now - askedAt < keepAlive) {
      return;
    }
    askedAt = now;
    for (Client client : clients) {
      try {
        client.requireAnswer(now, isDrained);
      } catch (RuntimeException e) {
        abort(client, e);
      }
    }
  }

  /** Begins a request that has arrived; returns false if it is none, or its client may not. */
  private boolean begin(int index) {
    Client client = byNumber.get(completions.queuePairNumber(index));
    if (client == null || completions.id(index) >= SEND || !completions.isSuccess(index)) {
      return false;
    }
    try {
      return client.begin();
    } catch (Throwable t) {
      abort(client, t);
      return false;
    }
  }

  /** Whatever a completion causes ends its client alone. */
  private void completed(int index) {
    Client client = byNumber.get(completions.queuePairNumber(index));
    try {
      completed(client, completions.id(index), index);
    } catch (Throwable t) {
      abort(client, t);
    }
  }

  private void abort(@Nullable Client client, Throwable reason) {
    boolean _ =
        ServiceLoop.attempt(
            () ->
                System.getLogger("dev.verbena")
                    .log(
                        System.Logger.Level.WARNING,
                        (client == null ? "a client" : client.endpoint) + " of " + this + " failed",
                        reason));
    if (client != null) {
      client.endpoint.id().endQuietly();
    }
  }

  private void completed(@Nullable Client client, long id, int index) {
    boolean good = completions.isSuccess(index);
    if (client != null && !good && id != LAST) {
      client.leave(); // Without the event: a peer that was killed answers no disconnect request.
    }
    if (id < SEND) {
      if (client != null && good) {
        received(client, (int) id, completions.byteLength(index), begun[index]);
      } else {
        post((int) id);
      }
    } else if (id == PROBE) {
      if (client != null) {
        client.answered();
      }
    } else if (id == LAST) {
      if (client != null) {
        client.end();
      }
    } else if (id >= READ) {
      int receive = (int) (id - READ);
      if (client != null) {
        client.endRead();
      }
      if (client != null && good) {
        dispatch(client, receive);
      } else {
        discard(client, receive);
      }
    } else if (client != null) {
      int receive = client.freePlace((int) (id - SEND));
      if (receive >= 0) {
        dispatch(client, receive);
      }
    }
  }

  private void received(Client client, int receive, long length, boolean hasBegun) {
    MemorySegment memory = requests.memory();
    long at = receive * stride;
    int kind = length < RequestFrame.HEADER ? -1 : RequestFrame.kind(memory, at);
    boolean isLarge =
        kind == RequestFrame.LARGE_REQUEST && length >= RequestFrame.HEADER + RemoteMemory.SIZE;
    if (!hasBegun) {
      client.endpoint.id().endQuietly();
      post(receive);
    } else if (kind != RequestFrame.REQUEST && !isLarge) {
      client.endpoint.id().endQuietly();
      discard(client, receive);
    } else if (isLarge) {
      readLarge(client, receive, RequestFrame.remote(memory, at));
    } else {
      lengths[receive] = length - RequestFrame.HEADER;
      dispatch(client, receive);
    }
  }

  /** Reads the bytes of a request from the client's memory, or refuses them. */
  private void readLarge(Client client, int receive, RemoteMemory remote) {
    long length = remote.length();
    try {
      if (length > largest) {
        throw new IllegalArgumentException(
            "request of " + length + " bytes exceeds the maximum of the server: " + largest);
      }
      large[receive] =
          listener.domain().allocateMemory(Math.max(1, length), AccessFlag.LOCAL_WRITE);
    } catch (Throwable t) { // Such as ENOMEM, or OutOfMemoryError.
      refused[receive] = t;
      dispatch(client, receive);
      return;
    }
    lengths[receive] = length;
    try {
      client.read(receive, remote, large[receive]);
    } catch (Throwable t) {
      discard(client, receive);
      throw t;
    }
  }

  /** Ends a request without an answer. */
  private void discard(@Nullable Client client, int receive) {
    drop(client, receive, 0, 0);
  }

  /** Answers a request, or leaves it until there is a place for its answer. */
  private void dispatch(Client client, int receive) {
    int place = client.place(receive);
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
      refused[receive] = t;
      answer(client, receive, place);
    }
  }

  /** Answers a request. What fails ends its client, but for the handler. */
  private void answer(Client client, int receive, int place) {
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
  private long write(Client client, int receive, int place) {
    long at = place * stride;
    int kind = RequestFrame.ANSWER;
    int length;
    try {
      MemorySegment memory =
          client.answers.memory().asSlice(at + RequestFrame.HEADER, client.messageSize);
      length = handler.answer(request(receive), memory);
      Objects.checkFromIndexSize(0, length, client.messageSize);
    } catch (Throwable t) { // The client's call throws its message.
      kind = RequestFrame.FAILURE;
      length = write(client, place, t);
    }
    MemorySegment memory = requests.memory();
    int slot = RequestFrame.slot(memory, receive * stride);
    int sequence = RequestFrame.sequence(memory, receive * stride);
    RequestFrame.write(client.answers.memory(), at, slot, sequence, kind);
    return (long) RequestFrame.HEADER + length;
  }

  private MemorySegment request(int receive) throws Throwable {
    Throwable reason = refused[receive];
    if (reason != null) {
      throw reason;
    }
    long length = lengths[receive];
    MemoryRegion region = large[receive];
    MemorySegment bytes =
        region == null
            ? requests.memory().asSlice(receive * stride + RequestFrame.HEADER, length)
            : region.memory().asSlice(0, length);
    return bytes.asReadOnly();
  }

  /** Writes the message of an exception in the place of an answer; returns its length. */
  private int write(Client client, int place, Throwable t) {
    String message = t.getMessage() == null ? t.toString() : t.getMessage();
    byte[] bytes = message.getBytes(StandardCharsets.UTF_8);
    int length = Math.min(bytes.length, client.messageSize);
    MemorySegment.copy(
        MemorySegment.ofArray(bytes),
        0,
        client.answers.memory(),
        place * stride + RequestFrame.HEADER,
        length);
    return length;
  }

  /** Posts the receive request of a request again, and ends the request. */
  private void drop(@Nullable Client client, int receive, int place, long length) {
    try {
      drop(receive);
    } finally {
      if (client != null) {
        client.finish(place, length);
      }
    }
  }

  /** Posts the receive request of a request again, which is no longer used. */
  private void drop(int receive) {
    MemoryRegion region = large[receive];
    large[receive] = null;
    refused[receive] = null;
    try {
      if (region != null) {
        region.close();
      }
    } finally {
      post(receive);
    }
  }

  private void post(int receive) {
    posting.lock();
    try {
      unposted[unpostedCount++] = receive;
      while (unpostedCount > 0 && receiveQueue.post(receives, unposted[unpostedCount - 1], 1) > 0) {
        unpostedCount--;
      }
    } finally {
      posting.unlock();
    }
  }

  /**
   * Stops listening, disconnects the clients, and ends {@link #run}. Waits up to five seconds for
   * handlers.
   */
  @Override
  public void close() {
    closed = true;
    boolean _ = ServiceLoop.attempt(listener::stop);
    clients.forEach(client -> client.endpoint.id().endQuietly());
    boolean nobodyRuns = Uninterrupted.acquire(running, Deadline.after(CLOSING_TIME));
    try {
      clients.forEach(Client::end);
      boolean _ = Uninterrupted.await(() -> listener.hasNoConnections(CLOSING_TIME));
      listener.close();
      queue.close();
      channel.close();
      leak.closed();
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
