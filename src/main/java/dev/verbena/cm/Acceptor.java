package dev.verbena.cm;

import dev.verbena.internal.HalfOpenRequests;
import dev.verbena.internal.HalfOpenRequests.Establishing;
import dev.verbena.internal.Unclosed;
import dev.verbena.internal.io.ServiceLoop;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Accepts the connection requests of a listener, several at a time: a peer that does not complete
 * its requests delays no other.
 *
 * <p>While a thread waits in {@link #accept}, a virtual thread takes requests, and a further one
 * for each request waits until the connection is established. What the requests became is returned
 * by the current or a later call.
 *
 * @param <T> a connection
 */
final class Acceptor<T> {
  /** A connection and what closes it, or the reason why there is none. */
  private record Outcome<T>(@Nullable T made, Runnable closing, @Nullable Throwable failure) {
    Outcome(Throwable failure) {
      this(null, () -> {}, failure);
    }

    T get() {
      return switch (failure) {
        case null -> made;
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
  private final BlockingQueue<Outcome<T>> outcomes = new LinkedBlockingQueue<>();

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
  T accept(Establishing<Endpoint, T> how, Consumer<T> closing) throws InterruptedException {
    Establishing<Endpoint, Outcome<T>> way =
        request -> {
          T made = how.establish(request);
          return new Outcome<>(made, () -> closing.accept(made), null);
        };
    Outcome<T> ready = outcomes.poll();
    Outcome<T> outcome = ready == null ? await(way) : ready;
    beginWaiting(way);
    return outcome.get();
  }

  private Outcome<T> await(Establishing<Endpoint, Outcome<T>> way) throws InterruptedException {
    Thread taker =
        Thread.ofVirtual().name("requests of " + listener).start(() -> takeRequests(way));
    try {
      return outcomes.take();
    } finally {
      taker.interrupt();
    }
  }

  private void takeRequests(Establishing<Endpoint, Outcome<T>> way) {
    try {
      while (true) {
        listener.take(requests);
        beginWaiting(way);
      }
    } catch (InterruptedException e) {
      // A connection was returned.
    } catch (Throwable t) {
      outcomes.add(new Outcome<>(t));
    }
  }

  /** Accepts requests, each in a thread of its own, as far as there is room. */
  private void beginWaiting(Establishing<Endpoint, Outcome<T>> way) {
    requests.begin(
        () -> HalfOpenRequests.LIMIT - outcomes.size(),
        begun -> {
          pending.add(begun.request());
          Thread.ofVirtual().name("accept " + begun.request()).start(() -> accept(begun, way));
        });
    closeIfClosed();
  }

  private void accept(
      HalfOpenRequests.Pending<Endpoint> begun, Establishing<Endpoint, Outcome<T>> way) {
    Outcome<T> outcome;
    try {
      outcome = way.establish(begun.request());
    } catch (Throwable t) {
      outcome = new Outcome<>(t);
    }
    pending.remove(begun.request());
    outcomes.add(outcome);
    requests.end(begun);
    beginWaiting(way);
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
    for (Outcome<T> outcome : outcomes) { // Its failures end the waits of other threads.
      if (outcome.failure == null && outcomes.remove(outcome)) {
        unclosed.add(outcome.closing);
      }
    }
    unclosed.closeAll();
  }
}
