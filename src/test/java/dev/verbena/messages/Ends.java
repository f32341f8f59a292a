package dev.verbena.messages;

import dev.verbena.values.AckTimeout;
import java.time.Duration;

/**
 * A client connected to a peer, and what may happen to the peer, to its host and to the network
 * between them. A kind of network implements what can happen there.
 */
interface Ends extends AutoCloseable {
  /** Where connections are, as docs/tested.md names it. */
  enum Place {
    SOFT("in process", 8, Duration.ofMillis(200)),
    UDP("UDP", 16, Duration.ofSeconds(3)),

    /** Its timer of retries runs during the waits for a receive request, which take 3.9 s. */
    ROCE("Soft-RoCE", 19, Duration.ofSeconds(10));

    final String title;

    /** Quick retries, so that a lost peer is found soon, but not a slow one. */
    final ConnectionSettings settings;

    final Duration keepAlive;

    Place(String title, int ackTimeout, Duration keepAlive) {
      this.title = title;
      this.keepAlive = keepAlive;
      settings =
          ConnectionSettings.DEFAULT
              .withAckTimeout(AckTimeout.ofCode(ackTimeout))
              .withParameters(ConnectionSettings.DEFAULT.parameters().withRetryCount(3));
    }
  }

  /** The end that the rows of the table are about. */
  Connection client();

  /** The IP address of the peer. */
  String peer();

  /** The peer sends a message of one byte. */
  void peerSends() throws Exception;

  /** The peer closes its {@link Connection}. */
  void peerCloses() throws Exception;

  /** The peer's process ends without closing. */
  void peerEnds() throws Exception;

  /** The peer's process is killed. */
  default void peerIsKilled() throws Exception {
    throw new UnsupportedOperationException();
  }

  /** The peer does not receive any more. */
  void peerIsIdle() throws Exception;

  /** The peer's host fails, or its process is stopped together with its device. */
  default void hostFails() {
    throw new UnsupportedOperationException();
  }

  /** The peer's host fails, or its process with its device is killed, and starts again. */
  default void hostStartsAgain() throws Exception {
    throw new UnsupportedOperationException();
  }

  /** The peer's host stops, or its process with its device. */
  default void hostStops() throws Exception {
    throw new UnsupportedOperationException();
  }

  /** The link or the network is interrupted. */
  void networkIsInterrupted() throws Exception;

  /** The client's device is removed. */
  void deviceIsRemoved() throws Exception;

  @Override
  void close();
}
