package dev.verbena.sockets;

import dev.verbena.internal.Providers;
import dev.verbena.internal.time.ScopedLock;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.nio.ByteBuffer;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ConnectionPendingException;
import java.nio.channels.NoConnectionPendingException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * A socket channel that is neither over RDMA nor over TCP until it is bound or connected: it has
 * one of each, and uses the one over TCP, which is unconnected, until it has decided.
 */
final class HybridChannel extends SocketChannel implements PolledChannel, SocketCalls {
  private final SocketChannel tcp;
  private final StreamChannel rdma;
  private final @Nullable ProtocolFamily family;
  private final List<EventKey> keys = new CopyOnWriteArrayList<>();
  private final JdkChannel polledTcp;
  private final Socket socket;

  /** Held to bind and to connect. */
  private final ScopedLock lock = new ScopedLock();

  /** The channel that is used. Written under the lock, as are the fields below. */
  private volatile SocketChannel used;

  /** The attempt to connect that was begun and not finished by the program. */
  private volatile @Nullable HybridConnect pending;

  /** Whether the JDK may close the descriptor of the channel over TCP, which failed to connect. */
  private volatile boolean isFinishing;

  HybridChannel(SelectorProvider provider, SocketChannel tcp, @Nullable ProtocolFamily family) {
    super(provider);
    this.tcp = tcp;
    this.family = family;
    this.rdma = StreamChannel.open(provider, family, keys);
    this.polledTcp = new JdkChannel(tcp, keys);
    this.used = tcp;
    this.socket = ChannelSocket.of(this, this);
  }

  /** Returns the channel to read from and to write to. */
  private SocketChannel connected() throws ClosedChannelException {
    if (pending != null) {
      Failures.requireOpen(this);
      throw new NotYetConnectedException();
    }
    return used;
  }

  /** Closes this channel if the one that it uses has closed itself: as it does when it fails. */
  private void closeWith(SocketChannel channel) throws IOException {
    if (channel.equals(used) && !channel.isOpen()) {
      close();
    }
  }

  // Data

  @Override
  public int read(ByteBuffer target) throws IOException {
    SocketChannel channel = connected();
    try {
      return channel.read(target);
    } finally {
      closeWith(channel);
    }
  }

  @Override
  public long read(ByteBuffer[] targets, int offset, int length) throws IOException {
    SocketChannel channel = connected();
    try {
      return channel.read(targets, offset, length);
    } finally {
      closeWith(channel);
    }
  }

  @Override
  public int write(ByteBuffer source) throws IOException {
    SocketChannel channel = connected();
    try {
      return channel.write(source);
    } finally {
      closeWith(channel);
    }
  }

  @Override
  public long write(ByteBuffer[] sources, int offset, int length) throws IOException {
    SocketChannel channel = connected();
    try {
      return channel.write(sources, offset, length);
    } finally {
      closeWith(channel);
    }
  }

  @Override
  public int read(ByteBuffer target, long nanos) throws IOException {
    SocketChannel channel = connected();
    try {
      if (channel.equals(rdma)) {
        return rdma.read(target, nanos);
      }
      tcp.socket().setSoTimeout(SocketCalls.milliseconds(nanos));
      return tcp.socket()
          .getInputStream()
          .read(target.array(), target.arrayOffset() + target.position(), target.remaining());
    } finally {
      closeWith(channel);
    }
  }

  @Override
  public int available() throws IOException {
    return connected().equals(rdma) ? rdma.available() : tcp.socket().getInputStream().available();
  }

  @Override
  public SocketChannel shutdownInput() throws IOException {
    connected().shutdownInput();
    return this;
  }

  @Override
  public SocketChannel shutdownOutput() throws IOException {
    connected().shutdownOutput();
    return this;
  }

  // Connecting

