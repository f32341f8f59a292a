package dev.verbena.messages;

import dev.verbena.Errno;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.VerbsException;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.EventType;
import dev.verbena.internal.Inside;
import dev.verbena.internal.time.Uninterrupted;
import dev.verbena.verbs.WorkRequestException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Why the connection of a client has ended. Any thread may call any method. */
final class ClientEnd {
  /** Calls have timeouts, which this adds to. */
  private static final Duration CAUSE_TIME = Duration.ofSeconds(5);

  private final ConnectionEnd end;
  private final String client;
  private final Endpoint endpoint;
  private volatile @Nullable WorkRequestException failure;

  /** Why a request could not be posted, after which none is. */
  private volatile @Nullable RuntimeException unposted;

  /** Whether another connection replaces this one, which has ended. */
  private volatile boolean isReplaced;

  ClientEnd(String client, Endpoint endpoint) {
    this.client = client;
    this.endpoint = endpoint;
    end = new ConnectionEnd(client, endpoint, () -> failure, false, CAUSE_TIME);
  }

  /** Returns whether the client is closed or connects again, or a request of it has failed. */
  boolean isKnown() {
    return end.isClosed() || failure != null || unposted != null || isReplaced;
  }

  void requireNone() {
    if (isKnown()) {
      throw reason();
    }
  }

  void close() {
    end.close();
  }

  void replaced() {
    isReplaced = true;
  }

  /** A request has failed; the first one counts. */
  void fail(WorkRequestException e) {
    if (failure == null) {
      failure = e;
    }
  }

  /** A request could not be posted: disconnects. */
  void failPost(RuntimeException e) {
    unposted = e;
    endpoint.id().endQuietly(Inside.LIBRARY);
  }

  /** The server's device does not acknowledge a keep-alive: disconnects. */
  void endBySilence(RdmaTimeoutException unanswered) {
    end.endBySilence(unanswered);
  }

  private boolean isRemoved() {
    return endpoint.end().filter(e -> e.type() == EventType.DEVICE_REMOVAL).isPresent();
  }

  /** Returns why the connection has ended; waits for the event, which may follow a failure. */
  RuntimeException reason() {
    RuntimeException cause = unposted;
    if (cause != null && !end.isClosed() && !isRemoved()) {
      VerbsException failed =
          new VerbsException(
              cause instanceof VerbsException e ? e.function() : "ibv_post_send",
              cause instanceof VerbsException e ? e.errno() : Errno.ENOMEM,
              "a call over " + client + ", whose connection has ended for this reason");
      failed.initCause(cause);
      return failed;
    }
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
