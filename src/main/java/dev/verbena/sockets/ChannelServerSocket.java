package dev.verbena.sockets;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.NotYetBoundException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The socket of a listening channel: {@link ServerSocketChannel#socket}. */
final class ChannelServerSocket extends ServerSocket {
  private final ServerSocketChannel channel;
  private final ListenerCalls calls;
  private final SocketView view;

  private ChannelServerSocket(ServerSocketChannel channel, ListenerCalls calls, SocketView view) {
    super(view);
    this.channel = channel;
    this.calls = calls;
    this.view = view;
  }

  static ServerSocket of(ServerSocketChannel channel, ListenerCalls calls) {
    return new ChannelServerSocket(channel, calls, new SocketView(channel));
  }

  @Override
  public ServerSocketChannel getChannel() {
    return channel;
  }

  @Override
  public void bind(@Nullable SocketAddress address, int backlog) throws IOException {
    try {
      channel.bind(address, backlog);
    } catch (AlreadyBoundException e) {
      throw new SocketException("Already bound", e);
    } catch (UnresolvedAddressException | UnsupportedAddressTypeException e) {
      throw SocketView.unusable(e);
    }
  }

  @Override
  public @Nullable InetAddress getInetAddress() {
    InetSocketAddress local = calls.localAddress();
    return local == null ? null : local.getAddress();
  }

  @Override
  public int getLocalPort() {
    InetSocketAddress local = calls.localAddress();
    return local == null ? -1 : local.getPort();
  }

  @Override
  public Socket accept() throws IOException {
    int timeout = view.timeout();
    if (timeout != 0 && !channel.isBlocking()) {
      throw new IllegalBlockingModeException();
    }
    try {
      SocketChannel accepted =
          calls.accept(timeout == 0 ? SocketCalls.FOREVER : TimeUnit.MILLISECONDS.toNanos(timeout));
      if (accepted == null) { // A non-blocking channel that nobody has connected to.
        throw new IllegalBlockingModeException();
      }
      return accepted.socket();
    } catch (NotYetBoundException e) {
      throw new SocketException("Socket is not bound yet", e);
    }
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }

  @Override
  public boolean isBound() {
    return calls.localAddress() != null;
  }

  @Override
  public boolean isClosed() {
    return !channel.isOpen();
  }

  @Override
  public <T> ServerSocket setOption(SocketOption<T> name, T value) throws IOException {
    channel.setOption(name, value);
    return this;
  }

  @Override
  public <T> T getOption(SocketOption<T> name) throws IOException {
    return channel.getOption(name);
  }

  @Override
  public Set<SocketOption<?>> supportedOptions() {
    return channel.supportedOptions();
  }

  @Override
  public String toString() {
    return "ServerSocket of " + channel;
  }
}
