package dev.verbena.cm;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.WorkRequestException;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Why the connection of a client has ended. Any thread may call any method. */
final class ClientEnd {
  /** The maximum time for the event of an end to be read after the end has flushed requests. */
  private static final Duration CAUSE_TIME = Duration.ofSeconds(5);

  private final String client;
  private final Endpoint endpoint;
  private volatile @Nullable WorkRequestException failure;

  /** Why the keep-alive ended the connection, or null. */
  private volatile @Nullable RdmaTimeoutException silence;

  private volatile boolean isClosed;

  ClientEnd(String client, Endpoint endpoint) {
    this.client = client;
    this.endpoint = endpoint;
  }

  /** Returns whether the client is closed, or a request of it has failed. */
  boolean isKnown() {
    return isClosed || failure != null;
  }

  void requireNone() {
    if (isKnown()) {
      throw reason();
    }
  }

  void close() {
    isClosed = true;
  }

  /** A request has failed; the first one counts. */
  void fail(WorkRequestException e) {
    if (failure == null) {
      failure = e;
    }
  }

  /** The server's device does not acknowledge a keep-alive: disconnects. */
  void endBySilence(RdmaTimeoutException unanswered) {
    silence = unanswered;
    endpoint.id().endQuietly();
  }

  /** Returns why the connection has ended; waits for the event, which may follow a failure. */
  RuntimeException reason() {
    WorkRequestException first = failure;
    if (isClosed || first == null) {
      return new IllegalStateException(client + " is closed");
    }
    RdmaTimeoutException unanswered = silence;
    if (unanswered != null) {
      return new RdmaTimeoutException(
          "a call over " + client + ": " + unanswered.getMessage(), unanswered.timeout());
    }
    Optional<ConnectionEvent> end = endpoint.end();
    if (end.isEmpty() && first.status() == CompletionStatus.WR_FLUSH_ERR) {
      end = endpoint.awaitEndUninterruptibly(Deadline.after(CAUSE_TIME));
    }
    return end.isPresent() && first.status() == CompletionStatus.WR_FLUSH_ERR
        ? new ConnectionException("a call over " + client, end.get())
        : new WorkRequestException("a call over " + client, first);
  }
}
