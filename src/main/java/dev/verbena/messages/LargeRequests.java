package dev.verbena.messages;

import dev.verbena.verbs.MemoryRegion;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The large requests of a server, whose bytes are read from the memory of their clients into memory
 * of a pool: in the order of their arrival, but for those of a client that has its share of the
 * memory, which wait. Any thread may call any method.
 */
final class LargeRequests {
  /** Of the memory, one client has at most this part, or one request. */
  private static final int SHARES = 4;

  private final RequestServer server;
  private final RegionPool pool;
  private final long largest;

  /** Those that wait for memory; guarded by this. */
  private final Deque<Request> waiting = new ArrayDeque<>();

  /**
   * Creates an object without requests.
   *
   * @param largest the maximum size of a request
   */
  LargeRequests(RequestServer server, RegionPool pool, long largest) {
    this.server = server;
    this.pool = pool;
    this.largest = largest;
  }

  /** Begins to read a request, when there is memory for it; or refuses it. */
  void begin(Request request) {
    long length = request.source().length();
    if (length > largest) {
      request.refuse(
          new IllegalArgumentException(
              "request of " + length + " bytes exceeds the maximum of the server: " + largest));
      server.later(request);
      return;
    }
    synchronized (this) {
      waiting.add(request);
    }
    advance();
  }

  /** Gives back the memory of a request. */
  void end(ServedClient client, MemoryRegion region) {
    client.endRead(region.length());
    pool.give(region);
    advance();
  }

  /** Removes the requests of a client that has gone. */
  synchronized List<Request> remove(ServedClient client) {
    List<Request> removed = new ArrayList<>();
    waiting.removeIf(request -> request.client().equals(client) && removed.add(request));
    return removed;
  }

  /** Reads those for which there is memory. */
  void advance() {
    for (Request next = next(); next != null; next = next()) {
      Request request = next;
      MemoryRegion region = request.large();
      try {
        if (region == null) { // Refused.
          server.later(request);
        } else if (!request.client().read(request, region)) {
          server.end(request, -1, false);
        }
      } catch (Throwable t) {
        server.failed(request, -1, t);
      }
    }
  }

  /** Takes the next request that has memory, or is refused. */
  private synchronized @Nullable Request next() {
    for (Iterator<Request> each = waiting.iterator(); each.hasNext(); ) {
      Request request = each.next();
      long length = Math.max(1, request.source().length());
      long size = RegionPool.sizeOf(length);
      if (!request.client().reserveRead(size, pool.most() / SHARES)) {
        continue;
      }
      try {
        MemoryRegion region = pool.take(length);
        if (region == null) {
          request.client().cancelRead(size);
          return null;
        }
        request.large(region);
      } catch (Throwable t) { // Such as ENOMEM, or OutOfMemoryError.
        request.client().cancelRead(size);
        request.refuse(t);
      }
      each.remove();
      return request;
    }
    return null;
  }
}
