package dev.verbena.cm;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePairCapacity;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;

/**
 * A reliable connection that carries messages, and reads and writes the peer's memory.
 *
 * {@snippet :
 * try (Listener listener = Listener.open(new InetSocketAddress("::", 7471));
 *     Connection peer = Connection.accept(listener)) {
 *   byte[] question = peer.receive();
 *   peer.send("42".getBytes(UTF_8));
 * }
 *
 * try (Connection server = Connection.connect(new InetSocketAddress("server", 7471))) {
 *   server.send("the answer?".getBytes(UTF_8));
 *   byte[] answer = server.receive();
 * }
 * }
 *
 * <p>What is sent is copied into a buffer that the device reads; what arrives is copied out of one
 * that it wrote. Sending, reading and writing return when the device says that it is done. One
 * thread at a time sends, reads or writes, and one receives: others wait for their turn.
 */
public final class Connection implements AutoCloseable {
  /** How long a device may take to flush requests. */
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  private final Endpoint endpoint;
  private final Transfers transfers;
  private final byte[] peerData;
  private final int messageSize;

  /** Freed when nobody reaches the connection any more: until then late users find it there. */
  private final Arena arena = Arena.ofAuto();

  private final MemoryRegion received;
  private final MemoryRegion sent;
  private final Completions receiveCompletions = new Completions(1);
  private final Completions sendCompletions = new Completions(1);
  private final ReentrantLock receiving = new ReentrantLock();
  private final ReentrantLock sending = new ReentrantLock();
  private volatile boolean closed;
  private boolean ended;
  private boolean outstanding;

  private Connection(Endpoint endpoint, ConnectionSettings settings, boolean active)
      throws InterruptedException {
    this.endpoint = endpoint;
    this.messageSize = settings.messageSize();
    ConnectionId id = endpoint.id();
    id.queues().createQueuePair(QueuePairCapacity.of(1).withReceiveRequests(settings.receives()));
    this.transfers = id.queues().transfers();
    this.received =
        transfers.registerMessages(
            arena.allocate((long) messageSize * settings.receives(), Long.BYTES));
    this.sent = transfers.registerMessages(arena.allocate(messageSize, Long.BYTES));
    for (int slot = 0; slot < settings.receives(); slot++) {
      postReceive(slot);
    }
    this.peerData = handshake(settings, active);
  }

  private byte[] handshake(ConnectionSettings settings, boolean active)
      throws InterruptedException {
    ConnectionParameters parameters = settings.parameters();
    if (active) {
      return endpoint.connect(parameters, settings.privateData(), settings.timeout()).privateData();
    }
    endpoint.accept(parameters, settings.privateData(), settings.timeout());
    return endpoint.request().orElseThrow().privateData();
  }

  /**
   * Connects to a listener.
   *
   * @param peer where it listens
   * @return a connection, to be closed
   * @throws ConnectionException if there is no way to the peer, or it refuses
   * @throws VerbsException ETIMEDOUT if it takes too long
   * @throws InterruptedException if the thread is interrupted
   */
  public static Connection connect(InetSocketAddress peer) throws InterruptedException {
    return connect(peer, ConnectionSettings.DEFAULT);
  }

  /**
   * Connects to a listener.
   *
   * @param peer where it listens
   * @param settings how to connect
   * @return a connection, to be closed
   * @throws ConnectionException if there is no way to the peer, or it refuses
   * @throws VerbsException ETIMEDOUT if it takes too long
   * @throws InterruptedException if the thread is interrupted
   */
  public static Connection connect(InetSocketAddress peer, ConnectionSettings settings)
      throws InterruptedException {
    Endpoint endpoint =
        Endpoint.resolve(PortSpace.TCP, settings.local().orElse(null), peer, settings.timeout());
    return make(endpoint, settings, true);
  }

  /**
   * Waits for a peer and accepts it.
   *
   * @param listener where peers connect to
   * @return a connection, to be closed
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the listener is closed, be it during the wait
   */
  public static Connection accept(Listener listener) throws InterruptedException {
    return accept(listener.take(), ConnectionSettings.DEFAULT);
  }

  /**
   * Accepts a peer.
   *
   * @param request what a listener gave; it belongs to the connection from now on
   * @param settings how to accept
   * @return a connection, to be closed
   * @throws ConnectionException if the connection does not come about
   * @throws VerbsException ETIMEDOUT if it takes too long
   * @throws InterruptedException if the thread is interrupted
   */
  public static Connection accept(Endpoint request, ConnectionSettings settings)
      throws InterruptedException {
    return make(request, settings, false);
  }

