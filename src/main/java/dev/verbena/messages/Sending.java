package dev.verbena.messages;

import dev.verbena.RdmaException;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Transfers;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.KeepAlive;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import dev.verbena.internal.time.Uninterrupted;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The requests of a connection that the peer's device acknowledges, one thread at a time. */
final class Sending {
  private final String connection;
  private final Endpoint endpoint;
  private final Transfers transfers;
  private final Outbox outbox;
  private final ConnectionEnd end;
  private final int messageSize;
  private final ScopedLock lock = new ScopedLock();
  private @Nullable KeepAlive keepAlive;

  /** The maximum time of an operation. */
  private volatile Duration timeout = Deadline.FOR_EVER;

  Sending(String connection, Endpoint endpoint, Outbox outbox, ConnectionEnd end, int messageSize) {
    this.connection = connection;
    this.endpoint = endpoint;
    this.transfers = endpoint.id().queues().transfers();
    this.outbox = outbox;
    this.end = end;
    this.messageSize = messageSize;
  }

  Transfers transfers() {
    return transfers;
  }

  /** Held by the thread that sends. */
  ScopedLock lock() {
    return lock;
  }

  void setTimeout(Duration atMost) {
    var _ = Deadline.after(atMost); // Throws if it is negative.
    timeout = atMost;
  }

  void send(MemorySegment message, boolean awaited) throws InterruptedException {
    if (message.byteSize() > messageSize) {
      throw new IllegalArgumentException(
          "message of %s bytes exceeds the maximum message size of %s: %s (ConnectionSettings.messageSize of both ends)"
              .formatted(message.byteSize(), connection, messageSize));
    }
    perform("sending", () -> outbox.send(message), awaited);
  }

  /** Writes or reads the peer's memory. */
  void access(
      boolean writes,
      MemoryRegion local,
      long offset,
      long length,
      RemoteMemory remote,
      long remoteOffset,
      boolean awaited)
      throws InterruptedException {
    long address = remote.addressOf(remoteOffset, length);
    int rkey = remote.rkey();
    BooleanSupplier request =
        writes
            ? () -> transfers.write(0, local, offset, length, address, rkey)
            : () -> transfers.read(0, local, offset, length, address, rkey);
    perform(writes ? "writing" : "reading", () -> outbox.post(request), awaited);
  }

  long fetchAndAdd(RemoteMemory remote, long remoteOffset, long addend)
      throws InterruptedException {
    long address = addressOfNumber(remote, remoteOffset);
    return atomic(
        (result, at) -> transfers.fetchAndAdd(0, result, at, address, remote.rkey(), addend));
  }

  long compareAndSwap(RemoteMemory remote, long remoteOffset, long expected, long desired)
      throws InterruptedException {
    long address = addressOfNumber(remote, remoteOffset);
    return atomic(
        (result, at) ->
            transfers.compareAndSwap(0, result, at, address, remote.rkey(), expected, desired));
  }

  private long atomic(Outbox.Atomic request) throws InterruptedException {
    Deadline deadline = Deadline.after(timeout);
    try (var _ = lock("an atomic operation", deadline)) {
      perform("an atomic operation", () -> outbox.atomic(request), deadline, true);
      return outbox.resultValue();
    }
  }

  /** Returns the address of a 64-bit number for atomic operations. */
  static long addressOfNumber(RemoteMemory remote, long offset) {
    long number = remote.addressOf(offset, Long.BYTES);
    if (number % Long.BYTES != 0) {
      throw new IllegalArgumentException(
          "the address of an atomic operation must be a multiple of 8: offset %s of %s is at 0x%s"
              .formatted(offset, remote, Long.toHexString(number)));
    }
    return number;
  }

  void awaitPosted() throws InterruptedException {
    Deadline deadline = Deadline.after(timeout);
    try (var _ = lock("waiting for requests", deadline)) {
      end.requireOpen();
      requireDone(outbox.awaitAll(deadline), "waiting for requests", deadline);
    }
  }

  private void perform(String doing, Runnable post, boolean awaited) throws InterruptedException {
    perform(doing, post, Deadline.after(timeout), awaited);
  }

