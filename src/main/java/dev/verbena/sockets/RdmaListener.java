package dev.verbena.sockets;

import dev.verbena.RdmaException;
import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.EventType;
import dev.verbena.internal.HalfOpenRequests;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Providers;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.internal.io.ServiceLoop;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;

/** A listener of RDMA CM: accepts the requests of rsockets. */
final class RdmaListener {
  private static final System.Logger LOG = System.getLogger("dev.verbena.sockets");

  private final Provider provider;
  private final CmEvents events;
  private final ConnectionId id;
  private final int backlog;
  private final Sizes sizes;

  /** Told when a connection can be accepted. */
  private final Runnable changed;

  private final ScopedLock lock = new ScopedLock();
  private final Condition change = lock.newCondition();

  // Guarded by the lock.
  private final Map<RdmaConnection, HalfOpenRequests.Pending<ConnectionEvent>> pending =
      new LinkedHashMap<>();
  private final Queue<RdmaConnection> established = new ArrayDeque<>();

  /** With those beyond the backlog, whose peers wait, as those of TCP do. */
  private final HalfOpenRequests<ConnectionEvent> requests = new HalfOpenRequests<>();

  private boolean isClosed;

  /** Why there are no more requests: the device was removed. Null as long as there can be some. */
  private @Nullable IOException failure;

  private RdmaListener(InetSocketAddress local, int backlog, Sizes sizes, Runnable changed) {
    this.provider = Providers.reaching(local);
    this.backlog = backlog;
    this.sizes = sizes;
    this.changed = changed;
    events = CmEvents.open(provider, this::receive);
    try {
      id = events.createId(); // Before it has a device, which can be removed at any time.
      id.bind(local);
      id.listen(HalfOpenRequests.WAITING); // The kernel rejects what exceeds its backlog.
    } catch (Throwable t) {
      AfterFailure.close(t, events::close);
      throw t;
    }
  }

  /** Listens at a local address. */
  static RdmaListener open(InetSocketAddress local, int backlog, Sizes sizes, Runnable changed)
      throws IOException {
    try {
      return new RdmaListener(local, backlog, sizes, changed);
    } catch (RdmaException | IllegalArgumentException e) {
      throw Failures.ofBind(e);
    }
  }

  InetSocketAddress localAddress() {
    return id.localAddress().orElseThrow();
  }

  private void receive(ConnectionEvent event) {
    if (event.type() == EventType.DEVICE_REMOVAL) {
      ended(event);
    }
    if (event.type() != EventType.CONNECT_REQUEST) {
      return;
    }
    try (var _ = lock.hold()) {
      if (isClosed || !requests.add(event.id().peerAddress(), event)) {
        reject(event);
      } else {
        acceptWaiting();
      }
    }
  }

  /** The device was removed, or its network closed: no request can come any more. */
  private void ended(ConnectionEvent event) {
    if (!event.id().equals(id)) {
      return; // Of a request that waits; the listener has its own event.
    }
    try (var _ = lock.hold()) {
      failure = Failures.ofAccept(event);
      change.signalAll();
    }
    changed.run();
  }

  /** Accepts requests until there are as many connections as the backlog. */
  private void acceptWaiting() {
    requests.begin(() -> backlog - established.size(), this::accept);
  }

  private void accept(HalfOpenRequests.Pending<ConnectionEvent> next) {
    try {
      pending.put(RdmaConnection.accept(provider, next.request(), sizes, this::finished), next);
    } catch (IOException | RuntimeException | OutOfMemoryError e) {
      LOG.log(System.Logger.Level.DEBUG, "a connection request was rejected", e);
      reject(next.request());
      requests.end(next);
    }
  }

  /**
   * Rejects a request, so that the next one can be processed in any case: a request that cannot be
   * rejected has ended, and what cannot be closed is closed with the event channel.
   */
  private static void reject(ConnectionEvent event) {
    try (ConnectionId request = event.id()) {
      if (request.isOpen()) {
        request.reject();
      }
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.DEBUG, "a connection request could not be rejected", e);
    }
  }

  private void finished(RdmaConnection connection) {
    boolean isNew;
    try (var _ = lock.hold()) {
      HalfOpenRequests.Pending<ConnectionEvent> request = pending.remove(connection);
      isNew = request != null;
      if (isNew && connection.isEstablished() && !isClosed) {
        established.add(connection);
        change.signal();
      } else if (isNew) {
        var _ = connection.close(0);
      }
      if (isNew) {
        requests.end(request);
        acceptWaiting();
      }
    }
    if (isNew) {
      changed.run();
    }
  }

  /**
   * Returns the next connection, or null.
   *
   * @throws IOException if there is none, and can be none any more
   */
  @Nullable RdmaConnection accept() throws IOException {
    try (var _ = lock.hold()) {
      RdmaConnection next = established.poll();
      if (next == null && failure != null) {
        throw failure;
      }
      if (next != null && !isClosed) {
        acceptWaiting();
      }
      return next;
    }
  }

  /** Returns whether {@link #accept} would return a connection or throw. */
  boolean isAcceptable() {
    try (var _ = lock.hold()) {
      return !established.isEmpty() || failure != null;
    }
  }

  /** Returns whether {@link #accept} would throw. */
  boolean hasEnded() {
    try (var _ = lock.hold()) {
      return established.isEmpty() && failure != null;
    }
  }

  /** Waits until there is a connection, the time is over, for the close or an interrupt. */
  void await(long nanos) {
    long left = nanos;
    try (var _ = lock.hold()) {
      while (established.isEmpty() && failure == null && !isClosed && left > 0) {
        left = Time.await(change, left);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public String toString() {
    try (var _ = lock.hold()) {
      return "listener at %s: %d established, %s"
          .formatted(id.localAddress(), established.size(), requests);
    }
  }

  /** Ends the listening; connections that nobody has accepted are closed. */
  void close() {
    lock.lock();
    try {
      isClosed = true;
      change.signalAll();
      established.addAll(pending.keySet());
      for (RdmaConnection connection : established) {
        var _ = connection.close(0);
      }
      pending.clear();
      requests.removeWaiting().forEach(RdmaListener::reject);
      established.clear();
    } finally {
      lock.unlock();
    }
    // As for connections: the channel is closed in any case, and with it its keys.
    boolean _ = ServiceLoop.attempt(id::close);
    boolean _ = ServiceLoop.attempt(events::close);
  }
}