  private static Connection make(Endpoint endpoint, ConnectionSettings settings, boolean active)
      throws InterruptedException {
    try {
      return new Connection(endpoint, settings, active);
    } catch (Throwable t) {
      endpoint.close();
      throw t;
    }
  }

  /**
   * What the peer sent along with its request or its acceptance.
   *
   * @return the bytes, which the transport may have padded with zeros
   */
  public byte[] privateData() {
    return peerData.clone();
  }

  /**
   * How long a message may be.
   *
   * @return the number of bytes
   */
  public int messageSize() {
    return messageSize;
  }

  /**
   * Sends a message, and waits until the peer has it.
   *
   * @param message the bytes
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException if the message does not arrive
   * @throws InterruptedException if the thread is interrupted; the message may still arrive
   */
  public void send(byte[] message) throws InterruptedException {
    send(MemorySegment.ofArray(message));
  }

  /**
   * Sends a message, and waits until the peer has it.
   *
   * @param message the bytes, of any memory
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException if the message does not arrive
   * @throws InterruptedException if the thread is interrupted; the message may still arrive
   */
  public void send(MemorySegment message) throws InterruptedException {
    if (message.byteSize() > messageSize) {
      throw new IllegalArgumentException(
          "a message of " + message.byteSize() + " bytes, where " + messageSize + " are agreed on");
    }
    sending.lockInterruptibly();
    try {
      begin("sending");
      MemorySegment.copy(message, 0, sent.memory(), 0, message.byteSize());
      posted(transfers.send(0, sent, 0, message.byteSize()));
      finish("sending");
    } finally {
      sending.unlock();
    }
  }

  /**
   * Writes into the peer's memory, and waits until it is there. The peer is not told.
   *
   * @param local where from
   * @param offset where in the region
   * @param length how much
   * @param remote where to
   * @param remoteOffset where in the remote memory
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException if the peer does not permit it
   * @throws InterruptedException if the thread is interrupted; the bytes may still be written
   */
  public void write(
      MemoryRegion local, long offset, long length, RemoteMemory remote, long remoteOffset)
      throws InterruptedException {
    long address = remote.addressOf(remoteOffset, length);
    sending.lockInterruptibly();
    try {
      begin("writing");
      posted(transfers.write(0, local, offset, length, address, remote.rkey()));
      finish("writing");
    } finally {
      sending.unlock();
    }
  }

  /**
   * Reads the peer's memory, and waits until it is here. The peer is not told.
   *
   * @param local where to
   * @param offset where in the region
   * @param length how much
   * @param remote where from
   * @param remoteOffset where in the remote memory
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException if the peer does not permit it
   * @throws InterruptedException if the thread is interrupted; the bytes may still be read
   */
  public void read(
      MemoryRegion local, long offset, long length, RemoteMemory remote, long remoteOffset)
      throws InterruptedException {
    long address = remote.addressOf(remoteOffset, length);
    sending.lockInterruptibly();
    try {
      begin("reading");
      posted(transfers.read(0, local, offset, length, address, remote.rkey()));
      finish("reading");
    } finally {
      sending.unlock();
    }
  }

  /** Makes room for a request: an interrupt may have left one behind. */
  private void begin(String doing) throws InterruptedException {
    requireConnected(doing);
    finish(doing);
  }

  private void posted(boolean taken) {
    if (!taken) {
      throw new IllegalStateException("other requests fill the queue pair of " + this);
    }
    outstanding = true;
  }

  /** Waits for the request that is under way. If it was done, its success outlives the end. */
  private void finish(String doing) throws InterruptedException {
    if (!outstanding) {
      return;
    }
    transfers.awaitSends(sendCompletions, Deadline.FOR_EVER);
    outstanding = false;
    if (!sendCompletions.isSuccess(0)) {
      requireConnected(doing);
      throw new VerbsException("ibv_poll_cq", Errno.EIO, sendCompletions.describe(0));
    }
  }

