package dev.verbena.sockets;

import dev.verbena.internal.foreign.Segments;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * A socket channel over a stream of RDMA. One thread at a time reads, one writes, and others may
 * close it.
 */
final class StreamChannel extends RdmaSocketChannel implements SocketCalls {
  private static final long UNAVAILABLE = RdmaStream.UNAVAILABLE;
  private static final long END = RdmaStream.END;

  /** Up to so many bytes, several buffers are written as one message. */
  private static final int GATHERED = 1 << 16;

  private final StreamConnection connection;
  private final ScopedLock readLock = new ScopedLock();
  private final ScopedLock writeLock = new ScopedLock();

  /** Set once several buffers, or a file, were written; guarded by the write lock. */
  private @Nullable ByteBuffer gathered;

  /** Set once bytes were read into a file; guarded by the read lock. */
  private @Nullable ByteBuffer scattered;

  /** Guarded by this. */
  private @Nullable Socket socket;

  private StreamChannel(
      SelectorProvider provider,
      Options options,
      @Nullable ProtocolFamily family,
      List<EventKey> keys) {
    super(provider);
    connection = new StreamConnection(this, options, family, keys);
  }

  /** Opens an unconnected channel; of any family if it is null. */
  static StreamChannel open(SelectorProvider provider, @Nullable ProtocolFamily family) {
    return open(provider, family, new CopyOnWriteArrayList<>());
  }

  /** Opens an unconnected channel that tells keys, which may be those of another channel. */
  static StreamChannel open(
      SelectorProvider provider, @Nullable ProtocolFamily family, List<EventKey> keys) {
    Addresses.requireInternet(family);
    return new StreamChannel(provider, Options.ofConnection(), family, keys);
  }

  /** Returns the channel of an accepted connection. */
  static StreamChannel accepted(
      SelectorProvider provider, RdmaConnection accepted, Options options) {
    StreamChannel channel =
        new StreamChannel(provider, options, null, new CopyOnWriteArrayList<>());
    channel.connection.accept(accepted);
    return channel;
  }

  /** Returns this channel as selectors wait for it. */
  PolledChannel polled() {
    return connection;
  }

  /** Returns the events of a pending connection. */
  CmEvents events() {
    return connection.events();
  }

  private RdmaStream stream() {
    return connection.stream();
  }

  // Reading

  @Override
  public int read(ByteBuffer target) throws IOException {
    return read(target, FOREVER);
  }

  @Override
  public int read(ByteBuffer target, long nanos) throws IOException {
    requireWritable(target);
    return (int) read(target, null, 0, 0, nanos);
  }

  @Override
  public long read(ByteBuffer[] targets, int offset, int length) throws IOException {
    Objects.checkFromIndexSize(offset, length, targets.length);
    for (int i = offset; i < offset + length; i++) {
      requireWritable(targets[i]);
    }
    return read(null, targets, offset, length, FOREVER);
  }

  private static void requireWritable(ByteBuffer target) {
    if (target.isReadOnly()) {
      throw new IllegalArgumentException("Read-only buffer");
    }
  }

  /** Reads into one buffer or into several. */
  private long read(
      @Nullable ByteBuffer target,
      ByteBuffer @Nullable [] targets,
      int offset,
      int length,
      long nanos)
      throws IOException {
    try (var _ = readLock.hold()) {
      connection.requireConnected();
      boolean isBlocking = isBlocking();
      long count = UNAVAILABLE;
      try {
        if (isBlocking) {
          begin();
        }
        count =
            target != null
                ? receive(target, isBlocking, nanos)
                : receive(targets, offset, length, isBlocking);
      } finally {
        if (isBlocking) {
          end(count != UNAVAILABLE);
        }
      }
      return available(count);
    }
  }

  /** Returns 0 for a read or write that would have to wait. */
  private long available(long count) throws AsynchronousCloseException {
    if (count != UNAVAILABLE) {
      return count;
    }
    if (!isOpen()) {
      throw new AsynchronousCloseException();
    }
    return 0;
  }

  private long receive(ByteBuffer @Nullable [] targets, int offset, int length, boolean wait)
      throws IOException {
    long total = 0;
    for (int i = offset; targets != null && i < offset + length; i++) {
      ByteBuffer target = targets[i];
      if (!target.hasRemaining()) {
        continue;
      }
      if (total > 0 && stream().available() == 0) {
        break; // The next read finds the end, or throws.
      }
      long count = receive(target, wait && total == 0, FOREVER);
      if (count < 0) {
        return total == 0 ? count : total;
      }
      total += count;
      if (target.hasRemaining()) {
        break;
      }
    }
    return total == 0 && connection.isInputShut() ? END : total;
  }

