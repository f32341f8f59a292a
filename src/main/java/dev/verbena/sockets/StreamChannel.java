package dev.verbena.sockets;

import dev.verbena.RdmaException;
import dev.verbena.internal.EpollSet;
import dev.verbena.internal.KeepAlive;
import dev.verbena.internal.Segments;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ConnectionPendingException;
import java.nio.channels.FileChannel;
import java.nio.channels.NoConnectionPendingException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A socket channel over a stream of RDMA. One thread at a time reads, one writes, and others may
 * close it.
 */
final class StreamChannel extends RdmaSocketChannel implements PolledChannel, SocketCalls {
  private static final long UNAVAILABLE = RdmaStream.UNAVAILABLE;
  private static final long END = RdmaStream.END;

  /** Up to so many bytes, several buffers are written as one message. */
  private static final int GATHERED = 1 << 16;

  private enum State {
    UNCONNECTED,
    PENDING,
    CONNECTED
  }

  private final Options options;
  private final @Nullable ProtocolFamily family;
  private final List<EventKey> keys;
  private final ReentrantLock readLock = new ReentrantLock();
  private final ReentrantLock writeLock = new ReentrantLock();

  /** Set once several buffers, or a file, were written; guarded by the write lock. */
  private @Nullable ByteBuffer gathered;

  /** Set once bytes were read into a file; guarded by the read lock. */
  private @Nullable ByteBuffer scattered;

  private final Object stateLock = new Object();

  /** Written under the state lock; the fields below, too. */
  private volatile State state;

  /** Null until the channel is bound or connected. */
  private volatile @Nullable RdmaConnection connection;

  private @Nullable InetSocketAddress local;
  private @Nullable InetSocketAddress remote;
  private @Nullable Socket socket;

  /** The interval of the keep-alive, which is 0 if there is none. */
  private long keepAliveSeconds;

  private volatile @Nullable KeepAlive keepAlive;
  private volatile boolean isInputShut;
  private volatile boolean isOutputShut;

  /** Whether the descriptor of the stream will be closed, or was. */
  private volatile boolean isReleasing;

  private StreamChannel(
      SelectorProvider provider,
      Options options,
      @Nullable ProtocolFamily family,
      List<EventKey> keys) {
    super(provider);
    this.keys = keys;
    this.family = family;
    this.options = options;
    state = State.UNCONNECTED;
  }

  /** Opens an unconnected channel; of any family if it is null. */
  static StreamChannel open(SelectorProvider provider, @Nullable ProtocolFamily family) {
    return open(provider, family, new CopyOnWriteArrayList<>());
  }

  /** Opens an unconnected channel that tells keys, which may be those of another channel. */
  static StreamChannel open(
      SelectorProvider provider, @Nullable ProtocolFamily family, List<EventKey> keys) {
    Addresses.requireInternet(family);
    return new StreamChannel(provider, Options.ofConnection(Sizes.DEFAULT), family, keys);
  }

  /** Returns the channel of an accepted connection. */
  static StreamChannel accepted(SelectorProvider provider, RdmaConnection connection, Sizes sizes) {
    StreamChannel channel =
        new StreamChannel(
            provider, Options.ofConnection(sizes), null, new CopyOnWriteArrayList<>());
    synchronized (channel.stateLock) {
      channel.connection = connection;
      channel.remote = connection.peerAddress().orElseThrow();
      connection.onChange(channel::changed);
      channel.connected();
    }
    return channel;
  }

  /** Returns the stream of a connected channel. */
  private RdmaStream stream() {
    return Objects.requireNonNull(connection).stream();
  }

  private void requireOpen() throws ClosedChannelException {
    if (!isOpen()) {
      throw new ClosedChannelException();
    }
  }

