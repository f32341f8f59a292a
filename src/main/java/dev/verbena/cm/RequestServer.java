package dev.verbena.cm;

import dev.verbena.internal.AfterFailure;
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
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
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
 * the server has receive requests for all of them. A client that sends more is disconnected;
 * clients beyond the maximum number are rejected.
 *
 * <p><b>Closing.</b> {@link #close} stops listening, disconnects the clients, and ends {@link
 * #run}.
 */
public final class RequestServer implements AutoCloseable {
  private static final Duration SLICE = Duration.ofMillis(20);
  private static final Duration CLOSING_TIME = Duration.ofSeconds(5);

  /** The ids of sends and reads are at least these; those of receives are smaller. */
  private static final long SEND = 1L << 32;

  private static final long READ = 1L << 33;

  private final Listener listener;
  private final ConnectionSettings settings;
  private final int maxClients;
  private final long largest;
  private final RequestHandler handler;
  private final @Nullable Executor executor;
  private final int limit;
  private final long stride;
  private final CompletionChannel channel;
  private final CompletionQueue queue;
  private final CompletionWaiter waiter;
  private final Completions completions = new Completions(64);
  private final SharedReceiveQueue receiveQueue;
  private final MemoryRegion requests;
  private final ReceiveList receives;
  private final ReentrantLock posting = new ReentrantLock();

  /** The lengths of requests, by receive request. */
  private final long[] lengths;

  /** The bytes of large requests, by receive request. */
  private final @Nullable MemoryRegion[] large;

  private final QueuePairMap<Client> byNumber = new QueuePairMap<>();
  private final Set<Client> clients = ConcurrentHashMap.newKeySet();
  private final Queue<Client> ended = new ConcurrentLinkedQueue<>();

  /** Held by {@link #run}. */
  private final ReentrantLock running = new ReentrantLock();

  private final LeakReport leak;
  private volatile boolean closed;

  /** A connected client. */
  private final class Client {
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

    private boolean gone;

    Client(Endpoint endpoint, int messageSize) {
      this.endpoint = endpoint;
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
                      .capacity(QueuePairCapacity.of(3 * limit)));
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

    /** Begins a request; returns false if the client has too many. */
    private boolean begin() {
      lock.lock();
      try {
        underWay++;
        return underWay <= limit;
      } finally {
        lock.unlock();
      }
    }

    /** Sends an answer, unless the client has gone. */
    private void send(int place, long length) {
      lock.lock();
      try {
        if (!gone) {
          long at = place * stride;
          sends.send(place).id(SEND + place).local(answers, at, length).signaled();
          if (queuePair.post(sends, place, 1) == 0) {
            throw new IllegalStateException(queuePair + " is full of answers");
          }
        }
      } finally {
        lock.unlock();
      }
    }

    /** Ends a request, and what the client has if it was the last one of a client that has gone. */
    private void finish() {
      boolean last;
      lock.lock();
      try {
        underWay--;
        last = gone && underWay == 0;
      } finally {
        lock.unlock();
      }
      if (last) {
        destroy();
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
      } finally {
        lock.unlock();
      }
    }

    /** Ends a client whose completions have been read. */
    private void end() {
      boolean last;
      lock.lock();
      try {
        gone = true;
        for (int i = 0; i < waitingCount; i++) {
          drop(waiting[i]);
        }
        underWay -= waitingCount;
        waitingCount = 0;
        last = underWay == 0;
      } finally {
        lock.unlock();
      }
      if (last) {
        destroy();
      }
    }

    private void destroy() {
      byNumber.remove(queuePair.number());
      endpoint.close();
      answers.close();
      clients.remove(this);
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
    this.maxClients = maxClients;
    this.largest = largest;
    this.handler = Objects.requireNonNull(handler, "handler");
    this.executor = executor;
    this.limit = settings.sends();
    this.stride =
        (RequestFrame.HEADER + Math.max(RemoteMemory.SIZE, settings.messageSize()) + 7L) & -8L;
    int most = Math.multiplyExact(maxClients, limit);
    ProtectionDomain domain = listener.domain();
    channel = domain.context().createCompletionChannel();
    queue = domain.context().completionQueue(Math.multiplyExact(4, most)).channel(channel).create();
    waiter = new CompletionWaiter(queue, settings.spin());
    receiveQueue = domain.sharedReceiveQueue(most).create();
    requests = domain.allocateMemory(most * stride, AccessFlag.LOCAL_WRITE);
    receives = new ReceiveList(most, 1);
    large = new MemoryRegion[most];
    lengths = new long[most];
    for (int i = 0; i < most; i++) {
      receives.id(i, i);
      receives.local(i, requests, i * stride, stride);
    }
    if (receiveQueue.post(receives) < most) {
      throw new IllegalStateException(receiveQueue + " takes fewer requests than " + most);
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
   *     MemorySegment, Duration) large request}, in bytes
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
    return clients.size();
  }

  // Clients

  private void acceptAll() {
    while (!closed) {
      boolean _ = ServiceLoop.attempt(this::acceptNext);
    }
  }

  private void acceptNext() {
    try {
      Endpoint request = listener.take();
      Thread.ofVirtual().name("client of " + this).start(() -> serve(request));
    } catch (InterruptedException e) {
      throw new AssertionError("the thread is not accessible to callers", e);
    } catch (IllegalStateException e) {
      if (!closed) {
        throw e;
      }
    }
  }

  /** Accepts a client, and waits for its end. */
  private void serve(Endpoint request) {
    Client client = null;
    try {
      RequestFrame.Terms terms =
          new RequestFrame.Terms(limit, settings.messageSize())
              .agreed(request.request().orElseThrow().privateData());
      if (terms == null || clients.size() >= maxClients || closed) {
        request.id().reject();
        request.close();
        return;
      }
      settings.setPassive(request.id().options());
      client = new Client(request, terms.messageSize());
      clients.add(client);
      byNumber.put(client.queuePair, client);
      request.accept(settings.parameters(), terms.toBytes(), settings.timeout());
      var _ = request.awaitEnd(Deadline.NEVER);
    } catch (Exception e) {
      System.getLogger("dev.verbena").log(System.Logger.Level.DEBUG, "client of " + this, e);
    }
    if (client == null) {
      request.close();
    } else {
      ended.add(client);
    }
  }

  // Requests

  /**
   * Answers requests until the server is closed.
   *
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if another thread runs the server
   */
  public void run() throws InterruptedException {
    if (!running.tryLock()) {
      throw new IllegalStateException("another thread runs " + this);
    }
    try {
      while (!closed) {
        turn();
      }
    } finally {
      running.unlock();
    }
  }

  private void turn() throws InterruptedException {
    int count = waiter.poll(completions, SLICE);
    if (count == 0) {
      closeEnded(); // All of their completions have been read.
    }
    for (int i = 0; i < count; i++) {
      completed(i);
    }
  }

  private void closeEnded() {
    for (Client client = ended.poll(); client != null; client = ended.poll()) {
      boolean _ = ServiceLoop.attempt(client::end);
    }
  }

  private void completed(int index) {
    long id = completions.id(index);
    boolean good = completions.isSuccess(index);
    Client client = byNumber.get(completions.queuePairNumber(index));
    if (client != null && !good) {
      client.endpoint.id().endQuietly(); // Its queue pair is in state ERR.
    }
    if (id < SEND) {
      if (client != null && good) {
        received(client, (int) id, completions.byteLength(index));
      } else {
        post((int) id);
      }
    } else if (id >= READ) {
      int receive = (int) (id - READ);
      if (client != null && good) {
        dispatch(client, receive);
      } else {
        drop(receive);
        if (client != null) {
          client.finish();
        }
      }
    } else if (client != null) {
      int receive = client.freePlace((int) (id - SEND));
      if (receive >= 0) {
        dispatch(client, receive);
      }
    }
  }

  private void received(Client client, int receive, long length) {
    long at = receive * stride;
    MemorySegment memory = requests.memory();
    if (length < RequestFrame.HEADER || !client.begin()) {
      client.endpoint.id().endQuietly();
      post(receive);
    } else if (RequestFrame.kind(memory, at) == RequestFrame.LARGE_REQUEST
        && length >= RequestFrame.HEADER + RemoteMemory.SIZE) {
      readLarge(client, receive, RequestFrame.remote(memory, at));
    } else {
      lengths[receive] = length - RequestFrame.HEADER;
      dispatch(client, receive);
    }
  }

  /** Reads the bytes of a request from the client's memory; refuses more than the server takes. */
  private void readLarge(Client client, int receive, RemoteMemory remote) {
    if (remote.length() > largest) {
      lengths[receive] = -remote.length();
      dispatch(client, receive);
      return;
    }
    MemoryRegion target =
        listener.domain().allocateMemory(Math.max(1, remote.length()), AccessFlag.LOCAL_WRITE);
    large[receive] = target;
    lengths[receive] = remote.length();
    client.read(receive, remote, target);
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
    } catch (RejectedExecutionException e) {
      reply(client, receive, place, RequestFrame.FAILURE, write(client, place, e));
    }
  }

  private void answer(Client client, int receive, int place) {
    int kind = RequestFrame.ANSWER;
    int length;
    try {
      MemorySegment memory =
          client.answers.memory().asSlice(place * stride + RequestFrame.HEADER, client.messageSize);
      length = handler.answer(request(receive), memory);
      Objects.checkFromIndexSize(0, length, client.messageSize);
    } catch (Throwable t) { // The client's call throws its message.
      kind = RequestFrame.FAILURE;
      length = write(client, place, t);
    }
    reply(client, receive, place, kind, length);
  }

  private MemorySegment request(int receive) {
    long length = lengths[receive];
    if (length < 0) {
      throw new IllegalArgumentException(
          "request of " + -length + " bytes exceeds the maximum of the server: " + largest);
    }
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

  private void reply(Client client, int receive, int place, int kind, int length) {
    MemorySegment memory = requests.memory();
    long at = receive * stride;
    RequestFrame.write(
        client.answers.memory(),
        place * stride,
        RequestFrame.slot(memory, at),
        RequestFrame.sequence(memory, at),
        kind);
    drop(receive); // Before the client may send the next request.
    client.send(place, RequestFrame.HEADER + length);
    client.finish();
  }

  /** Posts the receive request of a request again, which is no longer used. */
  private void drop(int receive) {
    MemoryRegion region = large[receive];
    if (region != null) {
      large[receive] = null;
      region.close();
    }
    post(receive);
  }

  private void post(int receive) {
    posting.lock();
    try {
      if (receiveQueue.post(receives, receive, 1) == 0) {
        throw new IllegalStateException(receiveQueue + " is full");
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
    listener.stop();
    clients.forEach(client -> client.endpoint.id().endQuietly());
    boolean nobodyRuns = Connection.acquire(running, Deadline.after(CLOSING_TIME));
    try {
      clients.forEach(Client::end);
      boolean _ = Connection.uninterrupted(() -> listener.hasNoConnections(CLOSING_TIME));
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