  private long receive(ByteBuffer target, boolean wait, long nanos) throws IOException {
    long start = Time.now();
    while (true) {
      if (connection.isInputShut()) {
        return END;
      } else if (!target.hasRemaining()) {
        return 0;
      }
      long count = stream().receive(target);
      if (!isOpen() && count <= 0) {
        return UNAVAILABLE;
      }
      if (count != UNAVAILABLE || !wait) {
        return count;
      }
      stream().await(RdmaStream.RECEIVE, SocketCalls.left(nanos, start, "Read timed out"));
    }
  }

  @Override
  public int available() throws IOException {
    connection.requireConnected();
    return connection.isInputShut() ? 0 : stream().available();
  }

  // Writing

  @Override
  public int write(ByteBuffer source) throws IOException {
    Objects.requireNonNull(source);
    return (int) write(source, null, 0, 0, false, 0);
  }

  @Override
  public long write(ByteBuffer[] sources, int offset, int length) throws IOException {
    Objects.checkFromIndexSize(offset, length, sources.length);
    for (int i = offset; i < offset + length; i++) {
      Objects.requireNonNull(sources[i]);
    }
    return write(null, sources, offset, length, false, 0);
  }

  /** Writes one buffer, to the stream or to mapped memory, or several. */
  private long write(
      @Nullable ByteBuffer source,
      ByteBuffer @Nullable [] sources,
      int offset,
      int length,
      boolean isMapped,
      long mappedAt)
      throws IOException {
    try (var _ = writeLock.hold()) {
      connection.requireConnected();
      boolean isBlocking = isBlocking();
      long count = UNAVAILABLE;
      try {
        if (isBlocking) {
          begin();
        }
        if (connection.isOutputShut()) {
          throw new ClosedChannelException();
        }
        count =
            source != null
                ? send(source, isMapped, mappedAt, isBlocking)
                : send(sources, offset, length, isBlocking);
      } finally {
        stream().sent();
        if (isBlocking) {
          end(count > 0);
        }
      }
      return available(count);
    }
  }

  /** Sends a buffer, entirely if the channel is blocking. */
  private long send(ByteBuffer source, boolean isMapped, long mappedAt, boolean wait)
      throws IOException {
    long total = 0;
    while (source.hasRemaining()) {
      if (connection.isOutputShut()) {
        throw new ClosedChannelException();
      }
      long count = isMapped ? stream().sendMapped(source, mappedAt + total) : stream().send(source);
      if (count > 0) {
        total += count;
      }
      if (!wait || !isOpen()) {
        break;
      } else if (count == UNAVAILABLE) {
        stream().await(RdmaStream.SEND, FOREVER);
      }
    }
    return total == 0 && source.hasRemaining() ? UNAVAILABLE : total;
  }

  private long send(ByteBuffer @Nullable [] sources, int offset, int length, boolean wait)
      throws IOException {
    long remaining = 0;
    for (int i = offset; sources != null && i < offset + length; i++) {
      remaining += sources[i].remaining();
    }
    if (remaining == 0 || sources == null) {
      return 0;
    }
    return remaining <= GATHERED
        ? gather(sources, offset, length, wait)
        : sendEach(sources, offset, length, wait);
  }

  /** Sends small buffers as one message. */
  private long gather(ByteBuffer[] sources, int offset, int length, boolean wait)
      throws IOException {
    ByteBuffer all = gathered().clear();
    for (int i = offset; i < offset + length; i++) {
      ByteBuffer source = sources[i];
      all.put(all.position(), source, source.position(), source.remaining());
      all.position(all.position() + source.remaining());
    }
    all.flip();
    long count = UNAVAILABLE;
    try {
      count = send(all, false, 0, wait);
    } finally {
      int sent = all.position();
      for (int i = offset; i < offset + length; i++) {
        int part = Math.min(sent, sources[i].remaining());
        sources[i].position(sources[i].position() + part);
        sent -= part;
      }
    }
    return count;
  }

  private long sendEach(ByteBuffer[] sources, int offset, int length, boolean wait)
      throws IOException {
    long total = 0;
    for (int i = offset; i < offset + length; i++) {
      long count = send(sources[i], false, 0, wait);
      total += Math.max(0, count);
      if (sources[i].hasRemaining()) {
        return total == 0 ? UNAVAILABLE : total;
      }
    }
    return total;
  }

  private ByteBuffer gathered() {
    if (gathered == null) {
      gathered = ByteBuffer.allocateDirect(GATHERED);
    }
    return gathered;
  }

  // Files

  @Override
  public long transferFrom(FileChannel source, long position, long count) throws IOException {
    FileTransfers.requireRange(source, position, count);
    try (var _ = writeLock.hold()) {
      connection.requireConnected();
      return FileTransfers.from(source, position, count, gathered(), this::write);
    }
  }

  @Override
  public long transferTo(FileChannel target, long position, long count) throws IOException {
    FileTransfers.requireRange(target, position, count);
    try (var _ = readLock.hold()) {
      connection.requireConnected();
      if (scattered == null) {
        scattered = ByteBuffer.allocateDirect(GATHERED);
      }
      return FileTransfers.to(target, position, count, scattered, this::read);
    }
  }

  // Connecting