  @Override
  public SocketChannel bind(@Nullable SocketAddress address) throws IOException {
    try (var _ = lock.hold()) {
      Failures.requireOpen(this);
      if (pending != null) {
        throw new ConnectionPendingException();
      }
      if (localAddress() != null) {
        throw new AlreadyBoundException();
      }
      if (isOfRdmaOnly(address)) {
        rdma.bind(address);
        used = rdma;
      } else {
        tcp.bind(address);
      }
      return this;
    }
  }

  /** Returns whether an address is one of a device, but none of this host: of a software device. */
  private boolean isOfRdmaOnly(@Nullable SocketAddress address) throws SocketException {
    if (address == null) {
      return false;
    }
    InetSocketAddress local = Addresses.validated(address, family);
    return !Addresses.isOfThisHost(local.getAddress()) && Providers.mayReach(local);
  }

  @Override
  public boolean connect(SocketAddress address) throws IOException {
    return connect(address, FOREVER);
  }

  @Override
  public boolean connect(SocketAddress address, long nanos) throws IOException {
    InetSocketAddress target = Addresses.target(Addresses.validated(address, family));
    try (var _ = lock.hold()) {
      Failures.requireOpen(this);
      if (pending != null) {
        throw new ConnectionPendingException();
      } else if (used.isConnected()) {
        throw new AlreadyConnectedException();
      }
      HybridConnect connect = new HybridConnect(tcp, rdma, used.equals(tcp), target);
      return isBlocking() ? connectNow(connect, nanos) : begin(connect);
    }
  }

  private boolean connectNow(HybridConnect connect, long nanos) throws IOException {
    try {
      if (connect.isByRdma()) {
        used = rdma;
        if (connect.byRdma(nanos)) {
          connect.finished(rdma);
          return true;
        }
      }
      used = tcp;
      connect.byTcp(nanos);
      connect.finished(tcp);
      return true;
    } catch (IOException e) {
      close();
      throw e;
    }
  }

  /** Begins to connect; the channel is non-blocking. */
  private boolean begin(HybridConnect connect) throws IOException {
    try {
      if (connect.isByRdma()) {
        used = rdma;
      }
      if (!connect.isByRdma() || !connect.beginByRdma(this::changed)) {
        connect.beginByTcp();
        used = tcp;
      }
    } catch (IOException e) {
      close();
      throw e;
    }
    if (used.isConnected()) { // Over TCP, on one host.
      connect.finished(used);
      return true;
    }
    pending = connect;
    changed();
    return false;
  }

  /** Makes selectors examine the channel again, whose state has changed. */
  private void changed() {
    keys.forEach(EventKey::changed);
  }

  @Override
  public boolean finishConnect() throws IOException {
    try (var _ = lock.hold()) {
      Failures.requireOpen(this);
      HybridConnect connect = pending;
      if (connect == null) {
        if (used.isConnected()) {
          return true;
        }
        throw new NoConnectionPendingException();
      }
      boolean isConnected = false;
      try {
        advance(connect);
        connect.throwFailure();
        isConnected = used.isConnected() || (used.equals(tcp) && finishTcp(connect));
      } catch (IOException e) {
        close();
        throw e;
      }
      if (isConnected) {
        pending = null;
        connect.finished(used);
        changed();
      }
      return isConnected;
    }
  }

  /** Finishes to connect over TCP: the JDK closes the channel if it failed. */
  private boolean finishTcp(HybridConnect connect) throws IOException {
    isFinishing = true;
    keys.forEach(EventKey::attach); // Without the descriptor, whose number may be used again.
    try {
      return connect.finishByTcp();
    } finally {
      isFinishing = false;
      changed();
    }
  }

  /** Takes the next step if the attempt by RDMA has ended: falls back to TCP if it has failed. */
  private void advance(HybridConnect connect) {
    try (var _ = lock.hold()) {
      if (pending == connect && used.equals(rdma) && !connect.continueByRdma()) {
        connect.fallBack();
        used = tcp; // From now on selectors wait for it.
        changed();
      }
    }
  }

  @Override
  public boolean isConnected() {
    return pending == null && used.isConnected();
  }

  @Override
  public boolean isConnectionPending() {
    return pending != null;
  }