  private void requireConnected() throws ClosedChannelException {
    requireOpen();
    if (state != State.CONNECTED) {
      throw new NotYetConnectedException();
    }
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
    readLock.lock();
    try {
      requireConnected();
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
    } finally {
      readLock.unlock();
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
    return total == 0 && isInputShut ? END : total;
  }

  private long receive(ByteBuffer target, boolean wait, long nanos) throws IOException {
    long start = System.nanoTime();
    while (true) {
      if (isInputShut) {
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
      long left = nanos;
      if (nanos != FOREVER) {
        left -= System.nanoTime() - start;
        if (left <= 0) {
          throw new SocketTimeoutException("Read timed out");
        }
      }
      stream().await(RdmaStream.RECEIVE, left);
    }
  }

  @Override
  public int available() throws IOException {
    requireConnected();
    return isInputShut ? 0 : stream().available();
  }

  // Writing

  @Override
  public int write(ByteBuffer source) throws IOException {
    Objects.requireNonNull(source);
    return (int) write(source, null, 0, 0);
  }

  @Override
  public long write(ByteBuffer[] sources, int offset, int length) throws IOException {
    Objects.checkFromIndexSize(offset, length, sources.length);
    for (int i = offset; i < offset + length; i++) {
      Objects.requireNonNull(sources[i]);
    }
    return write(null, sources, offset, length);
  }

  /** Writes one buffer or several. */
  private long write(
      @Nullable ByteBuffer source, ByteBuffer @Nullable [] sources, int offset, int length)
      throws IOException {
    writeLock.lock();
    try {
      requireConnected();
      if (isOutputShut) {
        throw new ClosedChannelException();
      }
      boolean isBlocking = isBlocking();
      long count = UNAVAILABLE;
      try {
        if (isBlocking) {
          begin();
        }
        count =
            source != null ? send(source, isBlocking) : send(sources, offset, length, isBlocking);
      } finally {
        if (isBlocking) {
          end(count > 0);
        }
      }
      return available(count);
    } finally {
      writeLock.unlock();
    }
  }

  /** Sends a buffer, entirely if the channel is blocking. */
  private long send(ByteBuffer source, boolean wait) throws IOException {
    long total = 0;
    while (source.hasRemaining()) {
      if (isOutputShut) {
        throw new ClosedChannelException();
      }
      long count = stream().send(source);
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
      count = send(all, wait);
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
      long count = send(sources[i], wait);
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
    requireRange(source, position, count);
    writeLock.lock();
    try {
      requireConnected();
      long total = 0;
      while (total < count) {
        ByteBuffer part = gathered().clear().limit((int) Math.min(count - total, GATHERED));
        if (source.read(part, position + total) <= 0) {
          break; // The end of the file.
        }
        total += orEnd(total, () -> write(part.flip()));
        if (part.hasRemaining()) {
          break; // The channel is non-blocking, or the connection failed.
        }
      }
      return total;
    } finally {
      writeLock.unlock();
    }
  }

  @Override
  public long transferTo(FileChannel target, long position, long count) throws IOException {
    requireRange(target, position, count);
    readLock.lock();
    try {
      requireConnected();
      int _ = target.write(ByteBuffer.allocate(0), position); // Writable, before bytes are read.
      long total = 0;
      while (total < count) {
        ByteBuffer part = scattered().clear().limit((int) Math.min(count - total, GATHERED));
        if (orEnd(total, () -> read(part)) <= 0) {
          break; // The end of the stream, or of the connection, or the channel is non-blocking.
        }
        part.flip();
        while (part.hasRemaining()) {
          total += target.write(part, position + total);
        }
      }
      return total;
    } finally {
      readLock.unlock();
    }
  }

  private interface Step {
    int run() throws IOException;
  }

  /** Returns 0 for a failure after some bytes were transferred: the next call throws it again. */
  private static int orEnd(long total, Step step) throws IOException {
    try {
      return step.run();
    } catch (IOException e) {
      if (total == 0) {
        throw e;
      }
      return 0;
    }
  }

  private static void requireRange(FileChannel file, long position, long count) {
    Objects.requireNonNull(file);
    if (position < 0 || count < 0) {
      throw new IllegalArgumentException(
          "the position and the count must not be negative: %d, %d".formatted(position, count));
    }
  }

  private ByteBuffer scattered() {
    if (scattered == null) {
      scattered = ByteBuffer.allocateDirect(GATHERED);
    }
    return scattered;
  }

  // Connecting

  @Override
  public SocketChannel bind(@Nullable SocketAddress address) throws IOException {
    lockBoth();
    try {
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
        } catch (RdmaException e) {
          throw Failures.ofBind(e, bound);
        }
        connection = opened;
        local = opened.localAddress().orElse(bound);
      }
    } finally {
      unlockBoth();
    }
    return this;
  }

  private void lockBoth() {
    readLock.lock();
    writeLock.lock();
  }

  private void unlockBoth() {
    writeLock.unlock();
    readLock.unlock();
  }

  @Override
  public boolean connect(SocketAddress address) throws IOException {
    return connect(address, FOREVER);
  }

  @Override
  public boolean connect(SocketAddress address, long nanos) throws IOException {
    InetSocketAddress target = Addresses.target(Addresses.validated(address, family));
    lockBoth();
    try {
      boolean isConnected = false;
      try {
        boolean isBlocking = isBlocking();
        try {
          if (isBlocking) {
            begin();
          }
          isConnected = beginConnect(target);
          if (isBlocking && !isConnected) {
            isConnected = awaitConnection(nanos);
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
    } finally {
      unlockBoth();
    }
  }

  private boolean beginConnect(InetSocketAddress target) throws IOException {
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
      return false;
    }
  }

  /** Makes selectors examine the channel again, whose state has changed. */
  private void changed(RdmaConnection unused) {
    changed();
  }

  private void changed() {
    keys.forEach(EventKey::changed);
  }

  /** The descriptor of the stream will be closed: selectors must not wait for it any more. */
  private void releasing() {
    isReleasing = true;
    stopKeepAlive();
    keys.forEach(EventKey::attach);
    changed();
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
    long wanted = options.isKeptAlive() ? options.keepAliveSeconds() : 0;
    if (wanted == keepAliveSeconds) {
      return;
    }
    keepAliveSeconds = wanted;
    stopKeepAlive();
    if (wanted > 0) {
      RdmaStream stream = stream();
      keepAlive =
          KeepAlive.start(
              stream.toString(), Duration.ofSeconds(wanted), () -> 0, _ -> stream.keepAlive());
    }
    if (isReleasing) { // Perhaps before the keep-alive was started.
      stopKeepAlive();
    }
  }

  private void stopKeepAlive() {
    KeepAlive current = keepAlive;
    if (current != null) {
      current.stop();
    }
  }

  private boolean awaitConnection(long nanos) throws IOException {
    long start = System.nanoTime();
    while (isOpen()) {
      if (isEstablished()) {
        return true;
      }
      long left = nanos == FOREVER ? nanos : nanos - (System.nanoTime() - start);
      if (left <= 0) {
        throw new SocketTimeoutException("Connect timed out");
      }
      Objects.requireNonNull(connection).await(left);
    }
    return false;
  }

  /** Returns whether the pending connection is established. */
  private boolean isEstablished() throws IOException {
    synchronized (stateLock) {
      if (!isOpen()) {
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

  @Override
  public boolean finishConnect() throws IOException {
    return finishConnect(FOREVER);
  }

  /**
   * Finishes to connect; waits no longer than a time, if the channel is blocking.
   *
   * @throws SocketTimeoutException if the time has passed; the channel is closed
   */
  boolean finishConnect(long nanos) throws IOException {
    lockBoth();
    try {
      requireOpen();
      if (state == State.CONNECTED) {
        return true;
      } else if (state != State.PENDING) {
        throw new NoConnectionPendingException();
      }
      boolean isBlocking = isBlocking();
      boolean isConnected = false;
      try {
        try {
          if (isBlocking) {
            begin();
          }
          isConnected = isBlocking ? awaitConnection(nanos) : isEstablished();
        } finally {
          if (isBlocking) {
            end(isConnected);
          }
        }
      } catch (IOException e) {
        close();
        throw e;
      }
      return isConnected;
    } finally {
      unlockBoth();
    }
  }

  @Override
  public boolean isConnected() {
    return state == State.CONNECTED;
  }

  @Override
  public boolean isConnectionPending() {
    return state == State.PENDING;
  }

  @Override
  public @Nullable SocketAddress getRemoteAddress() throws IOException {
    synchronized (stateLock) {
      requireOpen();
      return remoteAddress();
    }
  }

  @Override
  public @Nullable SocketAddress getLocalAddress() throws IOException {
    synchronized (stateLock) {
      requireOpen();
      return local;
    }
  }

  @Override
  public @Nullable InetSocketAddress remoteAddress() {
    synchronized (stateLock) {
      return state == State.CONNECTED ? remote : null;
    }
  }

  @Override
  public @Nullable InetSocketAddress localAddress() {
    synchronized (stateLock) {
      return local;
    }
  }

  // Closing

  @Override
  public SocketChannel shutdownInput() throws IOException {
    synchronized (stateLock) {
      requireConnected();
      if (isInputShut) {
        return this;
      }
      isInputShut = true;
    }
    stream().shutInput();
    changed();
    return this;
  }

  @Override
  public SocketChannel shutdownOutput() throws IOException {
    synchronized (stateLock) {
      requireConnected();
      if (isOutputShut) {
        return this;
      }
      isOutputShut = true;
    }
    stream().shutOutput();
    changed();
    return this;
  }

  @Override
  public boolean isInputShut() {
    return isInputShut;
  }

  @Override
  public boolean isOutputShut() {
    return isOutputShut;
  }

  @Override
  protected void implCloseSelectableChannel() throws IOException {
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
    if (seconds > 0 && isBlocking() && isConnected()) {
      try {
        released.get(seconds, TimeUnit.SECONDS);
      } catch (TimeoutException e) {
        // The end goes on.
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (ExecutionException e) {
        throw new AssertionError(e);
      }
    }
  }

  @Override
  protected void implConfigureBlocking(boolean block) throws IOException {
    // The stream does not block. Reads and writes in progress end first.
    lockBoth();
    try {
      requireOpen();
    } finally {
      unlockBoth();
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
    requireConnected();
    stream().map(memory, offset);
  }

  @Override
  public void unmap(MemorySegment memory) throws IOException {
    requireNative(memory);
    requireConnected();
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
    writeLock.lock();
    try {
      requireConnected();
      boolean isBlocking = isBlocking();
      long count = UNAVAILABLE;
      try {
        if (isBlocking) {
          begin();
        }
        count = sendMapped(source, offset, isBlocking);
      } finally {
        if (isBlocking) {
          end(count > 0);
        }
      }
      return (int) available(count);
    } finally {
      writeLock.unlock();
    }
  }

  private long sendMapped(ByteBuffer source, long offset, boolean wait) throws IOException {
    long total = 0;
    while (source.hasRemaining()) {
      long count = stream().sendMapped(source, offset + total);
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

  // Options

  @Override
  public <T> SocketChannel setOption(SocketOption<T> name, T value) throws IOException {
    options.require(name);
    synchronized (stateLock) {
      requireOpen();
      options.set(name, value);
      if (state == State.CONNECTED) {
        keepAlive();
      }
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
    return Options.namesOfConnections();
  }

  @Override
  public Socket socket() {
    synchronized (stateLock) {
      if (socket == null) {
        socket = ChannelSocket.of(this, this);
      }
      return socket;
    }
  }

  // Selection

  @Override
  public List<EventKey> keys() {
    return keys;
  }

  @Override
  public int descriptor() {
    return isOpen() && state == State.CONNECTED && !isReleasing ? stream().descriptor() : -1;
  }

  @Override
  public int events(int operations) {
    return EpollSet.READABLE;
  }

  @Override
  public boolean isReportedWhileReady() {
    return false;
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
    StringBuilder text = new StringBuilder(RdmaSocketChannel.class.getName()).append('[');
    if (!isOpen()) {
      return text.append("closed]").toString();
    }
    synchronized (stateLock) {
      text.append(
          switch (state) {
            case UNCONNECTED -> "unconnected";
            case PENDING -> "connection-pending";
            case CONNECTED -> "connected";
          });
      text.append(isInputShut ? " ishut" : "").append(isOutputShut ? " oshut" : "");
      text.append(local == null ? "" : " local=" + local);
      return text.append(remote == null ? "]" : " remote=" + remote + "]").toString();
    }
  }
}
