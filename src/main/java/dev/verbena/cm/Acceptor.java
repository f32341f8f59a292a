package dev.verbena.cm;

import dev.verbena.internal.HalfOpenRequests;
import dev.verbena.internal.io.ServiceLoop;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.jspecify.annotations.Nullable;

/**
 * Accepts the connection requests of a listener, several at a time: a peer that does not complete
 * its requests delays no other.
 *
 * <p>While a thread waits in {@link #accept}, a virtual thread takes requests, and a further one
 * for each request waits until the connection is established. What the requests became is returned
 * by the current or a later call.
 */
final class Acceptor {
  /** The maximum number of outcomes that were not returned, for requests to be accepted. */
  static final int LIMIT = HalfOpenRequests.LIMIT;

  /** A connection, or the reason why there is none. */
  private record Outcome(@Nullable Connection connection, @Nullable Throwable failure) {
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
  private final HalfOpenRequests<Endpoint> requests = new HalfOpenRequests<>();
  private final Set<Endpoint> pending = Collections.synchronizedSet(new LinkedHashSet<>());

  /** What requests became, and why a thread takes no more of them. */
  private final BlockingQueue<Outcome> outcomes = new LinkedBlockingQueue<>();

  private final Unclosed unclosed = new Unclosed();

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
    beginWaiting(settings);
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
        listener.take(requests);
        beginWaiting(settings);
      }
    } catch (InterruptedException e) {
      // A connection was returned.
    } catch (Throwable t) {
      outcomes.add(new Outcome(null, t));
    }
  }

  /** Accepts requests, each in a thread of its own, as far as there is room. */
  private void beginWaiting(ConnectionSettings settings) {
    requests.begin(
        () -> LIMIT - outcomes.size(),
        begun -> {
          pending.add(begun.request());
          Thread.ofVirtual().name("accept " + begun.request()).start(() -> accept(begun, settings));
        });
    closeIfClosed();
  }

  private void accept(HalfOpenRequests.Pending<Endpoint> begun, ConnectionSettings settings) {
    Outcome outcome;
    try {
      outcome = new Outcome(Connection.accept(begun.request(), settings), null);
    } catch (Throwable t) {
      outcome = new Outcome(null, t);
    }
    pending.remove(begun.request());
    outcomes.add(outcome);
    requests.end(begun);
    beginWaiting(settings);
    closeIfClosed();
  }

  private void closeIfClosed() {
    if (closed) { // Otherwise close() finds what is to be closed.
      boolean _ = ServiceLoop.attempt(this::close);
    }
  }

  /**
   * Closes the requests, and the connections that were not returned, after the listener was closed.
   */
  void close() {
    closed = true;
    requests.removeWaiting().forEach(request -> unclosed.add(request::close));
    List.copyOf(pending).forEach(request -> unclosed.add(request::close));
    for (Outcome outcome : outcomes) { // Its failures end the waits of other threads.
      if (outcome.connection != null && outcomes.remove(outcome)) {
        unclosed.add(outcome.connection::close);
      }
    }
    unclosed.closeAll();
  }
}
