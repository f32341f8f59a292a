package dev.verbena.sockets;

import dev.verbena.internal.time.Time;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** What the socket of a channel needs of it, and SocketChannel does not have. */
interface SocketCalls {
  /** A time without a limit. */
  long FOREVER = Long.MAX_VALUE;

  /** Returns a time as sockets have it: 0 for no limit. */
  static int milliseconds(long nanos) {
    return nanos == FOREVER
        ? 0
        : Math.clamp(TimeUnit.NANOSECONDS.toMillis(nanos), 1, Integer.MAX_VALUE);
  }

  /**
   * Returns what is left of a time that began at a start.
   *
   * @param message the message of the exception
   * @throws SocketTimeoutException if the time has passed
   */
  static long left(long nanos, long start, String message) throws SocketTimeoutException {
    long left = nanos == FOREVER ? nanos : nanos - (Time.now() - start);
    if (left <= 0) {
      throw new SocketTimeoutException(message);
    }
    return left;
  }

  /**
   * Connects; waits no longer than a time, if the channel is blocking.
   *
   * @throws SocketTimeoutException if the time has passed; the channel is closed
   */
  boolean connect(SocketAddress address, long nanos) throws IOException;

  /**
   * Reads into a buffer with an array; waits no longer than a time, if the channel is blocking.
   *
   * @throws SocketTimeoutException if the time has passed
   */
  int read(ByteBuffer target, long nanos) throws IOException;

  /** Returns the number of bytes that a read would return without waiting. */
  int available() throws IOException;

  /** Returns the local address, also after the channel was closed; null if unbound. */
  @Nullable InetSocketAddress localAddress();

  /** Returns the address of the peer, also after the channel was closed; null if unconnected. */
  @Nullable InetSocketAddress remoteAddress();

  /** Returns whether {@code shutdownInput} was called. */
  boolean isInputShut();

  /** Returns whether {@code shutdownOutput} was called. */
  boolean isOutputShut();
}