  @Override
  public @Nullable SocketAddress getRemoteAddress() throws IOException {
    Failures.requireOpen(this);
    return pending == null ? used.getRemoteAddress() : null;
  }

  @Override
  public @Nullable SocketAddress getLocalAddress() throws IOException {
    Failures.requireOpen(this);
    return used.getLocalAddress();
  }

  @Override
  public @Nullable InetSocketAddress localAddress() {
    if (used.equals(rdma)) {
      return rdma.localAddress();
    }
    Socket view = tcp.socket();
    return view.getLocalPort() < 0
        ? null
        : new InetSocketAddress(view.getLocalAddress(), view.getLocalPort());
  }

  @Override
  public @Nullable InetSocketAddress remoteAddress() {
    if (pending != null) {
      return null;
    }
    return used.equals(rdma)
        ? rdma.remoteAddress()
        : (InetSocketAddress) tcp.socket().getRemoteSocketAddress();
  }

  @Override
  public boolean isInputShut() {
    return used.equals(rdma) ? rdma.isInputShut() : tcp.socket().isInputShutdown();
  }

  @Override
  public boolean isOutputShut() {
    return used.equals(rdma) ? rdma.isOutputShut() : tcp.socket().isOutputShutdown();
  }

  // State

  @Override
  protected void implCloseSelectableChannel() throws IOException {
    keys.forEach(EventKey::attach); // Without the descriptor, before it is closed.
    try (tcp) {
      rdma.close();
    }
  }

  @Override
  protected void implConfigureBlocking(boolean block) throws IOException {
    try (var _ = lock.hold()) {
      Failures.requireOpen(this);
      for (SocketChannel channel : channels()) {
        channel.configureBlocking(block);
      }
    }
  }

  /** Returns both channels until one is decided for; the one that is used first. */
  private List<SocketChannel> channels() {
    SocketChannel first = used;
    SocketChannel second = first.equals(tcp) ? rdma : tcp;
    return first.isOpen() && second.isOpen() ? List.of(first, second) : List.of(first);
  }

  @Override
  public <T> SocketChannel setOption(SocketOption<T> name, T value) throws IOException {
    EitherOptions.set(channels(), name, value);
    return this;
  }

  @Override
  public <T> T getOption(SocketOption<T> name) throws IOException {
    return EitherOptions.get(channels(), name);
  }

  @Override
  public Set<SocketOption<?>> supportedOptions() {
    return EitherOptions.names(channels());
  }

  @Override
  public Socket socket() {
    return socket;
  }

  // Selection

  private PolledChannel polled() {
    return used.equals(rdma) ? rdma.polled() : polledTcp;
  }

  @Override
  public List<EventKey> keys() {
    return keys;
  }

  @Override
  public int descriptor() {
    if (used.equals(rdma)) {
      return rdma.polled().descriptor();
    }
    boolean isPolled = isOpen() && !isFinishing && (pending != null || tcp.isConnected());
    return isPolled ? polledTcp.descriptor() : -1;
  }

  @Override
  public int events(int operations) {
    return polled().events(operations);
  }

  @Override
  public boolean isReportedWhileReady() {
    HybridConnect connect = pending;
    return used.equals(tcp) && (connect == null || !connect.hasFailed());
  }

  @Override
  public void readEvents(EventKey key) {
    polled().readEvents(key);
  }

  @Override
  public int readyOperations(int operations, int events) {
    HybridConnect connect = pending;
    if (connect == null) {
      return polled().readyOperations(operations, events);
    }
    advance(connect);
    boolean isReady =
        used.isConnected()
            || connect.hasFailed()
            || (used.equals(tcp)
                && polledTcp.readyOperations(SelectionKey.OP_CONNECT, events) != 0);
    return isReady ? operations & SelectionKey.OP_CONNECT : 0;
  }

  @Override
  public String toString() {
    String name = RdmaSelectorProvider.class.getPackageName() + ".HybridChannel";
    return isOpen() ? name + "[" + used + "]" : name + "[closed]";
  }
}
