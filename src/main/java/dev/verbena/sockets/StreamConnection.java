package dev.verbena.sockets;

import dev.verbena.RdmaException;
import dev.verbena.internal.io.EventSet;
import dev.verbena.internal.time.Time;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.Channel;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ConnectionPendingException;
import java.nio.channels.NoConnectionPendingException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.SelectionKey;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The connection of a channel, from unconnected to closed: its addresses, its options, and the
 * selection keys that its changes concern. Any thread may call any method.
 */
final class StreamConnection implements PolledChannel {
  private enum State {
    UNCONNECTED,
    PENDING,
    CONNECTED
  }

  private final Channel channel;
  private final Options options;
  private final @Nullable ProtocolFamily family;
  private final List<EventKey> keys;
  private final Object stateLock = new Object();

  /** Written under the state lock; the fields below, too. */
  private volatile State state = State.UNCONNECTED;

  /** Null until the channel is bound or connected. */
  private volatile @Nullable RdmaConnection connection;

  private @Nullable InetSocketAddress local;
  private @Nullable InetSocketAddress remote;
  private volatile boolean isInputShut;
  private volatile boolean isOutputShut;

  /** The options of the keep-alive, which are null if there is none. */
  private @Nullable StreamKeepAlive keepAlive;

  private volatile @Nullable Thread keeper;

  /** Whether the descriptor of the stream will be closed, or was. */
  private volatile boolean isReleasing;

  /**
   * Creates the state of an unconnected channel.
   *
   * @param family the family of its addresses; null for any
   */
  StreamConnection(
      Channel channel, Options options, @Nullable ProtocolFamily family, List<EventKey> keys) {
    this.channel = channel;
    this.options = options;
    this.family = family;
    this.keys = keys;
  }

  /** Takes a connection that was accepted, and is established. */
  void accept(RdmaConnection accepted) {
    synchronized (stateLock) {
      connection = accepted;
      remote = accepted.peerAddress().orElseThrow();
      accepted.onChange(this::changed);
      connected();
    }
  }

  /** Returns the stream of a connected channel. */
  RdmaStream stream() {
    return Objects.requireNonNull(connection).stream();
  }

  /** Returns the events of a pending connection. */
  CmEvents events() {
    return Objects.requireNonNull(connection).events();
  }

  void requireOpen() throws ClosedChannelException {
    Failures.requireOpen(channel);
  }

  void requireConnected() throws ClosedChannelException {
    requireOpen();
    if (state != State.CONNECTED) {
      throw new NotYetConnectedException();
    }
  }

  boolean isConnected() {
    return state == State.CONNECTED;
  }

  boolean isPending() {
    return state == State.PENDING;
  }

  boolean isInputShut() {
    return isInputShut;
  }

  boolean isOutputShut() {
    return isOutputShut;
  }

  @Override
  public List<EventKey> keys() {
    return keys;
  }

  @Nullable InetSocketAddress remoteAddress() {
    synchronized (stateLock) {
      return state == State.CONNECTED ? remote : null;
    }
  }

  @Nullable InetSocketAddress localAddress() {
    synchronized (stateLock) {
      return local;
    }
  }

  // Connecting

  void bind(@Nullable SocketAddress address) throws IOException {
    synchronized (stateLock) {
      requireOpen();
      if (state == State.PENDING) {
        throw new ConnectionPendingException();
      }
      if (local != null) {
        throw new AlreadyBoundException();
      }
      InetSocketAddress bound =
          address == null ? Addresses.wildcard() : Addresses.validated(address, family);
      RdmaConnection opened;
      try {
        opened = RdmaConnection.bound(bound, this::changed);
      } catch (RdmaException | IllegalArgumentException e) {
        throw Failures.ofBind(e);
      }
      connection = opened;
      local = opened.localAddress().orElse(bound);
    }
  }

  /** Returns the address to connect to. */
  InetSocketAddress target(SocketAddress address) throws IOException {
    return Addresses.target(Addresses.validated(address, family));
  }

  void beginConnect(InetSocketAddress target) throws IOException {
    synchronized (stateLock) {
      requireOpen();
      if (state == State.CONNECTED) {
        throw new AlreadyConnectedException();
      } else if (state == State.PENDING) {
        throw new ConnectionPendingException();
      }
      remote = target;
      RdmaConnection connecting = connection;
      if (connecting == null) {
        connecting = Failures.or(() -> RdmaConnection.unbound(target, this::changed));
        connection = connecting;
      }
      state = State.PENDING;
      connecting.connect(target, options.sizes());
    }
  }

  void requirePending() {
    if (state != State.PENDING) {
      throw new NoConnectionPendingException();
    }
  }

  /** Waits for the pending connection; returns false if the channel is closed meanwhile. */
  boolean await(long nanos) throws IOException {
    long start = Time.now();
    while (channel.isOpen()) {
      if (isEstablished()) {
        return true;
      }
      long left = SocketCalls.left(nanos, start, "Connect timed out");
      Objects.requireNonNull(connection).await(left);
    }
    return false;
  }

