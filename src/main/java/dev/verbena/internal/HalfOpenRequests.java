package dev.verbena.internal;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The connection requests of a listener from their arrival until their connections are established.
 * They wait until they may begin; those that have begun are half-open until they end. One source
 * has only a part of the places, so that a peer that completes none of its requests delays no
 * other.
 *
 * @param <T> a request
 */
public final class HalfOpenRequests<T> {
  /** The maximum number of half-open requests. */
  public static final int LIMIT = 64;

  /** The maximum number of them of one source. */
  public static final int LIMIT_OF_SOURCE = LIMIT / 4;

  /** The maximum number of requests that wait. */
  public static final int WAITING = 1024;

  /** The maximum number of them of one source: programs open many connections at a time. */
  private static final int WAITING_OF_SOURCE = WAITING / 2;

  /**
   * A request.
   *
   * @param source the address of the peer; empty if it is unknown
   */
  public record Pending<T>(Optional<InetAddress> source, T request) {}

  /**
   * Sets up a connection.
   *
   * @param <T> a connection
   */
  public interface Establishing<R, T> {
    T establish(R request) throws InterruptedException;
  }

  // Guarded by this.
  private final Queue<Pending<T>> waiting = new ArrayDeque<>();
  private final List<Pending<T>> halfOpen = new ArrayList<>();

  /** Adds a request that has arrived; returns false if too many wait. */
  public synchronized boolean add(Optional<InetSocketAddress> peer, T request) {
    Pending<T> added = new Pending<>(peer.map(InetSocketAddress::getAddress), request);
    return waiting.size() < WAITING
        && countOf(added, waiting) < WAITING_OF_SOURCE
        && waiting.add(added);
  }

  /**
   * Begins the requests whose sources have less than their part, in the order of their arrival.
   *
   * @param places the number of connections for which there is room; read while no request ends.
   *     Half-open requests count only for their own source: another one has the places nevertheless
   * @param beginning begins a request; if it throws, the request has ended
   */
  public void begin(IntSupplier places, Consumer<Pending<T>> beginning) {
    for (Pending<T> next = next(places); next != null; next = next(places)) {
      try {
        beginning.accept(next);
      } catch (Throwable t) {
        end(next);
        throw t;
      }
    }
  }

  private synchronized @Nullable Pending<T> next(IntSupplier places) {
    int most = Math.min(places.getAsInt(), LIMIT_OF_SOURCE);
    if (halfOpen.size() == LIMIT) {
      return null;
    }
    for (Iterator<Pending<T>> each = waiting.iterator(); each.hasNext(); ) {
      Pending<T> next = each.next();
      if (countOf(next, halfOpen) < most) {
        each.remove();
        halfOpen.add(next);
        return next;
      }
    }
    return null;
  }

  private static <T> int countOf(Pending<T> one, Collection<Pending<T>> among) {
    int count = 0;
    for (Pending<T> other : among) {
      if (other.source.equals(one.source)) {
        count++;
      }
    }
    return count;
  }

  /** Ends a request that has begun: its connection is established, or has failed. */
  public synchronized void end(Pending<T> one) {
    boolean _ = halfOpen.remove(one);
  }

  /** Removes the requests that wait, and returns them. */
  public synchronized List<T> removeWaiting() {
    List<T> removed = waiting.stream().map(Pending::request).toList();
    waiting.clear();
    return removed;
  }

  @Override
  public synchronized String toString() {
    return halfOpen.size() + " half-open, " + waiting.size() + " waiting";
  }
}
