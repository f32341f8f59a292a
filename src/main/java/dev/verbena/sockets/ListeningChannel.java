package dev.verbena.sockets;

import dev.verbena.internal.Rpoll;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetBoundException;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** A server socket channel over an rsocket. */
final class ListeningChannel extends ServerSocketChannel implements PolledChannel {
  private static final int DEFAULT_BACKLOG = 50;

  private final RdmaSelectorProvider provider;
  private final Rsocket rsocket;
  private final Options options;
  private final @Nullable ProtocolFamily family;
  private final ReentrantLock acceptLock = new ReentrantLock();

  private final Object stateLock = new Object();

  /** Guarded by the state lock, as is the field below. */
  private @Nullable InetSocketAddress local;

  private @Nullable ServerSocket socket;

  ListeningChannel(RdmaSelectorProvider provider, @Nullable ProtocolFamily family)
      throws IOException {
    super(provider);
    this.provider = provider;
    this.family = family;
    rsocket = Rsocket.open(Addresses.family(family));
    options = new Options(rsocket, Options.OF_LISTENERS);
    options.set(StandardSocketOptions.SO_REUSEADDR, true); // As the JDK does on Linux.
  }

  @Override
  public Rsocket rsocket() {
    return rsocket;
  }

  private void requireOpen() throws ClosedChannelException {
    if (!isOpen()) {
      throw new ClosedChannelException();
    }
  }

  @Override
  public ServerSocketChannel bind(@Nullable SocketAddress address, int backlog) throws IOException {
    synchronized (stateLock) {
      requireOpen();
      if (local != null) {
        throw new AlreadyBoundException();
      }
      InetSocketAddress bound =
          address == null ? Addresses.wildcard() : Addresses.validated(address, family);
      rsocket.bind(bound);
      rsocket.listen(backlog < 1 ? DEFAULT_BACKLOG : backlog, bound);
      local = rsocket.localAddress();
    }
    return this;
  }

  /** Returns the local address, also after the channel was closed; null if unbound. */
  @Nullable InetSocketAddress localAddress() {
    synchronized (stateLock) {
      return local;
    }
  }

  @Override
  public @Nullable SocketAddress getLocalAddress() throws IOException {
    requireOpen();
    return localAddress();
  }

  @Override
  public @Nullable SocketChannel accept() throws IOException {
    return accept(Rsocket.FOREVER);
  }

  /**
   * Accepts a connection; waits no longer than a time, if the channel is blocking.
   *
   * @throws SocketTimeoutException if the time has passed
   */
  @Nullable SocketChannel accept(long nanos) throws IOException {
    acceptLock.lock();
    try {
      requireOpen();
      if (localAddress() == null) {
        throw new NotYetBoundException();
      }
      boolean isBlocking = isBlocking();
      Rsocket accepted = null;
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
      return StreamChannel.accepted(provider, accepted);
    } finally {
      acceptLock.unlock();
    }
  }

  /** Ends an accept; closes the connection if the thread was interrupted when it had come. */
  private void endAccept(@Nullable Rsocket accepted) throws IOException {
    try {
      end(accepted != null);
    } catch (AsynchronousCloseException e) {
      if (accepted != null) {
        accepted.close(0);
      }
      throw e;
    }
  }

  private @Nullable Rsocket accept(boolean wait, long nanos) throws IOException {
    long start = System.nanoTime();
    while (rsocket.enter()) {
      Rsocket accepted;
      try {
        accepted = rsocket.accept();
      } finally {
        rsocket.leave();
      }
      if (accepted != null || !wait || !isOpen()) {
        return accepted;
      }
      long left = nanos == Rsocket.FOREVER ? nanos : nanos - (System.nanoTime() - start);
      if (left <= 0) {
        throw new SocketTimeoutException("Accept timed out");
      }
      rsocket.await(Rpoll.POLLIN, Math.min(left, Rsocket.TICK));
    }
    return null;
  }

  @Override
  protected void implCloseSelectableChannel() throws IOException {
    rsocket.close(ClosingThreads.LIMIT);
  }

  @Override
  protected void implConfigureBlocking(boolean block) throws IOException {
    // The rsocket is always non-blocking. An accept in progress ends first.
    acceptLock.lock();
    try {
      requireOpen();
    } finally {
      acceptLock.unlock();
    }
  }

  @Override
  public <T> ServerSocketChannel setOption(SocketOption<T> name, T value) throws IOException {
    options.require(name);
    synchronized (stateLock) {
      requireOpen();
      options.set(name, value);
    }
    return this;
  }

  @Override
  public <T> T getOption(SocketOption<T> name) throws IOException {
    options.require(name);
    synchronized (stateLock) {
      requireOpen();
      return options.get(name);
    }
  }

  @Override
  public Set<SocketOption<?>> supportedOptions() {
    return Options.OF_LISTENERS;
  }

  @Override
  public ServerSocket socket() {
    synchronized (stateLock) {
      if (socket == null) {
        socket = ChannelServerSocket.of(this);
      }
      return socket;
    }
  }

  @Override
  public int pollEvents(int operations) {
    return Rpoll.POLLIN;
  }

  @Override
  public int readyOperations(int events, int operations) {
    return events == 0 ? 0 : operations & SelectionKey.OP_ACCEPT;
  }

  @Override
  public boolean isExaminedAtIntervals() {
    return true;
  }

  @Override
  public String toString() {
    String state = isOpen() ? String.valueOf(localAddress()) : "closed";
    return RdmaSelectorProvider.class.getPackageName() + ".ServerSocketChannel[" + state + "]";
  }
}
