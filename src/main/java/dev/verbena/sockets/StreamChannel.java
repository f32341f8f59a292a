package dev.verbena.sockets;

import dev.verbena.Errno;
import dev.verbena.internal.Rpoll;
import dev.verbena.internal.RsocketCalls;
import dev.verbena.internal.Segments;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ConnectionPendingException;
import java.nio.channels.NoConnectionPendingException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A socket channel over an rsocket. One thread at a time reads, one writes, and others may close
 * it.
 */
final class StreamChannel extends RdmaSocketChannel implements PolledChannel {
  /** The result of a read or write that would have to wait. */
  private static final long UNAVAILABLE = -2;

  private static final long END = -1;

  /** Native memory that the data of heap buffers is copied through, and its buffer. */
  private record Staging(MemorySegment memory, ByteBuffer buffer) {
    static final int SIZE = 1 << 16;

    static Staging allocate() {
      MemorySegment memory = Arena.ofAuto().allocate(SIZE);
      return new Staging(memory, memory.asByteBuffer());
    }
  }

  private enum State {
    UNCONNECTED,
    PENDING,
    CONNECTED
  }

  private final Rsocket rsocket;
  private final RsocketCalls calls;
  private final Options options;
  private final @Nullable ProtocolFamily family;

  private final ReentrantLock readLock = new ReentrantLock();
  private final ReentrantLock writeLock = new ReentrantLock();

  /** Guarded by the read lock; for connecting. */
  private @Nullable Rpoll connectPoll;

  private final BufferMemory readMemory = new BufferMemory();

  /** Set once a heap buffer was read. */
  private @Nullable Staging readStaging;

  /** Guarded by the write lock. */
  private final BufferMemory writeMemory = new BufferMemory();

  /** Set once a heap buffer, or several buffers, were written. */
  private @Nullable Staging writeStaging;

  private final Object stateLock = new Object();

  /** Written under the state lock; the fields below, too. */
  private volatile State state;

  private @Nullable InetSocketAddress local;
  private @Nullable InetSocketAddress remote;
  private @Nullable Socket socket;
  private volatile boolean isInputShut;
  private volatile boolean isOutputShut;

  private StreamChannel(
      RdmaSelectorProvider provider, Rsocket rsocket, @Nullable ProtocolFamily family) {
    super(provider);
    this.rsocket = rsocket;
    this.family = family;
    calls = rsocket.calls();
    options = new Options(rsocket, Options.OF_CONNECTIONS);
    state = State.UNCONNECTED;
  }

  /** Opens an unconnected channel; of any family if it is null. */
  static StreamChannel open(RdmaSelectorProvider provider, @Nullable ProtocolFamily family)
      throws IOException {
    return new StreamChannel(provider, Rsocket.open(Addresses.family(family)), family);
  }

  /** Returns the channel of an accepted connection. */
  static StreamChannel accepted(RdmaSelectorProvider provider, Rsocket rsocket) throws IOException {
    StreamChannel channel = new StreamChannel(provider, rsocket, null);
    try {
      synchronized (channel.stateLock) {
        channel.remote = rsocket.peerAddress();
        channel.connected();
      }
    } catch (Throwable t) {
      rsocket.close(0);
      throw t;
    }
    return channel;
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

  private void requireConnected() throws ClosedChannelException {
    requireOpen();
    if (state != State.CONNECTED) {
      throw new NotYetConnectedException();
    }
  }

  private Rpoll connectPoll() {
    if (connectPoll == null) {
      connectPoll = new Rpoll();
    }
    return connectPoll;
  }

  // Reading

  @Override
  public int read(ByteBuffer target) throws IOException {
    return read(target, Rsocket.FOREVER);
  }

  /**
   * Reads; waits no longer than a time, if the channel is blocking.
   *
   * @throws SocketTimeoutException if the time has passed
   */
  int read(ByteBuffer target, long nanos) throws IOException {
    requireWritable(target);
    return (int) read(target, null, 0, 0, nanos);
  }

  @Override
  public long read(ByteBuffer[] targets, int offset, int length) throws IOException {
    Objects.checkFromIndexSize(offset, length, targets.length);
    for (int i = offset; i < offset + length; i++) {
      requireWritable(targets[i]);
    }
    return read(null, targets, offset, length, Rsocket.FOREVER);
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
      long count = receive(target, wait && total == 0, Rsocket.FOREVER);
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
      if (!rsocket.enter()) {
        return UNAVAILABLE;
      }
      long count;
      try {
        count = receive(target);
      } finally {
        rsocket.leave();
      }
      if (count != UNAVAILABLE || !wait || !isOpen()) {
        return count;
      }
      long left = nanos;
      if (nanos != Rsocket.FOREVER) {
        left -= System.nanoTime() - start;
        if (left <= 0) {
          throw new SocketTimeoutException("Read timed out");
        }
      }
      rsocket.await(Rpoll.POLLIN, left);
    }
  }