  private void requireConnected(String doing) {
    requireOpen();
    ConnectionEvent end = endpoint.end().orElse(null);
    if (end != null) {
      throw new ConnectionException(doing + " over " + this, end);
    }
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException(this + " is closed");
    }
  }

  /**
   * Waits for a message.
   *
   * @return the message, or null if the peer ended the connection
   * @throws VerbsException if the connection broke
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the connection is closed, be it during the wait
   */
  public byte[] receive() throws InterruptedException {
    return receive(Deadline.FOR_EVER);
  }

  /**
   * Waits a while for a message.
   *
   * @param timeout how long to wait at most
   * @return the message, or null if the peer ended the connection
   * @throws VerbsException ETIMEDOUT if none came in time; another if the connection broke
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the connection is closed, be it during the wait
   */
  public byte[] receive(Duration timeout) throws InterruptedException {
    return receive(timeout, message -> message.toArray(ValueLayout.JAVA_BYTE), null);
  }

  /**
   * Waits for a message, without making an array of it.
   *
   * @param target where it is copied to; its rest stays as it is
   * @param timeout how long to wait at most
   * @return the message's length, or -1 if the peer ended the connection
   * @throws IndexOutOfBoundsException if the message is longer than the target; it is lost
   * @throws VerbsException ETIMEDOUT if none came in time; another if the connection broke
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the connection is closed, be it during the wait
   */
  public int receive(MemorySegment target, Duration timeout) throws InterruptedException {
    return receive(timeout, message -> copy(message, target), -1);
  }

  private static int copy(MemorySegment message, MemorySegment target) {
    target.copyFrom(message);
    return (int) message.byteSize();
  }

  /** What a message is taken out of its slot as, or what stands for the end of the connection. */
  private <T> T receive(Duration timeout, Function<MemorySegment, T> taking, T end)
      throws InterruptedException {
    receiving.lockInterruptibly();
    try {
      if (!awaitMessage(timeout)) {
        return end;
      }
      int slot = (int) receiveCompletions.id(0);
      long length = receiveCompletions.byteLength(0);
      try {
        return taking.apply(received.memory().asSlice((long) slot * messageSize, length));
      } finally {
        postReceive(slot);
      }
    } finally {
      receiving.unlock();
    }
  }

  /** True for a message, false for the end of the connection. */
  private boolean awaitMessage(Duration timeout) throws InterruptedException {
    requireOpen();
    if (ended) {
      return false;
    }
    if (transfers.awaitReceives(receiveCompletions, timeout) == 0) {
      throw new VerbsException(
          "ibv_poll_cq", Errno.ETIMEDOUT, "no message over " + this + " within " + timeout);
    }
    if (receiveCompletions.isSuccess(0)) {
      return true;
    }
    requireOpen();
    if (endpoint.end().isPresent()) {
      ended = true;
      return false;
    }
    throw new VerbsException("ibv_poll_cq", Errno.EIO, receiveCompletions.describe(0));
  }

  private void postReceive(int slot) {
    transfers.receive(slot, received, (long) slot * messageSize, messageSize);
  }

  /**
   * The endpoint below, for its identifier, its queue pair, and memory to be registered.
   *
   * @return the endpoint
   */
  public Endpoint endpoint() {
    return endpoint;
  }

  /**
   * Requests of other kinds, and memory to be registered. What is posted there completes there:
   * completions must not be left for this connection's methods to find.
   *
   * @return the verbs on the queue pair
   */
  public Transfers transfers() {
    return transfers;
  }

  /** Ends the connection: the peer's {@link #receive()} returns null. */
  @Override
  public void close() {
    closed = true;
    // Requests complete as flushed, so that whoever waits for one leaves before it is taken away.
    endpoint.id().endQuietly();
    boolean nobodyReceives = acquire(receiving, Deadline.after(PATIENCE));
    boolean nobodySends = acquire(sending, Deadline.after(PATIENCE));
    try {
      endpoint.close();
    } finally {
      if (nobodySends) {
        sending.unlock();
      }
      if (nobodyReceives) {
        receiving.unlock();
      }
    }
  }

  /**
   * Takes a lock within a time, also for a thread that is interrupted: what the lock's holder uses
   * must not be taken away for an interrupt.
   */
  static boolean acquire(ReentrantLock lock, Deadline deadline) {
    boolean interrupted = Thread.interrupted();
    try {
      while (true) {
        try {
          return lock.tryLock(deadline.remainingNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  public String toString() {
    return "connection of " + endpoint.id();
  }
}