  /** Returns whether the pending connection is established. */
  boolean isEstablished() throws IOException {
    synchronized (stateLock) {
      if (!channel.isOpen()) {
        return false;
      }
      if (!Objects.requireNonNull(connection).finish()) {
        return false;
      }
      connected();
    }
    changed(); // Selectors wait for its descriptor from now on.
    return true;
  }

  /** Guarded by the state lock. */
  private void connected() {
    local = Objects.requireNonNull(connection).localAddress().orElseThrow();
    stream().beforeRelease(this::releasing); // Before selectors can wait for its descriptor.
    state = State.CONNECTED;
    keepAlive();
  }

  /** Starts, continues or ends the keep-alive, as the options say. Guarded by the state lock. */
  private void keepAlive() {
    StreamKeepAlive wanted = options.keepAlive();
    if (Objects.equals(wanted, keepAlive)) {
      return;
    }
    keepAlive = wanted;
    stopKeepAlive();
    if (wanted != null) {
      keeper = wanted.start(stream());
    }
    if (isReleasing) { // Perhaps before the keep-alive was started.
      stopKeepAlive();
    }
  }

  private void stopKeepAlive() {
    Thread current = keeper;
    if (current != null) {
      current.interrupt();
    }
  }

  /** Makes selectors examine the channel again, whose state has changed. */
  private void changed(RdmaConnection unused) {
    changed();
  }

  private void changed() {
    keys.forEach(EventKey::changed);
  }

  // The end

  void shutInput() throws IOException {
    synchronized (stateLock) {
      requireConnected();
      if (isInputShut) {
        return;
      }
      isInputShut = true;
    }
    stream().shutInput();
    changed();
  }

  void shutOutput() throws IOException {
    synchronized (stateLock) {
      requireConnected();
      if (isOutputShut) {
        return;
      }
      isOutputShut = true;
    }
    stream().shutOutput();
    changed();
  }

  /** The descriptor of the stream will be closed: selectors must not wait for it any more. */
  private void releasing() {
    isReleasing = true;
    stopKeepAlive();
    keys.forEach(EventKey::attach);
    changed();
  }

  /** Closes the connection, after the channel was closed; waits for the time of SO_LINGER. */
  void close(boolean isBlocking) {
    keys.forEach(EventKey::attach);
    RdmaConnection ending;
    synchronized (stateLock) {
      ending = connection;
    }
    if (ending == null) {
      return;
    }
    int seconds = options.linger();
    var released = ending.close(seconds == 0 ? 0 : RdmaStream.LONGEST_CLOSE);
    if (seconds > 0 && isBlocking && isConnected()) {
      try {
        Void _ = Time.get(released, TimeUnit.SECONDS.toNanos(seconds));
      } catch (TimeoutException e) {
        // The end goes on.
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (ExecutionException e) {
        throw new AssertionError(e);
      }
    }
  }

  // Options

  <T> void setOption(SocketOption<T> name, T value) throws IOException {
    options.require(name);
    synchronized (stateLock) {
      requireOpen();
      options.set(name, value);
      if (state == State.CONNECTED) {
        keepAlive();
      }
    }
  }

  <T> T getOption(SocketOption<T> name) throws IOException {
    options.require(name);
    synchronized (stateLock) {
      requireOpen();
      return options.get(name);
    }
  }

  // Selection

  @Override
  public int descriptor() {
    return channel.isOpen() && state == State.CONNECTED && !isReleasing
        ? stream().descriptor()
        : -1;
  }

  @Override
  public int events(int operations) {
    return EventSet.READABLE;
  }

  @Override
  public void readEvents(EventKey key) {
    if (state == State.CONNECTED) {
      stream().readEvents();
      for (EventKey other : keys) {
        if (!other.equals(key)) {
          other.changed(); // Its selector may not have seen that the descriptor was readable.
        }
      }
    }
  }

  @Override
  public int readyOperations(int operations, int events) {
    if (state == State.CONNECTED) {
      int wanted =
          ((operations & SelectionKey.OP_READ) != 0 ? RdmaStream.RECEIVE : 0)
              | ((operations & SelectionKey.OP_WRITE) != 0 ? RdmaStream.SEND : 0);
      int ready = wanted == 0 ? 0 : stream().ready(wanted);
      return ((ready & RdmaStream.RECEIVE) != 0 ? SelectionKey.OP_READ : 0)
          | ((ready & RdmaStream.SEND) != 0 ? SelectionKey.OP_WRITE : 0);
    }
    RdmaConnection connecting = connection;
    return state == State.PENDING && connecting != null && connecting.isFinished()
        ? operations & SelectionKey.OP_CONNECT
        : 0;
  }

  @Override
  public String toString() {
    synchronized (stateLock) {
      return switch (state) {
            case UNCONNECTED -> "unconnected";
            case PENDING -> "connection-pending";
            case CONNECTED -> "connected";
          }
          + (isInputShut ? " ishut" : "")
          + (isOutputShut ? " oshut" : "")
          + (local == null ? "" : " local=" + local)
          + (remote == null ? "" : " remote=" + remote);
    }
  }
}
