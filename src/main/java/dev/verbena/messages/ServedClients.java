package dev.verbena.messages;

import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Listener;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.HalfOpenRequests;
import dev.verbena.internal.Inside;
import dev.verbena.internal.MessageCounter;
import dev.verbena.internal.MessageCounters;
import dev.verbena.internal.Unclosed;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.internal.io.ServiceLoop;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.time.Time;
import dev.verbena.internal.time.Uninterrupted;
import dev.verbena.util.QueuePairMap;
import dev.verbena.verbs.CompletionQueue;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The clients of a server, and those that connect. A virtual thread takes connection requests, and
 * one for each of them waits until it is established.
 */
final class ServedClients {
  /** Between two requests for a connection that fail, perhaps for the same reason. */
  private static final long PAUSE_NANOS = 50_000_000;

  private final RequestServer server;
  private final Listener listener;
  private final CompletionQueue queue;
  private final ConnectionSettings settings;
  private final int most;
  private final MessageCounters counters;
  private final HalfOpenRequests<Endpoint> connecting = new HalfOpenRequests<>();

  /** The places that no connected client has. */
  private final Semaphore places;

  private final QueuePairMap<ServedClient> byNumber = new QueuePairMap<>();

  /** In the order in which they have connected. */
  private final Set<ServedClient> all = Collections.synchronizedSet(new LinkedHashSet<>());

  private final Queue<ServedClient> ending = new ConcurrentLinkedQueue<>();

  /** What clients had that have ended. */
  private final Unclosed unclosed = new Unclosed();

  /** Whether the server waits no longer for the end of the clients. */
  private volatile boolean isLate;

  /** Begins to accept clients. */
  ServedClients(
      RequestServer server,
      Listener listener,
      CompletionQueue queue,
      ConnectionSettings settings,
      int most) {
    this.server = server;
    this.listener = listener;
    this.queue = queue;
    this.settings = settings;
    this.most = most;
    this.counters = Core.of(server.domain()).device().counters();
    this.places = new Semaphore(most);
    Thread.ofVirtual().name("clients of " + server).start(this::acceptAll);
  }

  /** Returns the number of connected clients. */
  int count() {
    return most - places.availablePermits();
  }

  @Nullable ServedClient get(int queuePairNumber) {
    return byNumber.get(queuePairNumber);
  }

  List<ServedClient> all() {
    synchronized (all) {
      return new ArrayList<>(all);
    }
  }

  /** Does something for each client; what that throws ends the client. */
  void forEach(Consumer<ServedClient> action) {
    for (ServedClient client : all()) {
      try {
        action.accept(client);
      } catch (Throwable t) {
        server.abort(client, t);
      }
    }
  }

  // Connecting

  private void acceptAll() {
    while (server.mayAccept()) {
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
      server.removed(e);
    } catch (IllegalStateException e) {
      if (server.mayAccept()) {
        throw e;
      }
    }
  }

  private void beginPending() {
    connecting.begin(() -> Math.max(1, places.availablePermits()), this::beginServing);
  }

  private void beginServing(HalfOpenRequests.Pending<Endpoint> begun) {
    try {
      Thread.ofVirtual().name("client of " + server).start(() -> serve(begun));
    } catch (Throwable t) { // Such as OutOfMemoryError.
      AfterFailure.close(t, begun.request()::close);
      throw t;
    }
  }

  /** A connection is established, or has failed before. */
  void endPending(HalfOpenRequests.Pending<Endpoint> begun) {
    connecting.end(begun);
    boolean _ = ServiceLoop.attempt(this::beginPending); // What fails is not of this client.
  }

  /** Accepts a client if there is a place. */
  private void serve(HalfOpenRequests.Pending<Endpoint> begun) {
    Endpoint request = begun.request();
    ServedClient client = null;
    try {
      RequestFrame.Terms terms =
          new RequestFrame.Terms(settings.sends(), settings.messageSize())
              .agreed(request.request().orElseThrow().privateData());
      if (places.availablePermits() > 0 && terms != null && server.mayAccept()) {
        settings.setPassive(request.id().options());
        client = new ServedClient(server, this, begun, queue, terms);
        all.add(client);
        if (!server.mayAccept()) { // Perhaps before it was added.
          throw new IllegalStateException("the server is closed");
        }
        byNumber.put(client.queues().queuePair(), client);
        request.accept(settings.parameters(), terms.toBytes(), settings.timeout());
        if (client.takePlace()) {
          request.whenEnded(client::beginEnd, Inside.LIBRARY);
          return;
        }
      } else {
        counters.count(MessageCounter.SERVED_CLIENTS_REFUSED);
        request.id().reject();
      }
    } catch (Throwable t) {
      RequestServer.log(System.Logger.Level.DEBUG, "client of " + server, t);
    }
    if (client != null) {
      client.beginEnd();
      if (server.isClosed()) { // Otherwise close() ends it, which may have been too early.
        client.end();
      }
      return;
    }
    release(begun, request::close);
    endPending(begun);
  }

  /** Returns the sums of all clients over the device. */
  MessageCounters counters() {
    return counters;
  }

  /** Takes the place of a connected client; returns false if there is none. */
  boolean tryTakePlace() {
    return places.tryAcquire();
  }

  // Ending

  /** A client has disconnected, whose last completions are to be read. */
  void ending(ServedClient client) {
    ending.add(client);
  }

  /**
   * Ends the clients that have disconnected, and whose completions have been read.
   *
   * @param drainedAt until when all completions that had come were read
   */
  void endFlushed(long drainedAt) {
    if (!ending.isEmpty()) { // The lambda expression allocates.
      boolean _ = ending.removeIf(client -> client.endIfFlushed(drainedAt));
    }
  }

  /** Frees what a client had that has nothing under way. */
  void remove(
      ServedClient client,
      HalfOpenRequests.Pending<Endpoint> pending,
      boolean hasPlace,
      Runnable closing) {
    byNumber.remove(client.queues().queuePair().number());
    if (hasPlace) { // Before the endpoint, for which the close of the server waits.
      places.release();
      counters.closed(MessageCounter.SERVED_CLIENTS_DISCONNECTED, client.tally);
    }
    release(pending, closing);
    all.remove(client);
    if (!hasPlace) {
      endPending(pending);
    }
  }

  /**
   * Closes what a client had. While the server is being closed, its {@code close} does so, and
   * throws what fails; otherwise it tries again what has failed.
   */
  private void release(HalfOpenRequests.Pending<Endpoint> pending, Runnable closing) {
    unclosed.add(closing);
    if (!server.isClosed() || isLate) {
      boolean _ = ServiceLoop.attempt(() -> unclosed.close(closing));
    }
    pending.request().endWait(Inside.LIBRARY);
  }

  /** Ends all clients, and waits until they have nothing under way. */
  void endAll(Deadline deadline) {
    all().forEach(ServedClient::end);
    boolean _ = Uninterrupted.await(() -> listener.awaitConnections(deadline));
    isLate = true;
  }

  /** Closes what clients had. */
  void closeAll() {
    unclosed.closeAll();
  }
}
