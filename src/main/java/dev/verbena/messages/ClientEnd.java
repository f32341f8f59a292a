package dev.verbena.messages;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.cm.Endpoint;
import dev.verbena.internal.time.Uninterrupted;
import dev.verbena.verbs.WorkRequestException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Why the connection of a client has ended. Any thread may call any method. */
final class ClientEnd {
  /** Calls have timeouts, which this adds to. */
  private static final Duration CAUSE_TIME = Duration.ofSeconds(5);

  private final ConnectionEnd end;
  private volatile @Nullable WorkRequestException failure;

  ClientEnd(String client, Endpoint endpoint) {
    end = new ConnectionEnd(client, endpoint, () -> failure, false, CAUSE_TIME);
  }

  /** Returns whether the client is closed, or a request of it has failed. */
  boolean isKnown() {
    return end.isClosed() || failure != null;
  }

  void requireNone() {
    if (isKnown()) {
      throw reason();
    }
  }

  void close() {
    end.close();
  }

  /** A request has failed; the first one counts. */
  void fail(WorkRequestException e) {
    if (failure == null) {
      failure = e;
    }
  }

  /** The server's device does not acknowledge a keep-alive: disconnects. */
  void endBySilence(RdmaTimeoutException unanswered) {
    end.endBySilence(unanswered);
  }

  /** Returns why the connection has ended; waits for the event, which may follow a failure. */
  RuntimeException reason() {
    try {
      if (!end.isClosed() && end.failedByEnd()) {
        boolean _ =
            Uninterrupted.await(
                () -> {
                  end.await();
                  return true;
                });
      }
      return end.broken("a call", failure);
    } catch (IllegalStateException e) { // The client is closed.
      return e;
    }
  }
}