  @Override
  public SocketChannel bind(@Nullable SocketAddress address) throws IOException {
    try (var _ = readLock.hold();
        var _ = writeLock.hold()) {
      connection.bind(address);
    }
    return this;
  }

  @Override
  public boolean connect(SocketAddress address) throws IOException {
    return connect(address, FOREVER);
  }

  @Override
  public boolean connect(SocketAddress address, long nanos) throws IOException {
    InetSocketAddress target = connection.target(address);
    try (var _ = readLock.hold();
        var _ = writeLock.hold()) {
      connection.requireOpen(); // Before an interrupt or a close can be one during the call.
      return connect(target, nanos);
    }
  }

  @Override
  public boolean finishConnect() throws IOException {
    try (var _ = readLock.hold();
        var _ = writeLock.hold()) {
      connection.requireOpen();
      if (isConnected()) {
        return true;
      }
      return connect(null, FOREVER);
    }
  }

  /** Begins to connect to a target unless it is null, and waits if the channel is blocking. */
  private boolean connect(@Nullable InetSocketAddress target, long nanos) throws IOException {
    boolean isBlocking = isBlocking();
    boolean isConnected = false;
    try {
      try {
        if (isBlocking) {
          begin();
        }
        if (target == null) {
          connection.requirePending();
        } else {
          connection.beginConnect(target);
        }
        if (isBlocking) {
          isConnected = connection.await(nanos);
        } else if (target == null) {
          isConnected = connection.isEstablished();
        }
      } finally {
        if (isBlocking) {
          end(isConnected);
        }
      }
    } catch (IOException e) {
      close(); // SocketChannel.connect specifies that a failed connect closes the channel.
      throw e;
    }
    return isConnected;
  }

  @Override
  public boolean isConnected() {
    return isOpen() && connection.isConnected();
  }

  @Override
  public boolean isConnectionPending() {
    return isOpen() && connection.isPending();
  }

  @Override
  public @Nullable SocketAddress getRemoteAddress() throws IOException {
    connection.requireOpen();
    return remoteAddress();
  }

  @Override
  public @Nullable SocketAddress getLocalAddress() throws IOException {
    connection.requireOpen();
    return localAddress();
  }

  @Override
  public @Nullable InetSocketAddress remoteAddress() {
    return connection.remoteAddress();
  }

  @Override
  public @Nullable InetSocketAddress localAddress() {
    return connection.localAddress();
  }

  // Closing

  @Override
  public SocketChannel shutdownInput() throws IOException {
    connection.shutInput();
    return this;
  }

  @Override
  public SocketChannel shutdownOutput() throws IOException {
    connection.shutOutput();
    return this;
  }

  @Override
  public boolean isInputShut() {
    return connection.isInputShut();
  }

  @Override
  public boolean isOutputShut() {
    return connection.isOutputShut();
  }

  @Override
  protected void implCloseSelectableChannel() throws IOException {
    connection.close(isBlocking());
  }

  @Override
  protected void implConfigureBlocking(boolean block) throws IOException {
    // The stream does not block. Reads and writes in progress end first.
    try (var _ = readLock.hold();
        var _ = writeLock.hold()) {
      connection.requireOpen();
    }
  }

  // Direct access

  @Override
  public void map(MemorySegment memory, long offset) throws IOException {
    requireNative(memory);
    long _ = Segments.writable(memory, 1); // Alive, and of no other thread.
    if (offset < 0) {
      throw new IllegalArgumentException("the offset must not be negative: " + offset);
    }
    connection.requireConnected();
    stream().map(memory, offset);
  }

  @Override
  public void unmap(MemorySegment memory) throws IOException {
    requireNative(memory);
    connection.requireConnected();
    stream().unmap(memory);
  }

  private static void requireNative(MemorySegment memory) {
    if (!memory.isNative()) {
      throw new IllegalArgumentException("the memory must be native, not on the Java heap");
    }
    if (memory.byteSize() == 0) {
      throw new IllegalArgumentException("the memory must not be empty");
    }
  }

  @Override
  public int writeMapped(ByteBuffer source, long offset) throws IOException {
    if (!source.isDirect()) {
      throw new IllegalArgumentException("the buffer must be direct: " + source);
    }
    return (int) write(source, null, 0, 0, true, offset);
  }

  // Options

  @Override
  public <T> SocketChannel setOption(SocketOption<T> name, T value) throws IOException {
    connection.setOption(name, value);
    return this;
  }

  @Override
  public <T> T getOption(SocketOption<T> name) throws IOException {
    return connection.getOption(name);
  }

  @Override
  public Set<SocketOption<?>> supportedOptions() {
    return Options.namesOfConnections();
  }

  @Override
  public synchronized Socket socket() {
    if (socket == null) {
      socket = ChannelSocket.of(this, this);
    }
    return socket;
  }

  @Override
  public String toString() {
    return RdmaSocketChannel.class.getName() + "[" + (isOpen() ? connection : "closed") + "]";
  }
}
