package dev.verbena.s3;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;

/**
 * The host of an endpoint.
 *
 * @param uri its URI without a path
 * @param address one of its addresses
 */
record Remote(URI uri, InetAddress address) {
  /**
   * Asks the name service.
   *
   * @throws UncheckedIOException if it does not know the host
   */
  static Remote of(URI uri) {
    try {
      return new Remote(uri, InetAddress.getByName(uri.getHost()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Returns the address of this host from which the kernel sends to the endpoint.
   *
   * @throws UncheckedIOException if there is no route
   */
  InetAddress local() {
    try (DatagramSocket socket = new DatagramSocket()) {
      socket.connect(new InetSocketAddress(address, Math.max(1, uri.getPort())));
      return socket.getLocalAddress();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
