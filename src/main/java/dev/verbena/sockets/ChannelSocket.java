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
import java.net.StandardSocketOptions;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.Channels;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ConnectionPendingException;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.SocketChannel;
import java.nio.channels.UnresolvedAddressException;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The socket of a channel: {@link SocketChannel#socket}. */
final class ChannelSocket extends Socket {
  private final SocketChannel channel;
  private final SocketCalls calls;
  private volatile int timeout;

  private ChannelSocket(SocketChannel channel, SocketCalls calls) throws SocketException {
    super(new NoSocketImpl());
    this.channel = channel;
    this.calls = calls;
  }

  static Socket of(SocketChannel channel, SocketCalls calls) {
    try {
      return new ChannelSocket(channel, calls);
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
  public void connect(SocketAddress address) throws IOException {
    connect(address, 0);
  }

  @Override
  public void connect(SocketAddress address, int milliseconds) throws IOException {
    if (address == null) {
      throw new IllegalArgumentException("connect: The address can't be null");
    }
    if (milliseconds < 0) {
      throw new IllegalArgumentException("connect: timeout can't be negative");
    }
    SocketView.requireOpen(channel);
    if (isConnected()) {
      throw new SocketException("Already connected");
    }
    requireBlocking();
    try {
      calls.connect(address, nanos(milliseconds));
    } catch (ClosedChannelException e) {
      throw SocketView.closed(e);
    } catch (UnresolvedAddressException e) {
      close(); // Socket.connect specifies that a failed connect closes the socket.
      throw unknown(address, e);
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

  /** Returns the exception of an address that is not resolved. */
  static IOException unknown(@Nullable SocketAddress address, UnresolvedAddressException e) {
    IOException unknown = new UnknownHostException(String.valueOf(address));
    unknown.initCause(e);
    return unknown;
  }

  @Override
  public void bind(@Nullable SocketAddress address) throws IOException {
    try {
      channel.bind(address);
    } catch (ClosedChannelException e) {
      throw SocketView.closed(e);
    } catch (AlreadyBoundException | ConnectionPendingException e) {
      throw new SocketException("Already bound", e);
    } catch (UnresolvedAddressException e) {
      throw unknown(address, e);
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
  public @Nullable SocketAddress getRemoteSocketAddress() {
    return calls.remoteAddress();
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
    return channel.isOpen() ? calls.localAddress() : null;
  }

  // Data

  @Override
  public InputStream getInputStream() throws IOException {
    requireConnected();
    if (isInputShutdown()) {
      throw new SocketException("Socket input is shutdown");
    }
    return new Input();
  }

  @Override
  public OutputStream getOutputStream() throws IOException {
    requireConnected();
    if (isOutputShutdown()) {
      throw new SocketException("Socket output is shutdown");
    }
    return new Output(Channels.newOutputStream(channel));
  }

  private void requireConnected() throws SocketException {
    if (!channel.isOpen()) {
      throw new SocketException("Socket is closed");
    } else if (!channel.isConnected()) {
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
      requireBlocking();
      return calls.read(ByteBuffer.wrap(target, offset, length), nanos(timeout));
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

  private final class Output extends OutputStream {
    private final OutputStream stream;

    Output(OutputStream stream) {
      this.stream = stream;
    }

    @Override
    public void write(int value) throws IOException {
      stream.write(value);
    }

    @Override
    public void write(byte[] source, int offset, int length) throws IOException {
      stream.write(source, offset, length);
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }

  @Override
  public void sendUrgentData(int data) throws IOException {
    throw new SocketException("RDMA sockets have no urgent data");
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
  public void setTcpNoDelay(boolean on) throws SocketException {
    SocketView.set(channel, StandardSocketOptions.TCP_NODELAY, on);
  }

  @Override
  public boolean getTcpNoDelay() throws SocketException {
    return SocketView.get(channel, StandardSocketOptions.TCP_NODELAY);
  }

  @Override
  public void setSoLinger(boolean on, int linger) throws SocketException {
    SocketView.set(channel, StandardSocketOptions.SO_LINGER, on ? linger : -1);
  }

  @Override
  public int getSoLinger() throws SocketException {
    return SocketView.get(channel, StandardSocketOptions.SO_LINGER);
  }

  @Override
  public void setOOBInline(boolean on) throws SocketException {
    throw new SocketException("RDMA sockets have no urgent data");
  }

  @Override
  public boolean getOOBInline() {
    return false;
  }

  @Override
  public void setSoTimeout(int milliseconds) throws SocketException {
    if (milliseconds < 0) {
      throw new IllegalArgumentException("timeout can't be negative");
    }
    SocketView.requireOpen(channel);
    timeout = milliseconds;
  }

  @Override
  public int getSoTimeout() throws SocketException {
    SocketView.requireOpen(channel);
    return timeout;
  }

  @Override
  public void setSendBufferSize(int size) throws SocketException {
    if (size <= 0) {
      throw new IllegalArgumentException("Invalid send size");
    }
    SocketView.set(channel, StandardSocketOptions.SO_SNDBUF, size);
  }

  @Override
  public int getSendBufferSize() throws SocketException {
    return SocketView.get(channel, StandardSocketOptions.SO_SNDBUF);
  }

  @Override
  public void setReceiveBufferSize(int size) throws SocketException {
    if (size <= 0) {
      throw new IllegalArgumentException("Invalid receive size");
    }
    SocketView.set(channel, StandardSocketOptions.SO_RCVBUF, size);
  }

  @Override
  public int getReceiveBufferSize() throws SocketException {
    return SocketView.get(channel, StandardSocketOptions.SO_RCVBUF);
  }

  @Override
  public void setKeepAlive(boolean on) throws SocketException {
    SocketView.set(channel, StandardSocketOptions.SO_KEEPALIVE, on);
  }

  @Override
  public boolean getKeepAlive() throws SocketException {
    return SocketView.get(channel, StandardSocketOptions.SO_KEEPALIVE);
  }

  @Override
  public void setTrafficClass(int trafficClass) throws SocketException {
    throw new SocketException("not supported by RDMA sockets: the traffic class");
  }

  @Override
  public int getTrafficClass() {
    return 0;
  }

  @Override
  public void setReuseAddress(boolean on) throws SocketException {
    SocketView.set(channel, StandardSocketOptions.SO_REUSEADDR, on);
  }

  @Override
  public boolean getReuseAddress() throws SocketException {
    return SocketView.get(channel, StandardSocketOptions.SO_REUSEADDR);
  }

  @Override
  public void setPerformancePreferences(int connectionTime, int latency, int bandwidth) {
    // No preferences, as the JDK's sockets.
  }

  @Override
  public String toString() {
    return "Socket of " + channel;
  }
}
