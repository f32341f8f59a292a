package dev.verbena.sockets;

import dev.verbena.internal.Providers;
import java.io.IOException;
import java.net.ProtocolFamily;
import java.net.StandardProtocolFamily;
import java.nio.channels.Channel;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The selector provider for a whole JVM: each socket channel decides when it is bound or connected
 * whether it uses RDMA, like the channels of {@link RdmaSelectorProvider}, or TCP, like those of
 * the JDK. All other channels are those of the JDK. A selector accepts channels of all kinds.
 *
 * <pre>{@code
 * java -Djava.nio.channels.spi.SelectorProvider=dev.verbena.sockets.HybridSelectorProvider
 *     --add-exports java.base/sun.nio.ch=ALL-UNNAMED --enable-native-access=ALL-UNNAMED ...
 * }</pre>
 *
 * <p>A connection is tried over RDMA if an RDMA device may reach the peer. It is made over TCP if
 * that fails, for example because nobody listens there by RDMA. If the peer does not answer within
 * the milliseconds of the property {@code dev.verbena.sockets.fallback} (250), both are tried, and
 * the first that connects is used. A listener accepts connections over both, if its address is that
 * of an RDMA device or the wildcard address. Rules change that: the property {@code
 * dev.verbena.sockets.rules} has rules that are separated by semicolons, or {@code @} and the name
 * of a file with a rule in each line. The first rule that matches the address and the port of the
 * peer, or of the listener, counts:
 *
 * <pre>
 * tcp *:5432
 * rdma 10.0.0.0/8:9000-9999
 * rdma-only [2001:db8::]/32
 * both *
 * </pre>
 *
 * <p>With {@code rdma} a listener uses RDMA only, and a connection RDMA, then TCP, as without a
 * rule; {@code rdma-only} never uses TCP. Each decision is logged at DEBUG by the logger {@code
 * dev.verbena.sockets}, and is an event {@code dev.verbena.SocketTransport} of Flight Recorder.
 *
 * <p>If no rule permits RDMA, or there is no RDMA device and no rule is {@code rdma} or {@code
 * rdma-only}, channels are those of the JDK, which are not reported.
 *
 * <p>Without {@code --add-exports}, opening a channel throws {@code UnsupportedOperationException}:
 * the JDK does not publish its own provider and the descriptors of its channels.
 *
 * <p>Thread-safe. See rsocket(7).
 */
public final class HybridSelectorProvider extends SelectorProvider {
  /** Creates a provider: for the system property {@code java.nio.channels.spi.SelectorProvider}. */
  public HybridSelectorProvider() {}

  private static SelectorProvider jdk() {
    JdkChannels.requireDescriptors();
    return JdkChannels.provider();
  }

  /** Returns whether a channel is TCP whatever its address is: it then is the JDK's own. */
  private static boolean isTcp(@Nullable ProtocolFamily family) {
    return family == StandardProtocolFamily.UNIX
        || Rules.configured().areTcpOnly(Providers.mayHaveDevices());
  }

  private SocketChannel over(SocketChannel tcp, @Nullable ProtocolFamily family) {
    return isTcp(family) ? tcp : new HybridChannel(this, tcp, family);
  }

  private ServerSocketChannel over(ServerSocketChannel tcp, @Nullable ProtocolFamily family) {
    return isTcp(family) ? tcp : new HybridListener(this, tcp, family);
  }

  /**
   * Opens a socket channel, which decides between RDMA and TCP when it is bound or connected.
   *
   * @throws IOException if the process has no more file descriptors
   * @throws UnsupportedOperationException if the JVM was started without {@code --add-exports}
   */
  @Override
  public SocketChannel openSocketChannel() throws IOException {
    return over(jdk().openSocketChannel(), null);
  }

  /**
   * Opens a socket channel of a protocol family. A channel of family UNIX is one of the JDK.
   *
   * @param family the protocol family
   * @throws IOException if the process has no more file descriptors
   * @throws UnsupportedOperationException if the JDK does not have the family; or as {@link
   *     #openSocketChannel()}
   */
  @Override
  public SocketChannel openSocketChannel(ProtocolFamily family) throws IOException {
    return over(jdk().openSocketChannel(Objects.requireNonNull(family, "family")), family);
  }

  /**
   * Opens a channel for listening, which decides when it is bound.
   *
   * @throws IOException if the process has no more file descriptors
   * @throws UnsupportedOperationException as {@link #openSocketChannel()}
   */
  @Override
  public ServerSocketChannel openServerSocketChannel() throws IOException {
    return over(jdk().openServerSocketChannel(), null);
  }

  /**
   * Opens a channel for listening of a protocol family. A channel of family UNIX is one of the JDK.
   *
   * @param family the protocol family
   * @throws IOException if the process has no more file descriptors
   * @throws UnsupportedOperationException if the JDK does not have the family; or as {@link
   *     #openSocketChannel()}
   */
  @Override
  public ServerSocketChannel openServerSocketChannel(ProtocolFamily family) throws IOException {
    return over(jdk().openServerSocketChannel(Objects.requireNonNull(family, "family")), family);
  }

  /**
   * Opens a selector for channels of this provider and of the JDK: {@link
   * RdmaSelectorProvider#openSelector}.
   *
   * @throws IOException if the process has no more file descriptors
   */
  @Override
  public AbstractSelector openSelector() throws IOException {
    return new EventSelector(this);
  }

  @Override
  public DatagramChannel openDatagramChannel() throws IOException {
    return jdk().openDatagramChannel();
  }

  @Override
  public DatagramChannel openDatagramChannel(ProtocolFamily family) throws IOException {
    return jdk().openDatagramChannel(Objects.requireNonNull(family, "family"));
  }

  @Override
  public Pipe openPipe() throws IOException {
    return jdk().openPipe();
  }

  @Override
  public @Nullable Channel inheritedChannel() throws IOException {
    return jdk().inheritedChannel();
  }
}
