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
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.Channel;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ConnectionPendingException;
import java.nio.channels.NoConnectionPendingException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A socket channel that is neither over RDMA nor over TCP until it is bound or connected: it has
 * one of each, and uses the one over TCP, which is unconnected, until it has decided.
 */
final class HybridChannel extends SocketChannel implements PolledChannel, SocketCalls {
  private final SocketChannel tcp;
  private final @Nullable ProtocolFamily family;
  private final List<EventKey> keys = new CopyOnWriteArrayList<>();
  private final JdkChannel polledTcp;

  /** Held to bind and to connect. */
  private final ScopedLock lock = new ScopedLock();

  /** What {@link #isBlocking} returns, or will return; guarded by the lock. */
  private boolean blocks = true;

  /** The channel over RDMA, opened when it is needed; written under the monitor. */
  private volatile @Nullable StreamChannel rdma;

  /** Opened when it is needed; guarded by this. */
  private @Nullable Socket socket;

  /** The channel that is used. Written under the lock, as is the next. */
  private volatile SocketChannel used;

  /** The attempt to connect that was begun and not finished by the program. */
  private volatile @Nullable HybridConnect pending;

  HybridChannel(SelectorProvider provider, SocketChannel tcp, @Nullable ProtocolFamily family) {
    super(provider);
    this.tcp = tcp;
    this.family = family;
    this.polledTcp = new JdkChannel(tcp, keys);
    this.used = tcp;
  }

  /** Returns the channel over RDMA, before this one is connected by TCP. */
  private synchronized StreamChannel rdma() {
    StreamChannel opened = rdma;
    if (opened == null) {
      opened = StreamChannel.open(provider(), family, keys);
      rdma = opened;
      if (!isOpen()) { // Closed meanwhile, perhaps without the new one.
        TransportLog.closeUnused(opened);
      }
    }
    return opened;
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
      if (channel instanceof StreamChannel stream) {
        return stream.read(target, nanos);
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
    return connected() instanceof StreamChannel stream
        ? stream.available()
        : tcp.socket().getInputStream().available();
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
        used = rdma().bind(address);
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
    return !Addresses.isOfThisHost(local.getAddress()) && Providers.mayReach(local, null);
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
      requireUninterrupted();
      if (pending != null) {
        throw new ConnectionPendingException();
      } else if (used.isConnected()) {
        throw new AlreadyConnectedException();
      }
      HybridConnect connect =
          new HybridConnect(
              tcp, this::rdma, keys, used.equals(tcp), target, blocks ? nanos : FOREVER);
      try {
        pending = connect;
        if (blocks && connect.isTcpOnly()) {
          connect.byTcp(nanos);
        } else {
          SelectableChannel _ = tcp.configureBlocking(false);
        }
        return finish(connect, nanos);
      } catch (IOException e) {
        throw failed(e);
      }
    }
  }

  /** Closes the channel if it blocks and the thread is interrupted, whatever else its state is. */
  private void requireUninterrupted() throws AsynchronousCloseException {
    if (blocks) {
      begin();
      end(true);
    }
  }

  /** Closes the channel, which could not be connected; returns the exception to throw. */
  private IOException failed(IOException e) throws IOException {
    boolean isDisturbed = blocks && !isOpen() && !(e instanceof AsynchronousCloseException);
    close();
    return isDisturbed ? new AsynchronousCloseException() : e;
  }

  /** Ends the attempt if there is a connection; waits for it if the channel is blocking. */
  private boolean finish(HybridConnect connect, long nanos) throws IOException {
    connect.step(true);
    if (blocks) {
      connect.await(this, nanos);
    } else {
      connect.schedule();
    }
    SocketChannel connected = connect.result();
    if (connected == null) {
      return false;
    }
    SelectableChannel _ = connected.configureBlocking(blocks);
    StreamChannel unused = rdma;
    if (unused != null && connected.equals(tcp)) {
      TransportLog.closeUnused(unused);
    }
    used = connected;
    pending = null;
    changed();
    return true;
  }

