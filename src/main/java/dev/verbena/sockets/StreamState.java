package dev.verbena.sockets;

import dev.verbena.internal.time.Time;
import dev.verbena.values.CompletionStatus;
import java.io.IOException;
import java.net.SocketException;
import java.nio.channels.ClosedChannelException;
import org.jspecify.annotations.Nullable;

/**
 * Whether the connection of a stream has ended, and each direction of the stream. Guarded by the
 * lock of the stream.
 */
final class StreamState {
  /** How the other end ended, or this end. */
  private enum Connection {
    CONNECTED,

    /**
     * The queue pair is in the state ERR, and nothing can be sent. Whether the connection ended in
     * order is not known before the pending events of RDMA CM are received.
     */
    FLUSHED,

    DISCONNECTED,
    FAILED
  }

  private final String stream;
  private final StreamEvents events;
  private final Runnable failed;
  private final Runnable flushed;
  private Connection connection = Connection.CONNECTED;

  /** Why the connection failed. */
  private @Nullable String failure;

  /** What is run at the end of a stream that is closed in order. */
  private @Nullable Runnable ended;

  private boolean isInputEnded;
  private boolean isInputShut;

  /** Whether no receive request completes any more with a message. */
  private boolean isDrained;

  private boolean isOutputShut;
  private boolean isClosing;
  private boolean isReleased;

  /**
   * Creates the state of a connected stream.
   *
   * @param stream the name of the stream
   * @param events are signalled after a failure
   * @param failed is called in a thread of its own after a failure
   * @param flushed is called once, in a thread of its own, if requests are flushed without another
   *     error
   */
  StreamState(String stream, StreamEvents events, Runnable failed, Runnable flushed) {
    this.stream = stream;
    this.events = events;
    this.failed = failed;
    this.flushed = flushed;
  }

  boolean isConnected() {
    return connection == Connection.CONNECTED;
  }

  boolean isFlushed() {
    return connection == Connection.FLUSHED;
  }

  /** Returns whether the connection has ended, in order or not. */
  boolean hasEnded() {
    return connection == Connection.DISCONNECTED || connection == Connection.FAILED;
  }

  /** Returns whether the peer has told that no data follows. */
  boolean isInputEnded() {
    return isInputEnded;
  }

  boolean isInputShut() {
    return isInputShut;
  }

  boolean isOutputShut() {
    return isOutputShut;
  }

  boolean isClosing() {
    return isClosing;
  }

  /** Returns whether the queues and the memory must not be used any more. */
  boolean isReleased() {
    return isReleased;
  }

  /**
   * Returns whether nothing can be received but what was. When the connection has ended, messages
   * that arrived before can still complete, until the receive requests are flushed.
   */
  boolean hasInputEnded() {
    return isInputEnded || isInputShut || (hasEnded() && isDrained) || isReleased;
  }

  /**
   * Returns whether a read that finds no data is at the end of the stream.
   *
   * @throws SocketException if the connection has failed
   */
  boolean isAtEnd() throws IOException {
    if (failure != null && isDrained && !isInputEnded && !isInputShut) {
      throw new SocketException(failure);
    }
    return hasInputEnded();
  }

  void requireWritable() throws IOException {
    if (failure != null) {
      throw new SocketException(failure);
    }
    if (hasEnded()) {
      throw new SocketException(
          "the peer closed the connection, ended, or cannot be reached any more");
    }
    if (isOutputShut) {
      throw new ClosedChannelException();
    }
  }

  boolean isDrained() {
    return isDrained;
  }

  /** A receive request was flushed, or none will be. */
  void drain() {
    isDrained = true;
  }

  void endInput() {
    isInputEnded = true;
  }

  void shutInput() {
    isInputShut = true;
  }

  void shutOutput() {
    isOutputShut = true;
  }

  /** The stream is being closed, which also shuts both directions. */
  void close() {
    isClosing = true;
    isInputShut = true;
    isOutputShut = true;
  }

  void release() {
    isReleased = true;
  }

  /** The connection has ended in order, unless it has failed. */
  void disconnect() {
    if (!hasEnded()) {
      connection = Connection.DISCONNECTED;
      if (ended != null) {
        ended.run();
      }
    }
  }

  /** Runs an action when the connection has ended in order; a failure has its own. */
  void whenEnded(Runnable action) {
    ended = action;
    if (hasEnded()) {
      action.run();
    }
  }

  /** Returns whether the stream is closed in order, which goes on. */
  boolean isEnding() {
    return ended != null && !hasEnded();
  }

  /** A request has failed. */
  void failed(CompletionStatus status) {
    if (status == CompletionStatus.WR_FLUSH_ERR) {
      flushed();
    } else {
      fail(unreachable(status));
    }
  }

  private static String unreachable(CompletionStatus status) {
    return "the connection failed (%s): the peer ended or cannot be reached any more"
        .formatted(status);
  }

  /**
   * The queue pair is in the state ERR, which is not yet a failure. librdmacm modifies it when it
   * returns RDMA_CM_EVENT_REJECTED, the end of a connection whose peer has not received the RTU:
   * requests can be flushed before that event is processed.
   */
  private void flushed() {
    if (isConnected()) {
      // Virtual threads of the program that poll the stream can occupy all carriers.
      Time.start("flush of " + stream, flushed);
      connection = Connection.FLUSHED;
    }
  }

  /** The cause of the flush is known, or there is none. */
  void endFlushed() {
    if (isFlushed()) {
      fail(unreachable(CompletionStatus.WR_FLUSH_ERR));
    }
  }

  /**
   * A verb has failed, for example because the device was removed, or another thread is closing an
   * object below the stream.
   */
  void fail(RuntimeException e) {
    drain();
    fail("the connection failed: " + e.getMessage());
  }

  void violated(String what) {
    drain();
    fail("the peer violated the protocol of rsockets, and the connection was closed: " + what);
  }

  void fail(String why) {
    if (!hasEnded()) {
      connection = Connection.FAILED;
      failure = why;
      events.signal();
      try {
        Thread.ofVirtual().name("end of " + stream).start(failed);
      } catch (Throwable t) {
        drain(); // Nobody disconnects, so that no request is flushed.
        throw t;
      }
    }
  }
}
