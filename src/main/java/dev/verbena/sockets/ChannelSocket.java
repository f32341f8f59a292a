package dev.verbena.sockets;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.net.SocketOptions;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.Channels;
import java.nio.channels.ConnectionPendingException;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.SocketChannel;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The socket of a channel: {@link SocketChannel#socket}. */
final class ChannelSocket extends Socket {
  private final SocketChannel channel;
  private final SocketCalls calls;
  private final SocketView view;

  private ChannelSocket(SocketChannel channel, SocketCalls calls, SocketView view)
      throws SocketException {
    super(view);
    this.channel = channel;
    this.calls = calls;
    this.view = view;
  }

  static Socket of(SocketChannel channel, SocketCalls calls) {
    try {
      return new ChannelSocket(channel, calls, new SocketView(channel));
    } catch (SocketException e) {
      throw new AssertionError("a socket without an implementation of its own", e);
    }
  }

  @Override
  public SocketChannel getChannel() {
    return channel;
  }

  // Connecting

  @Override
  public void connect(SocketAddress address, int milliseconds) throws IOException {
    if (address == null) {
      throw new IllegalArgumentException("connect: The address can't be null");
    }
    if (milliseconds < 0) {
      throw new IllegalArgumentException("connect: timeout can't be negative");
    }
    if (address instanceof InetSocketAddress internet) {
      if (internet.isUnresolved()) {
        view.requireOpen();
        if (channel.isConnected()) {
          throw new SocketException("Already connected");
        }
        close(); // Socket.connect specifies that a failed connect closes the socket.
        throw new UnknownHostException(address.toString());
      }
      requireBlocking();
    }
    try {
      calls.connect(address, nanos(milliseconds));
    } catch (AlreadyConnectedException e) {
      throw new SocketException("Already connected", e);
    } catch (UnsupportedAddressTypeException e) {
      throw SocketView.unusable(e);
    }
  }

  private static long nanos(int milliseconds) {
    return milliseconds == 0 ? SocketCalls.FOREVER : TimeUnit.MILLISECONDS.toNanos(milliseconds);
  }

  private void requireBlocking() {
    if (!channel.isBlocking()) {
      throw new IllegalBlockingModeException();
    }
  }

  @Override
  public void bind(@Nullable SocketAddress address) throws IOException {
    try {
      channel.bind(address);
    } catch (AlreadyBoundException | ConnectionPendingException e) {
      throw new SocketException("Already bound", e);
    } catch (UnresolvedAddressException | UnsupportedAddressTypeException e) {
      throw SocketView.unusable(e);
    }
  }

  @Override
  public @Nullable InetAddress getInetAddress() {
    InetSocketAddress remote = calls.remoteAddress();
    return remote == null ? null : remote.getAddress();
  }

  @Override
  public int getPort() {
    InetSocketAddress remote = calls.remoteAddress();
    return remote == null ? 0 : remote.getPort();
  }

  @Override
  public InetAddress getLocalAddress() {
    InetSocketAddress local = channel.isOpen() ? calls.localAddress() : null;
    return (local == null ? Addresses.wildcard() : local).getAddress();
  }

  @Override
  public int getLocalPort() {
    InetSocketAddress local = calls.localAddress();
    return local == null ? -1 : local.getPort();
  }

  @Override
  public @Nullable SocketAddress getLocalSocketAddress() {
    return calls.localAddress();
  }

  // Data

  @Override
  public InputStream getInputStream() throws IOException {
    view.requireOpen();
    requireConnected();
    if (isInputShutdown()) {
      throw new SocketException("Socket input is shutdown");
    }
    return new Input();
  }

  @Override
  public OutputStream getOutputStream() throws IOException {
    view.requireOpen();
    requireConnected();
    if (isOutputShutdown()) {
      throw new SocketException("Socket output is shutdown");
    }
    return Channels.newOutputStream(channel);
  }

  private void requireConnected() throws SocketException {
    if (channel.isOpen() && !channel.isConnected()) {
      throw new SocketException("Socket is not connected");
    }
  }

  private final class Input extends InputStream {
    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : Byte.toUnsignedInt(one[0]);
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
      if (length == 0) {
        return 0;
      }
      requireBlocking();
      return calls.read(ByteBuffer.wrap(target, offset, length), nanos(view.timeout()));
    }

    @Override
    public int available() throws IOException {
      return calls.available();
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }

  // State

  @Override
  public void close() throws IOException {
    channel.close();
  }

  @Override
  public void shutdownInput() throws IOException {
    requireConnected();
    channel.shutdownInput();
  }

  @Override
  public void shutdownOutput() throws IOException {
    requireConnected();
    channel.shutdownOutput();
  }

  @Override
  public boolean isConnected() {
    return calls.remoteAddress() != null;
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
  public boolean isInputShutdown() {
    return calls.isInputShut();
  }

  @Override
  public boolean isOutputShutdown() {
    return calls.isOutputShut();
  }

  // Options

  @Override
  public <T> Socket setOption(SocketOption<T> name, T value) throws IOException {
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
  public void setTrafficClass(int trafficClass) throws SocketException { // JDK 22 ignores failures.
    view.setOption(SocketOptions.IP_TOS, trafficClass);
  }

  @Override
  public void setSoLinger(boolean on, int linger) throws SocketException { // Also negative.
    view.setOption(SocketOptions.SO_LINGER, on ? linger : -1);
  }

  @Override
  public String toString() {
    return "Socket of " + channel;
  }
}
