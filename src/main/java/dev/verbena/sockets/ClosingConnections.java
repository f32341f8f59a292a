package dev.verbena.sockets;

import dev.verbena.internal.Departures;
import dev.verbena.internal.time.Time;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The connections that are being closed. The end of the JVM waits for them for a while, so that
 * data that was written before {@code close} arrives.
 */
final class ClosingConnections {
  private static final Set<RdmaConnection> CLOSING = ConcurrentHashMap.newKeySet();

  static {
    Departures.waitFor(ClosingConnections::awaitAll);
  }

  private ClosingConnections() {}

  /** Counts a connection that is being closed, until it is {@link #released}. */
  static void closing(RdmaConnection connection) {
    if (Time.simulation() == null) { // The end of a simulation waits for nothing.
      boolean _ = CLOSING.add(connection);
    }
  }

  static void released(RdmaConnection connection) {
    boolean _ = CLOSING.remove(connection);
  }

  private static void awaitAll() {
    try {
      CompletableFuture.allOf(
              CLOSING.stream().map(RdmaConnection::released).toArray(CompletableFuture[]::new))
          .get(RdmaStream.LONGEST_CLOSE, TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // The JVM ends now.
    } catch (ExecutionException e) {
      throw new AssertionError(e);
    } catch (TimeoutException e) {
      // The peers of the others cannot be reached.
    }
  }
}
