package dev.verbena.sockets;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketImpl;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NetworkChannel;
import java.nio.channels.UnresolvedAddressException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A channel as its socket uses it, a {@link java.net.Socket} or a {@link java.net.ServerSocket}:
 * its options are those of the channel, but for the timeout, and it throws what sockets throw. The
 * socket overrides all methods that would use the rest of {@link SocketImpl}.
 */
final class SocketView extends SocketImpl {
  private static final Map<Integer, SocketOption<?>> OPTIONS =
      Map.of(
          TCP_NODELAY, StandardSocketOptions.TCP_NODELAY,
          SO_LINGER, StandardSocketOptions.SO_LINGER,
          SO_SNDBUF, StandardSocketOptions.SO_SNDBUF,
          SO_RCVBUF, StandardSocketOptions.SO_RCVBUF,
          SO_KEEPALIVE, StandardSocketOptions.SO_KEEPALIVE,
          SO_REUSEADDR, StandardSocketOptions.SO_REUSEADDR,
          IP_TOS, StandardSocketOptions.IP_TOS);

  private final NetworkChannel channel;
  private volatile int timeout;

  SocketView(NetworkChannel channel) {
    this.channel = channel;
  }

  /** Returns the maximum time of a read or an accept, in milliseconds; 0 for no limit. */
  int timeout() {
    return timeout;
  }

  /** Returns the exception of an address that is not resolved, or of another type. */
  static SocketException unusable(IllegalArgumentException e) {
    String what = e instanceof UnresolvedAddressException ? "Unresolved" : "Unsupported type of";
    return new SocketException(what + " address", e);
  }

  void requireOpen() throws SocketException {
    if (!channel.isOpen()) {
      throw new SocketException("Socket is closed");
    }
  }

  private <T> void set(SocketOption<T> name, T value) throws SocketException {
    try {
      channel.setOption(name, value);
    } catch (IOException e) {
      throw ofOption(e);
    }
  }

  private static SocketException ofOption(IOException e) {
    return switch (e) {
      case SocketException failed -> failed;
      case ClosedChannelException closed -> new SocketException("Socket is closed", closed);
      default -> throw new AssertionError("an option fails with a SocketException", e);
    };
  }

  @Override
  public void setOption(int id, Object value) throws SocketException {
    if (id == SO_TIMEOUT) {
      timeout = (Integer) value;
      return;
    }
    SocketOption<Object> option = option(id);
    if (option != null) {
      set(option, value);
    } else if (!value.equals(false)) { // Urgent data are not inline.
      throw new SocketException("RDMA sockets have neither urgent data nor a traffic class");
    }
  }

  @Override
  public Object getOption(int id) throws SocketException {
    try {
      if (id == SO_TIMEOUT) {
        return timeout;
      }
      requireOpen();
      SocketOption<Object> option = option(id);
      return option != null ? channel.getOption(option) : id == IP_TOS ? (Object) 0 : false;
    } catch (IOException e) {
      throw ofOption(e);
    }
  }

  /** Returns the option with a number; null if the channel does not have it. */
  @SuppressWarnings("unchecked") // The socket has values of the type of each option.
  private @Nullable SocketOption<Object> option(int id) {
    for (SocketOption<?> option : channel.supportedOptions()) {
      // The JDK does not publish SO_OOBINLINE, which its channels have.
      if (id == SO_OOBINLINE
          ? option.name().equals("SO_OOBINLINE")
          : option.equals(OPTIONS.get(id))) {
        return (SocketOption<Object>) option;
      }
    }
    return null;
  }

  @Override
  protected void create(boolean stream) {
    // The channel exists.
  }

  private static UnsupportedOperationException unused() {
    return new UnsupportedOperationException("a method of Socket that channels do not implement");
  }

  @Override
  protected void connect(String host, int port) {
    throw unused();
  }

  @Override
  protected void connect(InetAddress address, int port) {
    throw unused();
  }

  @Override
  protected void connect(SocketAddress address, int timeout) {
    throw unused();
  }

  @Override
  protected void bind(InetAddress host, int port) {
    throw unused();
  }

  @Override
  protected void listen(int backlog) {
    throw unused();
  }

  @Override
  protected void accept(SocketImpl s) {
    throw unused();
  }

  @Override
  protected InputStream getInputStream() {
    throw unused();
  }

  @Override
  protected OutputStream getOutputStream() {
    throw unused();
  }

  @Override
  protected int available() {
    throw unused();
  }

  @Override
  protected void close() {}

  @Override
  protected void sendUrgentData(int data) {
    throw unused();
  }
}
