package dev.verbena.sockets;

import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.NotYetBoundException;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** A server socket channel that accepts connections of RDMA. */
final class ListeningChannel extends ServerSocketChannel implements PolledChannel, ListenerCalls {
  private static final int DEFAULT_BACKLOG = 50;

  private final SelectorProvider provider;
  private final Options options = Options.ofListener();
  private final @Nullable ProtocolFamily family;
  private final List<EventKey> keys;
  private final ScopedLock acceptLock = new ScopedLock();

  private final Object stateLock = new Object();

  /** Written under the state lock, as are the fields below. */
  private volatile @Nullable RdmaListener listener;

  private @Nullable InetSocketAddress local;

  private @Nullable ServerSocket socket;

  ListeningChannel(SelectorProvider provider, @Nullable ProtocolFamily family) {
    this(provider, family, new CopyOnWriteArrayList<>());
  }

  /** Makes a channel that tells keys, which may be those of another channel. */
  ListeningChannel(
      SelectorProvider provider, @Nullable ProtocolFamily family, List<EventKey> keys) {
    super(provider);
    this.provider = provider;
    this.keys = keys;
    this.family = family;
    Addresses.requireInternet(family);
  }

  @Override
  public ServerSocketChannel bind(@Nullable SocketAddress address, int backlog) throws IOException {
    synchronized (stateLock) {
      Failures.requireOpen(this);
      if (local != null) {
        throw new AlreadyBoundException();
      }
      InetSocketAddress bound =
          address == null ? Addresses.wildcard() : Addresses.validated(address, family);
      RdmaListener opened =
          RdmaListener.open(
              bound,
              backlog < 1 ? DEFAULT_BACKLOG : backlog,
              options.sizes(),
              () -> keys.forEach(EventKey::changed));
      listener = opened;
      local = opened.localAddress();
    }
    return this;
  }

  /** Ends the listening, so that another address can be bound. */
  void unbind() {
    synchronized (stateLock) {
      if (listener != null) {
        listener.close();
      }
      listener = null;
      local = null;
    }
  }

  @Override
  public @Nullable InetSocketAddress localAddress() {
    synchronized (stateLock) {
      return local;
    }
  }

  @Override
  public @Nullable SocketAddress getLocalAddress() throws IOException {
    Failures.requireOpen(this);
    return localAddress();
  }

  @Override
  public @Nullable SocketChannel accept() throws IOException {
    return accept(SocketCalls.FOREVER);
  }

  @Override
  public @Nullable SocketChannel accept(long nanos) throws IOException {
    try (var _ = acceptLock.hold()) {
      Failures.requireOpen(this);
      boolean isBlocking = isBlocking();
      RdmaConnection accepted = null;
      try {
        if (isBlocking) {
          begin();
        }
        accepted = accept(isBlocking, nanos);
      } finally {
        if (isBlocking) {
          endAccept(accepted);
        }
      }
      if (accepted == null) {
        if (!isOpen()) {
          throw new AsynchronousCloseException();
        }
        return null;
      }
      try {
        return StreamChannel.accepted(provider, accepted, options.ofAccepted());
      } catch (Throwable t) { // For example without memory: nobody else would close it.
        var _ = accepted.close(0);
        throw t;
      }
    }
  }

  /** Ends an accept; closes the connection if the thread was interrupted when it had come. */
  private void endAccept(@Nullable RdmaConnection accepted) throws IOException {
    try {
      end(accepted != null);
    } catch (AsynchronousCloseException e) {
      if (accepted != null) {
        var _ = accepted.close(0);
      }
      throw e;
    }
  }

  private @Nullable RdmaConnection accept(boolean wait, long nanos) throws IOException {
    if (localAddress() == null) {
      throw new NotYetBoundException();
    }
    long start = Time.now();
    RdmaListener from = Objects.requireNonNull(listener);
    while (isOpen()) {
      RdmaConnection accepted = from.accept();
      if (accepted != null || !wait) {
        return accepted;
      }
      from.await(SocketCalls.left(nanos, start, "Accept timed out"));
    }
    return null;
  }

  /** Returns whether each accept would throw, because the device was removed. */
  boolean hasEnded() {
    RdmaListener from = listener;
    return from != null && from.hasEnded();
  }

  @Override
  protected void implCloseSelectableChannel() {
    RdmaListener closing;
    synchronized (stateLock) {
      closing = listener;
    }
    if (closing != null) {
      closing.close();
    }
  }

  @Override
  protected void implConfigureBlocking(boolean block) throws IOException {
    // The listener does not block. An accept in progress ends first.
    try (var _ = acceptLock.hold()) {
      Failures.requireOpen(this);
    }
  }

  @Override
  public <T> ServerSocketChannel setOption(SocketOption<T> name, T value) throws IOException {
    options.require(name);
    synchronized (stateLock) {
      Failures.requireOpen(this);
      options.set(name, value);
    }
    return this;
  }

  @Override
  public <T> T getOption(SocketOption<T> name) throws IOException {
    options.require(name);
    synchronized (stateLock) {
      Failures.requireOpen(this);
      return options.get(name);
    }
  }

  @Override
  public Set<SocketOption<?>> supportedOptions() {
    return Options.namesOfListeners();
  }

  @Override
  public ServerSocket socket() {
    synchronized (stateLock) {
      if (socket == null) {
        socket = ChannelServerSocket.of(this, this);
      }
      return socket;
    }
  }

  @Override
  public List<EventKey> keys() {
    return keys; // They are told of each connection: there is no descriptor.
  }

  @Override
  public int readyOperations(int operations, int events) {
    RdmaListener from = listener;
    return from != null && from.isAcceptable() ? operations & SelectionKey.OP_ACCEPT : 0;
  }

  @Override
  public String toString() {
    String state = isOpen() ? String.valueOf(localAddress()) : "closed";
    return RdmaSelectorProvider.class.getPackageName() + ".ServerSocketChannel[" + state + "]";
  }
}