  /** Posts a request, and waits for its completion if {@code awaited}. */
  private void perform(String doing, Runnable post, Deadline deadline, boolean awaited)
      throws InterruptedException {
    try (var _ = lock(doing, deadline)) {
      end.requireConnected(doing);
      if (!outbox.awaitRoom(deadline)) {
        throw deadline.missedBy(
            "%s over %s: %d requests are under way, the limit (ConnectionSettings.withSends)"
                .formatted(doing, connection, outbox.depth()));
      }
      requireDone(true, doing, deadline);
      post.run();
      if (awaited) {
        requireDone(outbox.awaitAll(deadline), doing, deadline);
      }
    }
  }

  private ScopedLock lock(String doing, Deadline deadline) throws InterruptedException {
    if (!Time.tryLock(lock, deadline.remainingNanos())) {
      throw deadline.missedBy(doing + " over " + connection);
    }
    return lock;
  }

  /**
   * Throws unless the requests completed. Requests that completed before the end of the connection
   * count as completed.
   */
  private void requireDone(boolean inTime, String doing, Deadline deadline)
      throws InterruptedException {
    if (!inTime) {
      throw deadline.missedBy(doing + " over " + connection);
    }
    if (outbox.failure() != null) {
      if (end.failedByEnd() && !end.isClosed()) {
        end.await();
      }
      throw end.broken(doing, outbox.failure());
    }
  }

  /**
   * Waits until no request is outstanding, or the deadline; returns false if another thread sends
   * until then.
   */
  boolean awaitIdle(Deadline deadline) throws InterruptedException {
    if (!Uninterrupted.acquire(lock, deadline::remainingNanos)) {
      return false;
    }
    try (lock) {
      outbox.awaitAll(deadline);
      return true;
    }
  }

  /**
   * Starts the keep-alive.
   *
   * @param heard returns a number that changes when something was heard of the peer
   */
  void keepAlive(LongSupplier heard, Duration interval, Duration answer) {
    keepAlive =
        KeepAlive.start(
            connection,
            interval,
            heard,
            silent -> {
              requireAnswer(silent, answer);
              return true;
            });
  }

  /**
   * Writes zero bytes to the peer's memory, which its device acknowledges, unless requests are
   * outstanding: the device retries these. Without an acknowledgement the connection ends.
   *
   * @param limit the maximum time for the acknowledgement
   */
  private void requireAnswer(Duration silent, Duration limit) throws InterruptedException {
    end.requireOpen();
    if (outbox.failure() != null || end.hasEvent() || !lock.tryLock()) {
      return;
    }
    try (lock) {
      if (!outbox.awaitAll(Deadline.after(Duration.ZERO)) || outbox.failure() != null) {
        return;
      }
      long asked = Time.now();
      outbox.writeNothing();
      boolean answered = outbox.awaitAll(Deadline.after(limit));
      if (!answered || (outbox.failure() != null && !end.failedByEnd())) {
        Duration waited = Duration.ofNanos(Time.now() - asked);
        end.endBySilence(
            new RdmaTimeoutException(
                "the peer %s was silent for %d ms, its device does not acknowledge a keep-alive"
                    .formatted(
                        endpoint.id().peerAddress().map(InetSocketAddress::toString).orElse(""),
                        silent.plus(waited).toMillis()),
                waited));
      }
    }
  }

  /**
   * Ends the keep-alive, waits until all requests have completed, and tells the peer of the close.
   */
  void endInOrder(Deadline deadline) {
    if (keepAlive != null) {
      keepAlive.stop(deadline); // It has the lock while it asks.
    }
    if (!end.isMarked() || end.isPeerClosed() || end.hasEvent() || !lock.tryLock()) {
      return;
    }
    try (lock) {
      if (Uninterrupted.await(() -> outbox.awaitRoom(deadline)) && outbox.failure() == null) {
        outbox.sendEndMark();
        Uninterrupted.await(() -> outbox.awaitAll(deadline));
      }
    } catch (RdmaException | IllegalStateException e) {
      // The connection has failed or ended: the peer cannot be notified.
    }
  }
}
