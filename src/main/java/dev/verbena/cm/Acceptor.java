package dev.verbena.cm;

import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * Accepts the connection requests of a listener, several at a time: a peer that does not complete
 * its request delays no other.
 *
 * <p>While a thread waits in {@link #accept}, a virtual thread takes requests, and a further one
 * for each request waits until the connection is established. What the requests became is returned
 * by the current or a later call.
 */
final class Acceptor {
  /** The maximum number of requests that are being accepted, or whose outcome was not returned. */
  static final int LIMIT = 64;

  /**
   * A connection, or the reason why there is none.
   *
   * @param ofRequest whether this became of a request, which took a permit
   */
  private record Outcome(
      boolean ofRequest, @Nullable Connection connection, @Nullable Throwable failure) {
    Connection get() {
      return switch (failure) {
        case null -> connection;
        case Error e -> throw e;
        case RuntimeException e -> throw e;
        default -> throw new AssertionError(failure);
      };
    }
  }

  private final Listener listener;
  private final Semaphore room = new Semaphore(LIMIT);
  private final Set<Endpoint> pending = ConcurrentHashMap.newKeySet();

  /** What requests became, and why a thread takes no more of them. */
  private final BlockingQueue<Outcome> outcomes = new LinkedBlockingQueue<>();

  private volatile boolean closed;

  Acceptor(Listener listener) {
    this.listener = listener;
  }

  /**
   * Returns the next connection that is established.
   *
   * @throws RuntimeException if a request failed, or the listener is closed
   */
  Connection accept(ConnectionSettings settings) throws InterruptedException {
    Outcome ready = outcomes.poll();
    Outcome outcome = ready == null ? await(settings) : ready;
    if (outcome.ofRequest) {
      room.release();
    }
    return outcome.get();
  }

  private Outcome await(ConnectionSettings settings) throws InterruptedException {
    Thread taker =
        Thread.ofVirtual().name("requests of " + listener).start(() -> takeRequests(settings));
    try {
      return outcomes.take();
    } finally {
      taker.interrupt();
    }
  }

  private void takeRequests(ConnectionSettings settings) {
    try {
      while (true) {
        room.acquire();
        Endpoint request;
        try {
          request = listener.take();
        } catch (Throwable t) {
          room.release();
          throw t;
        }
        begin(request, settings);
      }
    } catch (InterruptedException e) {
      // A connection was returned.
    } catch (Throwable t) {
      outcomes.add(new Outcome(false, null, t));
    }
  }

  /** Accepts a request in a thread of its own. */
  private void begin(Endpoint request, ConnectionSettings settings) {
    pending.add(request);
    if (closed) { // Otherwise close() finds it among the pending requests.
      request.close();
    }
    Thread.ofVirtual().name("accept " + request).start(() -> accept(request, settings));
  }

  private void accept(Endpoint request, ConnectionSettings settings) {
    Outcome outcome;
    try {
      outcome = new Outcome(true, Connection.accept(request, settings), null);
    } catch (Throwable t) {
      outcome = new Outcome(true, null, t);
    }
    pending.remove(request);
    outcomes.add(outcome);
    if (closed) {
      discardConnections();
    }
  }

  /** Closes the connections that were not returned, after the listener was closed. */
  void close() {
    closed = true;
    pending.forEach(Endpoint::close);
    discardConnections();
  }

  /** Leaves the failures, which end the waits of other threads. */
  private void discardConnections() {
    for (Outcome outcome : outcomes) {
      if (outcome.connection != null && outcomes.remove(outcome)) {
        room.release();
        outcome.connection.close();
      }
    }
  }
}