  /** Makes selectors examine the channel again, whose state has changed. */
  private void changed() {
    keys.forEach(EventKey::changed);
  }

  @Override
  public boolean finishConnect() throws IOException {
    try (var _ = lock.hold()) {
      Failures.requireOpen(this);
      requireUninterrupted();
      HybridConnect connect = pending;
      if (connect == null) {
        if (used.isConnected()) {
          return true;
        }
        throw new NoConnectionPendingException();
      }
      try {
        return finish(connect, FOREVER);
      } catch (IOException e) {
        throw failed(e);
      }
    }
  }

  @Override
  public boolean isConnected() {
    return pending == null && used.isConnected();
  }

  @Override
  public boolean isConnectionPending() {
    return isOpen() && pending != null;
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
    if (used instanceof StreamChannel stream) {
      return stream.localAddress();
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
    return used instanceof StreamChannel stream
        ? stream.remoteAddress()
        : (InetSocketAddress) tcp.socket().getRemoteSocketAddress();
  }

  @Override
  public boolean isInputShut() {
    return used instanceof StreamChannel stream
        ? stream.isInputShut()
        : tcp.socket().isInputShutdown();
  }

  @Override
  public boolean isOutputShut() {
    return used instanceof StreamChannel stream
        ? stream.isOutputShut()
        : tcp.socket().isOutputShutdown();
  }

  // State

  @Override
  protected void implCloseSelectableChannel() throws IOException {
    keys.forEach(EventKey::attach); // Without the descriptor, before it is closed.
    try (tcp;
        var _ = rdma) {
      HybridConnect connect = pending;
      if (connect != null) {
        connect.changed();
      }
    }
  }

  @Override
  protected void implConfigureBlocking(boolean block) throws IOException {
    try (var _ = lock.hold()) {
      Failures.requireOpen(this);
      blocks = block;
      if (pending == null) { // Otherwise the one that is connected, then.
        SelectableChannel _ = used.configureBlocking(block);
      }
    }
  }

  /** Returns the channels that may be used; the one that is used first. */
  private List<SocketChannel> channels() {
    SocketChannel first = used;
    if (first.isConnected() || !isOpen()) {
      return List.of(first);
    }
    SocketChannel second = first.equals(tcp) ? rdma() : tcp;
    List<SocketChannel> open = Stream.of(first, second).filter(Channel::isOpen).toList();
    return open.isEmpty() ? List.of(first) : open;
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
  public synchronized Socket socket() {
    if (socket == null) {
      socket = ChannelSocket.of(this, this);
    }
    return socket;
  }

  // Selection

  private PolledChannel polled() {
    return used instanceof StreamChannel stream ? stream.polled() : polledTcp;
  }

  @Override
  public List<EventKey> keys() {
    return keys;
  }

  @Override
  public int descriptor() {
    HybridConnect connect = pending;
    if (connect != null) {
      return isOpen() && connect.isTcpPending() ? polledTcp.descriptor() : -1;
    }
    return isOpen() && used.isConnected() ? polled().descriptor() : -1;
  }

  @Override
  public int events(int operations) {
    return polled().events(operations);
  }

  @Override
  public boolean isReportedWhileReady() {
    return pending == null && polled().isReportedWhileReady();
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
    try (var _ = lock.hold()) {
      if (pending == connect) {
        connect.step(polledTcp.readyOperations(SelectionKey.OP_CONNECT, events) != 0);
        connect.schedule();
      }
    }
    return connect.hasEnded() ? operations & SelectionKey.OP_CONNECT : 0;
  }

  @Override
  public String toString() {
    String name = RdmaSelectorProvider.class.getPackageName() + ".HybridChannel";
    return isOpen() ? name + "[" + used + "]" : name + "[closed]";
  }
}
