package dev.verbena.sockets;

import java.io.IOException;
import java.net.ProtocolFamily;
import java.nio.channels.Channel;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The selector provider over RDMA: its socket channels are connections that carry a stream of bytes
 * by the protocol of rsockets, in Java over queue pairs and RDMA CM. A program that uses NIO by
 * this provider communicates by RDMA.
 *
 * <pre>{@code
 * SelectorProvider rdma = RdmaSelectorProvider.provider();
 * try (ServerSocketChannel listener = rdma.openServerSocketChannel().bind(address);
 *     SocketChannel connection = listener.accept()) {
 *   connection.write(ByteBuffer.allocateDirect(1 << 16));
 * }
 * }</pre>
 *
 * <p>The other end of a connection is a channel of this provider, a C program that calls rsockets
 * of librdmacm (such as rstream of rdma-core), or one that runs with {@code
 * LD_PRELOAD=librspreload.so}. The devices are those of the kernel, or {@linkplain dev.verbena.soft
 * software devices}.
 *
 * <p>A channel must be bound or connected to the address of a network interface with an RDMA
 * device; {@code rdma link} lists these interfaces. The loopback interface has none.
 *
 * <p>The functions of {@code rsocket.h} have these counterparts: {@code rrecv}, {@code rread},
 * {@code rreadv}, {@code rrecvmsg} and {@code rrecvfrom} are reads of a channel, {@code rsend},
 * {@code rwrite}, {@code rwritev}, {@code rsendmsg} and {@code rsendto} writes; {@code rpoll} and
 * {@code rselect} are selections; {@code rfcntl} is {@code configureBlocking}. The datagrams of
 * rsockets are missing.
 *
 * <p>Datagram channels, pipes and the inherited channel are those of the JDK. If this is the
 * default provider, they need the option {@code --add-exports java.base/sun.nio.ch=ALL-UNNAMED} of
 * the JVM: without it, opening one throws {@link UnsupportedOperationException}.
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
   * Opens a socket channel, as {@code rsocket}. It has methods for {@code rbind}, {@code rconnect},
   * {@code rgetsockname} and {@code rgetpeername}.
   *
   * @throws IOException never; a device is needed to bind or to connect the channel
   */
  @Override
  public RdmaSocketChannel openSocketChannel() throws IOException {
    return StreamChannel.open(this, null);
  }

  /**
   * Opens a socket channel of a protocol family.
   *
   * @param family INET or INET6 of {@link java.net.StandardProtocolFamily}
   * @throws UnsupportedOperationException if it is another family
   * @throws IOException never; a device is needed to bind or to connect the channel
   */
  @Override
  public RdmaSocketChannel openSocketChannel(ProtocolFamily family) throws IOException {
    return StreamChannel.open(this, Objects.requireNonNull(family, "family"));
  }

  /**
   * Opens a channel for listening. Its {@code bind} is {@code rbind} and {@code rlisten}, its
   * {@code accept} is {@code raccept}.
   *
   * @throws IOException never; a device is needed to bind the channel
   */
  @Override
  public ServerSocketChannel openServerSocketChannel() throws IOException {
    return new ListeningChannel(this, null);
  }

  /**
   * Opens a channel for listening of a protocol family.
   *
   * @param family INET or INET6 of {@link java.net.StandardProtocolFamily}
   * @throws UnsupportedOperationException if it is another family
   * @throws IOException never; a device is needed to bind or to connect the channel
   */
  @Override
  public ServerSocketChannel openServerSocketChannel(ProtocolFamily family) throws IOException {
    return new ListeningChannel(this, Objects.requireNonNull(family, "family"));
  }

  /**
   * Opens a selector for channels of this provider, as {@code rpoll}. It waits for events: the cost
   * of a selection depends on the channels that are ready, not on those that are registered. If the
   * JVM was started with {@code --add-exports java.base/sun.nio.ch=ALL-UNNAMED}, it is also for
   * channels of the JDK.
   *
   * @throws IOException if the process has no more file descriptors
   */
  @Override
  public AbstractSelector openSelector() throws IOException {
    return new EventSelector(this);
  }

  @Override
  public DatagramChannel openDatagramChannel() throws IOException {
    return JdkChannels.provider().openDatagramChannel();
  }

  @Override
  public DatagramChannel openDatagramChannel(ProtocolFamily family) throws IOException {
    return JdkChannels.provider().openDatagramChannel(Objects.requireNonNull(family, "family"));
  }

  @Override
  public Pipe openPipe() throws IOException {
    return JdkChannels.provider().openPipe();
  }

  @Override
  public @Nullable Channel inheritedChannel() throws IOException {
    return JdkChannels.provider().inheritedChannel();
  }
}
