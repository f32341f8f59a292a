package dev.verbena.messages;

import dev.verbena.RdmaException;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.VerbsException;
import dev.verbena.attributes.PortState;
import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.EventType;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.Inside;
import dev.verbena.internal.life.Core;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.Port;
import dev.verbena.verbs.WorkRequestException;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * How a connection has ended: what closed it, the event, and the requests that failed, whose order
 * differs. Any thread may call any method.
 */
final class ConnectionEnd {
  /**
   * The maximum time for the event of an end to be read after the end has flushed requests: more
   * than a slow machine takes, since without it the flush is all that is known.
   */
  static final Duration CAUSE_TIME = Duration.ofSeconds(20);

  private final String connection;
  private final Endpoint endpoint;
  private final Supplier<@Nullable WorkRequestException> sendFailure;
  private final boolean isMarked;
  private final Duration causeTime;
  private volatile boolean isClosed;

  /** Whether the peer has closed its {@code Connection}. */
  private volatile boolean isPeerClosed;

  /** The first failed receive request, or null. */
  private volatile @Nullable WorkRequestException receiveFailure;

  /** Why the keep-alive ended the connection, or null. */
  private volatile @Nullable RdmaTimeoutException silence;

  /** The state of the port when the failure was first reported; empty if it was active. */
  private volatile @Nullable String linkFault;

  /** Until when the event is awaited by all threads; null before the first one. */
  private volatile @Nullable Deadline awaited;

  /**
   * Creates the end of a connection that has not ended.
   *
   * @param sendFailure returns the first send request that failed, or null
   * @param isMarked whether a {@code Connection} that is closed sends a message before
   * @param causeTime the maximum time for the event to be read after a request was flushed
   */
  ConnectionEnd(
      String connection,
      Endpoint endpoint,
      Supplier<@Nullable WorkRequestException> sendFailure,
      boolean isMarked,
      Duration causeTime) {
    this.connection = connection;
    this.endpoint = endpoint;
    this.sendFailure = sendFailure;
    this.isMarked = isMarked;
    this.causeTime = causeTime;
  }

  boolean isMarked() {
    return isMarked;
  }

  void close() {
    isClosed = true;
  }

  boolean isClosed() {
    return isClosed;
  }

  void closeByPeer() {
    isPeerClosed = true;
  }

  boolean isPeerClosed() {
    return isPeerClosed;
  }

  boolean isOpen() {
    return !isClosed
        && !isPeerClosed
        && silence == null
        && receiveFailure == null
        && sendFailure.get() == null
        && !hasEvent();
  }

  boolean hasEvent() {
    return endpoint.end().isPresent();
  }

  void failReceives(WorkRequestException first) {
    receiveFailure = first;
  }

  @Nullable WorkRequestException receiveFailure() {
    return receiveFailure;
  }

  /** The peer's device does not acknowledge a keep-alive: disconnects. */
  void endBySilence(RdmaTimeoutException unanswered) {
    silence = unanswered;
    endpoint.id().endQuietly(Inside.LIBRARY);
  }

  void requireOpen() {
    if (isClosed) {
      throw new IllegalStateException("connection of " + Core.of(endpoint.id()) + " is closed");
    }
  }

  void requireConnected(String doing) {
    requireOpen();
    if (silence != null || sendFailure.get() != null || hasEvent()) {
      throw broken(doing, sendFailure.get());
    }
  }

  /**
   * Returns the reason why the connection is unusable. A failed request takes precedence over the
   * end of the connection, which it may have caused; the end takes precedence over requests that it
   * flushed.
   */
  RdmaException broken(String doing, @Nullable WorkRequestException failure) {
    requireOpen();
    WorkRequestException first = sendFailure.get();
    RdmaTimeoutException unanswered = silence;
    if (unanswered != null) {
      return new RdmaTimeoutException(
          doing + " over " + connection + ": " + unanswered.getMessage(), unanswered.timeout());
    }
    if (first != null && !failedByEnd()) {
      return failed(doing, first);
    }
    return endpoint
        .end()
        .<RdmaException>map(end -> ConnectionException.ended(lost(doing, end), end))
        .orElseGet(() -> failed(doing, Objects.requireNonNull(failure, "no end")));
  }

  /**
   * Returns whether the first failed send request has failed by the end of the connection: it was
   * flushed, or the peer had closed its {@code Connection} and acknowledged no more.
   */
  boolean failedByEnd() {
    WorkRequestException first = sendFailure.get();
    return first != null
        && (first.status() == CompletionStatus.WR_FLUSH_ERR
            || (isPeerClosed && first.status() == CompletionStatus.RETRY_EXC_ERR));
  }

  /** Returns whether the connection may have ended without an event that was read yet. */
  boolean isUnexplained() {
    WorkRequestException first = receiveFailure;
    return first != null
        && first.status() == CompletionStatus.WR_FLUSH_ERR
        && (sendFailure.get() == null || failedByEnd());
  }

  /** Returns whether it has ended in an order in which a close and a failure look the same. */
  boolean isOrderly() {
    requireOpen();
    return silence == null
        && !isMarked
        && (sendFailure.get() == null || failedByEnd())
        && endpoint.end().filter(end -> end.type() == EventType.DISCONNECTED).isPresent();
  }

  /**
   * Waits for the event that ended the connection, after requests were flushed: the queue pair may
   * be in state ERR before the event is read. All threads wait for the same time, also those that
   * are interrupted and wait again: there may be another cause.
   */
  void await() throws InterruptedException {
    if (silence == null && !hasEvent() && !isLinkDown()) {
      Deadline until = awaited;
      if (until == null) {
        until = Deadline.after(causeTime);
        awaited = until;
      }
      endpoint.awaitEnd(until);
    }
  }

  private String lost(String doing, ConnectionEvent end) {
    boolean unmarked = receiveFailure != null && isMarked && end.type() == EventType.DISCONNECTED;
    String how = unmarked ? ": the peer's process ended without closing its Connection" : "";
    return doing + " over " + connection + how;
  }

  private WorkRequestException failed(String doing, WorkRequestException failure) {
    return new WorkRequestException(
        doing + " over " + connection + linkFault() + ": the connection has failed", failure);
  }

  /**
   * Returns the state of the port if it was not active when the failure was first reported. Some
   * providers flush requests when the link is down, without a completion that has the cause.
   */
  private String linkFault() {
    if (linkFault == null) {
      linkFault = portFault();
    }
    return linkFault;
  }

  /** Returns false also if the device does not answer, of which an event follows, or was left. */
  private boolean isLinkDown() {
    try {
      return port().attributes().state() != PortState.ACTIVE;
    } catch (VerbsException | IllegalStateException e) {
      return false;
    }
  }

  private Port port() {
    return endpoint.id().context().port(endpoint.id().portNumber());
  }

  private String portFault() {
    try {
      Port port = port();
      PortState state = port.attributes().state();
      return state == PortState.ACTIVE
          ? ""
          : ": the link is lost: " + port + " is in state IBV_PORT_" + state;
    } catch (VerbsException | IllegalStateException e) { // Another connection replaces this one.
      return ": the state of the port is unknown: " + e.getMessage();
    }
  }
}
