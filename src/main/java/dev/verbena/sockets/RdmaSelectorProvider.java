package dev.verbena.sockets;

import java.io.IOException;
import java.net.ProtocolFamily;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;
import java.util.Objects;

/**
 * The selector provider over rsockets: its socket channels are RDMA connections ({@code rsocket}),
 * its selectors wait in {@code rpoll}. A program that uses NIO by this provider communicates by
 * RDMA.
 *
 * <pre>{@code
 * SelectorProvider rdma = RdmaSelectorProvider.provider();
 * try (ServerSocketChannel listener = rdma.openServerSocketChannel().bind(address);
 *     SocketChannel connection = listener.accept()) {
 *   connection.write(ByteBuffer.allocateDirect(1 << 16));
 * }
 * }</pre>
 *
 * <p>Both ends of a connection must be rsockets: of this provider, of a C program that calls them
 * (such as rstream of rdma-core), or of one that runs with {@code LD_PRELOAD=librspreload.so}. They
 * need librdmacm, libibverbs and a device of the kernel; the software devices of {@code
 * dev.verbena.soft} are not used, since rsockets are C code over libibverbs. librdmacm is loaded
 * when the first channel is opened.
 *
 * <p>A channel must be bound or connected to the address of a network interface with an RDMA
 * device; {@code rdma link} lists these interfaces. The loopback interface has none.
 *
 * <p>The functions {@code rread}, {@code rwrite}, {@code rreadv}, {@code rwritev}, {@code
 * rrecvmsg}, {@code rsendmsg}, {@code rrecvfrom} and {@code rsendto} have no methods of their own:
 * channels call {@code rrecv} and {@code rsend}. {@code rselect} has none either: selectors call
 * {@code rpoll}.
 *
 * <p>Thread-safe. See rsocket(7).
 */
public final class RdmaSelectorProvider extends SelectorProvider {
  private static final RdmaSelectorProvider INSTANCE = new RdmaSelectorProvider();

  /**
   * Creates a provider: for the system property {@code java.nio.channels.spi.SelectorProvider},
   * which makes it the provider of all channels of the JVM. Programs call {@link #provider}.
   */
  public RdmaSelectorProvider() {}

  /**
   * Returns the provider.
   *
   * @return the one instance that programs share
   */
  public static RdmaSelectorProvider provider() {
    return INSTANCE;
  }

  /**
   * Opens a socket channel: {@code rsocket} and {@code rfcntl}. Its methods call {@code rbind},
   * {@code rconnect}, {@code rgetsockname} and {@code rgetpeername}.
   *
   * @throws IOException if librdmacm cannot be loaded, or the host has no RDMA connection manager
   */
  @Override
  public RdmaSocketChannel openSocketChannel() throws IOException {
    return StreamChannel.open(this, null);
  }

  /**
   * Opens a socket channel of a protocol family.
   *
   * @param family INET or INET6 of {@link java.net.StandardProtocolFamily}
   * @throws UnsupportedOperationException if rsockets do not have the family
   * @throws IOException if librdmacm cannot be loaded, or the host has no RDMA connection manager
   */
  @Override
  public RdmaSocketChannel openSocketChannel(ProtocolFamily family) throws IOException {
    return StreamChannel.open(this, Objects.requireNonNull(family, "family"));
  }

  /**
   * Opens a channel for listening. {@code bind} calls {@code rbind} and {@code rlisten}; {@code
   * accept} calls {@code raccept}.
   *
   * @throws IOException if librdmacm cannot be loaded, or the host has no RDMA connection manager
   */
  @Override
  public ServerSocketChannel openServerSocketChannel() throws IOException {
    return new ListeningChannel(this, null);
  }

  /**
   * Opens a channel for listening of a protocol family.
   *
   * @param family INET or INET6 of {@link java.net.StandardProtocolFamily}
   * @throws UnsupportedOperationException if rsockets do not have the family
   * @throws IOException if librdmacm cannot be loaded, or the host has no RDMA connection manager
   */
  @Override
  public ServerSocketChannel openServerSocketChannel(ProtocolFamily family) throws IOException {
    return new ListeningChannel(this, Objects.requireNonNull(family, "family"));
  }

  /**
   * Opens a selector for channels of this provider: {@code rpoll}. The cost of a selection grows
   * with the number of channels registered.
   *
   * @throws IOException if the process has no more file descriptors
   */
  @Override
  public AbstractSelector openSelector() throws IOException {
    return new RpollSelector(this);
  }

  /**
   * Not supported.
   *
   * @throws UnsupportedOperationException always
   */
  @Override
  public DatagramChannel openDatagramChannel() {
    throw new UnsupportedOperationException(
        "this provider has no datagram channels; dev.verbena.cm sends datagrams over RDMA");
  }

  /**
   * Not supported.
   *
   * @param family ignored
   * @throws UnsupportedOperationException always
   */
  @Override
  public DatagramChannel openDatagramChannel(ProtocolFamily family) {
    Objects.requireNonNull(family, "family");
    return openDatagramChannel();
  }

  /**
   * Opens a pipe of the default provider. A selector of this provider does not accept its channels.
   *
   * @throws UnsupportedOperationException if this is the default provider
   */
  @Override
  public Pipe openPipe() throws IOException {
    SelectorProvider system = SelectorProvider.provider();
    if (system instanceof RdmaSelectorProvider) {
      throw new UnsupportedOperationException(
          "rsockets have no pipes, and this provider is the default one of the JVM");
    }
    return system.openPipe();
  }
}