  private long receive(ByteBuffer target) throws IOException {
    int position = target.position();
    int length = target.remaining();
    long count;
    if (target.isDirect()) {
      count = received(calls.rrecv(readMemory.of(target), position, length, 0));
    } else {
      Staging staging = readStaging();
      count = received(calls.rrecv(staging.memory, 0, Math.min(length, Staging.SIZE), 0));
      if (count > 0) {
        target.put(position, staging.buffer, 0, (int) count);
      }
    }
    if (count > 0) {
      target.position(position + (int) count);
    }
    return count;
  }

  private Staging readStaging() {
    if (readStaging == null) {
      readStaging = Staging.allocate();
    }
    return readStaging;
  }

  private long received(long result) throws IOException {
    if (result > 0) {
      return result;
    } else if (result == -Errno.EAGAIN) {
      return UNAVAILABLE;
    } else if (result < 0) {
      throw Failures.ofTransfer("rrecv", (int) -result);
    }
    // A connection that failed also ends the stream.
    int error = rsocket.takeError();
    if (error != 0) {
      throw Failures.ofTransfer("rrecv", error);
    }
    return END;
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
      if (!rsocket.enter()) {
        break;
      }
      long count;
      try {
        count = send(source);
      } finally {
        rsocket.leave();
      }
      if (count > 0) {
        total += count;
      }
      if (!wait || !isOpen()) {
        break;
      } else if (count == UNAVAILABLE) {
        rsocket.await(Rpoll.POLLOUT, Rsocket.FOREVER);
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
    return remaining <= Staging.SIZE
        ? gather(sources, offset, length, wait)
        : sendEach(sources, offset, length, wait);
  }

  /** Sends small buffers as one: each {@code rsend} posts at least one work request. */
  private long gather(ByteBuffer[] sources, int offset, int length, boolean wait)
      throws IOException {
    ByteBuffer gathered = writeStaging().buffer.clear();
    for (int i = offset; i < offset + length; i++) {
      ByteBuffer source = sources[i];
      gathered.put(gathered.position(), source, source.position(), source.remaining());
      gathered.position(gathered.position() + source.remaining());
    }
    gathered.flip();
    long count = UNAVAILABLE;
    try {
      count = send(gathered, wait);
    } finally {
      int sent = gathered.position();
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

  private long send(ByteBuffer source) throws IOException {
    int position = source.position();
    int length = source.remaining();
    long count;
    if (source.isDirect()) {
      count = sent(calls.rsend(writeMemory.of(source), position, length, 0));
    } else {
      Staging staging = writeStaging();
      int part = Math.min(length, Staging.SIZE);
      staging.buffer.clear().put(0, source, position, part);
      count = sent(calls.rsend(staging.memory, 0, part, 0));
    }
    if (count > 0) {
      source.position(position + (int) count);
    }
    return count;
  }

  private Staging writeStaging() {
    if (writeStaging == null) {
      writeStaging = Staging.allocate();
    }
    return writeStaging;
  }

  private static long sent(long result) throws IOException {
    if (result >= 0) {
      return result;
    } else if (result == -Errno.EAGAIN) {
      return UNAVAILABLE;
    }
    throw Failures.ofTransfer("rsend", (int) -result);
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
        rsocket.bind(bound);
        local = rsocket.localAddress();
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
    return connect(address, Rsocket.FOREVER);
  }

  /**
   * Connects; waits no longer than a time, if the channel is blocking.
   *
   * @throws SocketTimeoutException if the time has passed; the channel is closed
   */
  boolean connect(SocketAddress address, long nanos) throws IOException {
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
      boolean isConnected = rsocket.connect(target);
      if (isConnected) {
        connected();
      } else {
        state = State.PENDING;
        rsocket.interruptSelectors(); // They examine it at intervals from now on.
      }
      return isConnected;
    }
  }

  private void connected() throws IOException {
    local = rsocket.localAddress();
    state = State.CONNECTED;
  }

  private boolean awaitConnection(long nanos) throws IOException {
    long start = System.nanoTime();
    while (isOpen()) {
      if (isEstablished()) {
        return true;
      }
      long left = nanos == Rsocket.FOREVER ? nanos : nanos - (System.nanoTime() - start);
      if (left <= 0) {
        throw new SocketTimeoutException("Connect timed out");
      }
      rsocket.await(Rpoll.POLLOUT, Math.min(left, Rsocket.TICK));
    }
    return false;
  }

  /** Returns whether the pending connection is established. */
  private boolean isEstablished() throws IOException {
    synchronized (stateLock) {
      if (!isOpen()) {
        return false;
      }
      int events = rsocket.events(connectPoll(), Rpoll.POLLOUT);
      if ((events & (Rpoll.POLLERR | Rpoll.POLLHUP)) != 0) {
        int error = rsocket.takeError();
        throw Failures.ofConnect(
            error == 0 ? Errno.EIO : error, Objects.requireNonNull(remote), null);
      }
      if ((events & Rpoll.POLLOUT) == 0) {
        return false;
      }
      connected();
      return true;
    }
  }

  @Override
  public boolean finishConnect() throws IOException {
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
          isConnected = isBlocking ? awaitConnection(Rsocket.FOREVER) : isEstablished();
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

  /** Returns the address of the peer, also after the channel was closed; null if unconnected. */
  @Nullable InetSocketAddress remoteAddress() {
    synchronized (stateLock) {
      return state == State.CONNECTED ? remote : null;
    }
  }

  /** Returns the local address, also after the channel was closed; null if unbound. */
  @Nullable InetSocketAddress localAddress() {
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
    rsocket.shutdown(Rsocket.SHUT_RD, linger());
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
    // A thread in write leaves. It is woken more than once, since it may not have waited yet.
    while (!writeLock.tryLock()) {
      rsocket.wake();
      LockSupport.parkNanos(Rsocket.TICK);
    }
    try {
      rsocket.shutdown(Rsocket.SHUT_WR, linger());
    } finally {
      writeLock.unlock();
    }
    return this;
  }

  boolean isInputShut() {
    return isInputShut;
  }

  boolean isOutputShut() {
    return isOutputShut;
  }

  @Override
  protected void implCloseSelectableChannel() throws IOException {
    // Without a connection, there is no data to wait for.
    rsocket.close(state == State.CONNECTED ? linger() : ClosingThreads.LIMIT);
  }

  /** Returns how long to wait until the peer's device has acknowledged all data. */
  private long linger() {
    return isBlocking() ? options.linger() : 0;
  }

  @Override
  protected void implConfigureBlocking(boolean block) throws IOException {
    // The rsocket is always non-blocking. Reads and writes in progress end first.
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
    rsocket.map(memory, offset);
  }

  @Override
  public void unmap(MemorySegment memory) throws IOException {
    requireNative(memory);
    requireConnected();
    rsocket.unmap(memory);
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
    while (source.hasRemaining() && rsocket.enter()) {
      long count;
      try {
        MemorySegment memory = writeMemory.of(source);
        count = calls.riowrite(memory, source.position(), source.remaining(), offset + total, 0);
      } finally {
        rsocket.leave();
      }
      if (count > 0) {
        source.position(source.position() + (int) count);
        total += count;
      } else if (count == 0) {
        throw new SocketException(
            "riowrite: the peer has mapped no memory at the offset " + (offset + total));
      } else if (count != -Errno.EAGAIN) {
        throw Failures.ofTransfer("riowrite", (int) -count);
      } else if (!wait || !isOpen()) {
        break;
      } else {
        rsocket.await(Rpoll.POLLOUT, Rsocket.FOREVER);
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
    return Options.OF_CONNECTIONS;
  }

  @Override
  public Socket socket() {
    synchronized (stateLock) {
      if (socket == null) {
        socket = ChannelSocket.of(this);
      }
      return socket;
    }
  }

  // Selection

  @Override
  public int pollEvents(int operations) {
    return ((operations & SelectionKey.OP_READ) != 0 ? Rpoll.POLLIN : 0)
        | ((operations & (SelectionKey.OP_WRITE | SelectionKey.OP_CONNECT)) != 0
            ? Rpoll.POLLOUT
            : 0);
  }

  @Override
  public int readyOperations(int events, int operations) {
    if ((events & (Rpoll.POLLERR | Rpoll.POLLHUP)) != 0) {
      return operations; // Each of them returns or throws at once.
    }
    boolean isConnected = isConnected();
    int ready = 0;
    if ((events & Rpoll.POLLIN) != 0 && isConnected) {
      ready |= SelectionKey.OP_READ;
    }
    if ((events & Rpoll.POLLOUT) != 0) {
      ready |= isConnected ? SelectionKey.OP_WRITE : 0;
      ready |= isConnectionPending() ? SelectionKey.OP_CONNECT : 0;
    }
    return ready & operations;
  }

  @Override
  public boolean isExaminedAtIntervals() {
    return isConnectionPending();
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
