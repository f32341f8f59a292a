package dev.verbena.sockets;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;

/** What the server socket of a channel needs of it, and ServerSocketChannel does not have. */
interface ListenerCalls {
  /**
   * Accepts a connection; waits no longer than a time, if the channel is blocking.
   *
   * @throws java.net.SocketTimeoutException if the time has passed
   */
  @Nullable SocketChannel accept(long nanos) throws IOException;

  /** Returns the local address, also after the channel was closed; null if unbound. */
  @Nullable InetSocketAddress localAddress();
}
