package dev.verbena.sockets;

import java.io.IOException;
import java.net.ProtocolFamily;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;

/**
 * Opens RDMA sockets and channels by the methods of JEP 337 (RDMA Network Sockets). The channels
 * are those of {@link RdmaSelectorProvider}; a socket is a view of a channel, {@link
 * java.nio.channels.SocketChannel#socket}. See rsocket(7).
 */
public final class RdmaSockets {
  private RdmaSockets() {}

  /**
   * Opens an unconnected, unbound socket: {@code rsocket}.
   *
   * @param family INET or INET6 of {@link java.net.StandardProtocolFamily}
   * @return an unconnected socket, to be closed
   * @throws UnsupportedOperationException if it is another family
   * @throws IOException never; a device is needed to bind or to connect
   */
  public static Socket openSocket(ProtocolFamily family) throws IOException {
    return openSocketChannel(family).socket();
  }

  /**
   * Opens an unbound socket for listening: {@code rsocket}.
   *
   * @param family INET or INET6 of {@link java.net.StandardProtocolFamily}
   * @return an unbound socket, to be closed
   * @throws UnsupportedOperationException if it is another family
   * @throws IOException never; a device is needed to bind or to connect
   */
  public static ServerSocket openServerSocket(ProtocolFamily family) throws IOException {
    return openServerSocketChannel(family).socket();
  }

  /**
   * Opens a socket channel: {@link RdmaSelectorProvider#openSocketChannel(ProtocolFamily)}.
   *
   * @param family INET or INET6 of {@link java.net.StandardProtocolFamily}
   * @return an unconnected channel, to be closed
   * @throws UnsupportedOperationException if it is another family
   * @throws IOException never; a device is needed to bind or to connect
   */
  public static RdmaSocketChannel openSocketChannel(ProtocolFamily family) throws IOException {
    return RdmaSelectorProvider.provider().openSocketChannel(family);
  }

  /**
   * Opens a channel for listening: {@link
   * RdmaSelectorProvider#openServerSocketChannel(ProtocolFamily)}.
   *
   * @param family INET or INET6 of {@link java.net.StandardProtocolFamily}
   * @return an unbound channel, to be closed
   * @throws UnsupportedOperationException if it is another family
   * @throws IOException never; a device is needed to bind or to connect
   */
  public static ServerSocketChannel openServerSocketChannel(ProtocolFamily family)
      throws IOException {
    return RdmaSelectorProvider.provider().openServerSocketChannel(family);
  }

  /**
   * Opens a selector: {@link RdmaSelectorProvider#openSelector}.
   *
   * @return a selector, to be closed
   * @throws IOException if the process has no more file descriptors
   */
  public static Selector openSelector() throws IOException {
    return RdmaSelectorProvider.provider().openSelector();
  }
}
