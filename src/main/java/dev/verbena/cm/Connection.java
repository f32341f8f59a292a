package dev.verbena.cm;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePairCapacity;
import dev.verbena.verbs.TransportType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A reliable connection (RC queue pair) that carries messages, and reads, writes and atomically
 * changes the peer's memory.
 *
 * {@snippet :
 * try (Listener listener = Listener.open(new InetSocketAddress("::", 7471));
 *     Connection client = Connection.accept(listener)) {
 *   byte[] question = client.receive();
 *   client.send("42".getBytes(UTF_8));
 * }
 *
 * try (Connection server = Connection.connect(new InetSocketAddress("server", 7471))) {
 *   server.send("the answer?".getBytes(UTF_8));
 *   byte[] answer = server.receive();
 * }
 * }
 *
 * <p><b>Messages.</b> What is sent is copied into registered memory that the device reads; what
 * arrives is copied out of registered memory that it wrote. The longest message is what both ends
 * can do: {@link #messageSize}. The peer may also be a C program; then both must use one size.
 *
 * <p><b>Waiting.</b> {@code send}, {@code read}, {@code write} and the atomics return when the
 * request is completed. {@code postSend}, {@code postRead} and {@code postWrite} return as soon as
 * the request is posted, so that several are outstanding; {@link #awaitPosted()} waits for all of
 * them. A method without a timeout waits until its outcome, an interrupt, the end of the
 * connection, or the {@linkplain #close closing}; one with a {@link Duration} throws {@link
 * VerbsException} with ETIMEDOUT when the time is over. After a timeout or an interrupt the request
 * stays posted, and the next one waits for it.
 *
 * <p><b>A peer that does not receive.</b> When all receives of the peer are in use, the device
 * tries again. The {@linkplain ConnectionSettings#DEFAULT default settings} have an RNR retry count
 * of 6: after some 4.6 seconds without a free receive the connection breaks. With a count of 7 it
 * never does, and a {@code send} with a {@code Duration} is what ends the wait.
 *
 * <p><b>The end.</b> {@link #receive()} returns null after the peer has closed its {@code
 * Connection}. If the peer's process ends or is killed without that, or the link is lost, it
 * throws. Of a peer that is a C program, or over iWARP, both look alike: null.
 *
 * <p><b>Threads.</b> One thread at a time sends, reads or writes, and one receives: others wait for
 * their turn. Any thread may close the connection, which ends their waits.
 */
public final class Connection implements AutoCloseable {
  /** How long a device may take to complete or flush requests when the connection is closed. */
  private static final Duration CLOSING_TIME = Duration.ofSeconds(5);

  private final Endpoint endpoint;
  private final Transfers transfers;
  private final Inbox inbox;
  private final Outbox outbox;
  private final Greeting peer;
  private final int messageSize;
  private final boolean endsAreMarked;
  private final ReentrantLock receiving = new ReentrantLock();
  private final ReentrantLock sending = new ReentrantLock();
  private volatile boolean closed;

  /** Whether the peer has closed its end in order. */
  private volatile boolean ended;

  /** Why the first receive failed, or null; until then the peer's end may still be in order. */
  private volatile @Nullable String receiveFailure;

  private Connection(Endpoint endpoint, Inbox inbox, Outbox outbox, Greeting peer, int size) {
    this.endpoint = endpoint;
    this.transfers = endpoint.id().queues().transfers();
    this.inbox = inbox;
    this.outbox = outbox;
    this.peer = peer;
    this.messageSize = Math.min(size, peer.messageSize().orElse(size));
    // iWARP has no immediate data.
    this.endsAreMarked =
        peer.messageSize().isPresent()
            && endpoint.id().context().device().transportType() != TransportType.IWARP;
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
    Deadline deadline = Deadline.after(settings.timeout());
    Endpoint endpoint =
        Endpoint.resolve(PortSpace.TCP, settings.local().orElse(null), peer, settings.timeout());
    return establish(
        endpoint,
        settings,
        greeting ->
            endpoint.connect(settings.parameters(), greeting, deadline.remaining()).privateData());
  }

  /**
   * Waits for a peer and accepts it.
   *
   * @param listener where peers connect to
   * @return a connection, to be closed
   * @throws ConnectionException if the connection does not come about
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the listener is closed, be it during the wait
   */
  public static Connection accept(Listener listener) throws InterruptedException {
    return accept(listener, ConnectionSettings.DEFAULT);
  }

  /**
   * Waits for a peer and accepts it.
   *
   * @param listener where peers connect to
   * @param settings how to accept
   * @return a connection, to be closed
   * @throws ConnectionException if the connection does not come about
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the listener is closed, be it during the wait
   */
  public static Connection accept(Listener listener, ConnectionSettings settings)
      throws InterruptedException {
    return accept(listener.take(), settings);
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
    return establish(
        request,
        settings,
        greeting -> {
          byte[] question = request.request().orElseThrow().privateData();
          request.accept(settings.parameters(), greeting, settings.timeout());
          return question;
        });
  }

  /** Exchanges private data with the peer. */
  private interface Handshake {
    byte[] perform(byte[] greeting) throws InterruptedException;
  }

  /** Makes the queues, and connects them: receives are posted before the peer can send. */
  private static Connection establish(
      Endpoint endpoint, ConnectionSettings settings, Handshake handshake)
      throws InterruptedException {
    try {
      int size = settings.messageSize();
      ConnectionQueues queues = endpoint.id().queues();
      queues.createQueuePair(
          QueuePairCapacity.of(settings.sends()).withReceiveRequests(settings.receives()));
      Inbox inbox = new Inbox(queues.transfers(), settings.receives(), size);
      Outbox outbox = new Outbox(queues.transfers(), settings.sends(), size);
      byte[] answer = handshake.perform(Greeting.of(settings.privateData(), size));
      return new Connection(endpoint, inbox, outbox, Greeting.read(answer), size);
    } catch (Throwable t) {
      endpoint.close();
      throw t;
    }
  }

  /**
   * What the peer sent along with its request or its acceptance.
   *
   * @return the bytes; if the peer is no {@code Connection}, the transport may have padded them
   *     with zeros
   */
  public byte[] privateData() {
    return peer.privateData().clone();
  }

  /**
   * The size of the longest message that can be sent and received: the smaller one of both ends'
   * {@linkplain ConnectionSettings#messageSize settings}.
   *
   * @return the number of bytes
   */
  public int messageSize() {
    return messageSize;
  }

  // Sending

  /**
   * Sends a message, and waits until the peer's device has it.
   *
   * @param message the bytes, at most {@link #messageSize}
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException if the message does not arrive
   * @throws InterruptedException if the thread is interrupted; the message may still arrive
   */
  public void send(byte[] message) throws InterruptedException {
    send(MemorySegment.ofArray(message), Deadline.NEVER, true);
  }

  /**
   * Sends a message, and waits a while until the peer's device has it.
   *
   * @param message the bytes, at most {@link #messageSize}
   * @param timeout how long to wait at most
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException ETIMEDOUT if the time is over, and the message may still arrive; another
   *     if it does not arrive
   * @throws InterruptedException if the thread is interrupted; the message may still arrive
   */
  public void send(byte[] message, Duration timeout) throws InterruptedException {
    send(MemorySegment.ofArray(message), Deadline.after(timeout), true);
  }

  /**
   * Sends a message, and waits until the peer's device has it.
   *
   * @param message the bytes, of any memory, at most {@link #messageSize}
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException if the message does not arrive
   * @throws InterruptedException if the thread is interrupted; the message may still arrive
   */
  public void send(MemorySegment message) throws InterruptedException {
    send(message, Deadline.NEVER, true);
  }

  /**
   * Sends a message, and waits a while until the peer's device has it.
   *
   * @param message the bytes, of any memory, at most {@link #messageSize}
   * @param timeout how long to wait at most
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException ETIMEDOUT if the time is over, and the message may still arrive; another
   *     if it does not arrive
   * @throws InterruptedException if the thread is interrupted; the message may still arrive
   */
  public void send(MemorySegment message, Duration timeout) throws InterruptedException {
    send(message, Deadline.after(timeout), true);
  }

  /**
   * Posts a message without waiting for it; waits for room only if as many requests are outstanding
   * as {@link ConnectionSettings#sends} says.
   *
   * @param message the bytes, at most {@link #messageSize}; they are copied
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException if an earlier request failed
   * @throws InterruptedException if the thread is interrupted; the message was not posted
   */
  public void postSend(byte[] message) throws InterruptedException {
    send(MemorySegment.ofArray(message), Deadline.NEVER, false);
  }

  /**
   * Posts a message without waiting for it; waits for room only if as many requests are outstanding
   * as {@link ConnectionSettings#sends} says.
   *
   * @param message the bytes, of any memory, at most {@link #messageSize}; they are copied
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException if an earlier request failed
   * @throws InterruptedException if the thread is interrupted; the message was not posted
   */
  public void postSend(MemorySegment message) throws InterruptedException {
    send(message, Deadline.NEVER, false);
  }

  private void send(MemorySegment message, Deadline deadline, boolean awaited)
      throws InterruptedException {
    if (message.byteSize() > messageSize) {
      throw new IllegalArgumentException(
          "message of "
              + message.byteSize()
              + " bytes; the longest that both ends of "
              + this
              + " can do is "
              + messageSize
              + " (ConnectionSettings.messageSize)");
    }
    perform("sending", () -> outbox.send(message), deadline, awaited);
  }

  // The peer's memory

  /**
   * Writes into the peer's memory, and waits until that is done. The peer does not notice.
   *
   * @param local the region that is read
   * @param offset where in the region
   * @param length how many bytes
   * @param remote the peer's memory that is written
   * @param remoteOffset where in the remote memory
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException if the peer does not permit it
   * @throws InterruptedException if the thread is interrupted; the bytes may still be written
   */
  public void write(
      MemoryRegion local, long offset, long length, RemoteMemory remote, long remoteOffset)
      throws InterruptedException {
    write(local, offset, length, remote, remoteOffset, Deadline.NEVER, true);
  }

  /**
   * Writes into the peer's memory, and waits a while until that is done. The peer does not notice.
   *
   * @param local the region that is read
   * @param offset where in the region
   * @param length how many bytes
   * @param remote the peer's memory that is written
   * @param remoteOffset where in the remote memory
   * @param timeout how long to wait at most
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException ETIMEDOUT if the time is over, and the bytes may still be written;
   *     another if the peer does not permit it
   * @throws InterruptedException if the thread is interrupted; the bytes may still be written
   */
  public void write(
      MemoryRegion local,
      long offset,
      long length,
      RemoteMemory remote,
      long remoteOffset,
      Duration timeout)
      throws InterruptedException {
    write(local, offset, length, remote, remoteOffset, Deadline.after(timeout), true);
  }

  /**
   * Posts a request that writes into the peer's memory, without waiting for it; waits for room only
   * if as many requests are outstanding as {@link ConnectionSettings#sends} says.
   *
   * @param local the region that is read
   * @param offset where in the region
   * @param length how many bytes
   * @param remote the peer's memory that is written
   * @param remoteOffset where in the remote memory
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException if an earlier request failed
   * @throws InterruptedException if the thread is interrupted; the request was not posted
   */
  public void postWrite(
      MemoryRegion local, long offset, long length, RemoteMemory remote, long remoteOffset)
      throws InterruptedException {
    write(local, offset, length, remote, remoteOffset, Deadline.NEVER, false);
  }

  private void write(
      MemoryRegion local,
      long offset,
      long length,
      RemoteMemory remote,
      long remoteOffset,
      Deadline deadline,
      boolean awaited)
      throws InterruptedException {
    long address = remote.addressOf(remoteOffset, length);
    perform(
        "writing",
        () -> outbox.post(() -> transfers.write(0, local, offset, length, address, remote.rkey())),
        deadline,
        awaited);
  }

  /**
   * Reads the peer's memory, and waits until that is done. The peer does not notice.
   *
   * @param local the region that is written
   * @param offset where in the region
   * @param length how many bytes
   * @param remote the peer's memory that is read
   * @param remoteOffset where in the remote memory
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException if the peer does not permit it
   * @throws InterruptedException if the thread is interrupted; the bytes may still be read
   */
  public void read(
      MemoryRegion local, long offset, long length, RemoteMemory remote, long remoteOffset)
      throws InterruptedException {
    read(local, offset, length, remote, remoteOffset, Deadline.NEVER, true);
  }

  /**
   * Reads the peer's memory, and waits a while until that is done. The peer does not notice.
   *
   * @param local the region that is written
   * @param offset where in the region
   * @param length how many bytes
   * @param remote the peer's memory that is read
   * @param remoteOffset where in the remote memory
   * @param timeout how long to wait at most
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException ETIMEDOUT if the time is over, and the bytes may still be read; another
   *     if the peer does not permit it
   * @throws InterruptedException if the thread is interrupted; the bytes may still be read
   */
  public void read(
      MemoryRegion local,
      long offset,
      long length,
      RemoteMemory remote,
      long remoteOffset,
      Duration timeout)
      throws InterruptedException {
    read(local, offset, length, remote, remoteOffset, Deadline.after(timeout), true);
  }

  /**
   * Posts a request that reads the peer's memory, without waiting for it; waits for room only if as
   * many requests are outstanding as {@link ConnectionSettings#sends} says.
   *
   * @param local the region that is written
   * @param offset where in the region
   * @param length how many bytes
   * @param remote the peer's memory that is read
   * @param remoteOffset where in the remote memory
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException if an earlier request failed
   * @throws InterruptedException if the thread is interrupted; the request was not posted
   */
  public void postRead(
      MemoryRegion local, long offset, long length, RemoteMemory remote, long remoteOffset)
      throws InterruptedException {
    read(local, offset, length, remote, remoteOffset, Deadline.NEVER, false);
  }

  private void read(
      MemoryRegion local,
      long offset,
      long length,
      RemoteMemory remote,
      long remoteOffset,
      Deadline deadline,
      boolean awaited)
      throws InterruptedException {
    long address = remote.addressOf(remoteOffset, length);
    perform(
        "reading",
        () -> outbox.post(() -> transfers.read(0, local, offset, length, address, remote.rkey())),
        deadline,
        awaited);
  }

  /**
   * Adds to a number in the peer's memory, atomically with regard to other atomics of the peer's
   * device, and waits until that is done ({@code IBV_WR_ATOMIC_FETCH_AND_ADD}). The peer does not
   * notice.
   *
   * @param remote the peer's memory, registered {@linkplain Transfers#registerAtomic for atomics}
   * @param remoteOffset where in it eight bytes are, in the peer's byte order, at an address that
   *     is a multiple of 8
   * @param addend what is added
   * @return the number before
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException if the peer does not permit it
   * @throws InterruptedException if the thread is interrupted; the number may still be changed
   */
  public long fetchAndAdd(RemoteMemory remote, long remoteOffset, long addend)
      throws InterruptedException {
    return fetchAndAdd(remote, remoteOffset, addend, Deadline.NEVER);
  }

  /**
   * Adds to a number in the peer's memory as {@link #fetchAndAdd(RemoteMemory, long, long)} does,
   * and waits a while until that is done.
   *
   * @param remote the peer's memory, registered {@linkplain Transfers#registerAtomic for atomics}
   * @param remoteOffset where in it eight bytes are, in the peer's byte order, at an address that
   *     is a multiple of 8
   * @param addend what is added
   * @param timeout how long to wait at most
   * @return the number before
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException ETIMEDOUT if the time is over, and the number may still be changed;
   *     another if the peer does not permit it
   * @throws InterruptedException if the thread is interrupted; the number may still be changed
   */
  public long fetchAndAdd(RemoteMemory remote, long remoteOffset, long addend, Duration timeout)
      throws InterruptedException {
    return fetchAndAdd(remote, remoteOffset, addend, Deadline.after(timeout));
  }

  private long fetchAndAdd(RemoteMemory remote, long remoteOffset, long addend, Deadline deadline)
      throws InterruptedException {
    long address = remote.addressOfNumber(remoteOffset);
    return atomic(
        () -> transfers.fetchAndAdd(0, outbox.result(), 0, address, remote.rkey(), addend),
        deadline);
  }

  /**
   * Replaces a number in the peer's memory if it is the expected one, atomically with regard to
   * other atomics of the peer's device, and waits until that is done ({@code
   * IBV_WR_ATOMIC_CMP_AND_SWP}). The peer does not notice.
   *
   * @param remote the peer's memory, registered {@linkplain Transfers#registerAtomic for atomics}
   * @param remoteOffset where in it eight bytes are, in the peer's byte order, at an address that
   *     is a multiple of 8
   * @param expected what the number must be
   * @param desired what it becomes then
   * @return the number before: the expected one if it was replaced
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException if the peer does not permit it
   * @throws InterruptedException if the thread is interrupted; the number may still be changed
   */
  public long compareAndSwap(RemoteMemory remote, long remoteOffset, long expected, long desired)
      throws InterruptedException {
    return compareAndSwap(remote, remoteOffset, expected, desired, Deadline.NEVER);
  }

  /**
   * Replaces a number in the peer's memory as {@link #compareAndSwap(RemoteMemory, long, long,
   * long)} does, and waits a while until that is done.
   *
   * @param remote the peer's memory, registered {@linkplain Transfers#registerAtomic for atomics}
   * @param remoteOffset where in it eight bytes are, in the peer's byte order, at an address that
   *     is a multiple of 8
   * @param expected what the number must be
   * @param desired what it becomes then
   * @param timeout how long to wait at most
   * @return the number before: the expected one if it was replaced
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException ETIMEDOUT if the time is over, and the number may still be changed;
   *     another if the peer does not permit it
   * @throws InterruptedException if the thread is interrupted; the number may still be changed
   */
  public long compareAndSwap(
      RemoteMemory remote, long remoteOffset, long expected, long desired, Duration timeout)
      throws InterruptedException {
    return compareAndSwap(remote, remoteOffset, expected, desired, Deadline.after(timeout));
  }

  private long compareAndSwap(
      RemoteMemory remote, long remoteOffset, long expected, long desired, Deadline deadline)
      throws InterruptedException {
    long address = remote.addressOfNumber(remoteOffset);
    return atomic(
        () ->
            transfers.compareAndSwap(
                0, outbox.result(), 0, address, remote.rkey(), expected, desired),
        deadline);
  }

  private long atomic(Outbox.Request request, Deadline deadline) throws InterruptedException {
    lock(sending, "an atomic", deadline);
    try {
      perform("an atomic", () -> outbox.post(request), deadline, true);
      return outbox.resultValue();
    } finally {
      sending.unlock();
    }
  }

  /**
   * Waits until every request that was posted is completed.
   *
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException if a request failed
   * @throws InterruptedException if the thread is interrupted
   */
  public void awaitPosted() throws InterruptedException {
    awaitPosted(Deadline.NEVER);
  }

  /**
   * Waits a while until every request that was posted is completed.
   *
   * @param timeout how long to wait at most
   * @throws ConnectionException if the connection has ended
   * @throws VerbsException ETIMEDOUT if the time is over; another if a request failed
   * @throws InterruptedException if the thread is interrupted
   */
  public void awaitPosted(Duration timeout) throws InterruptedException {
    awaitPosted(Deadline.after(timeout));
  }

  private void awaitPosted(Deadline deadline) throws InterruptedException {
    lock(sending, "waiting for requests", deadline);
    try {
      requireOpen();
      requireDone(outbox.awaitAll(deadline), "waiting for requests");
    } finally {
      sending.unlock();
    }
  }

  /** Posts a request, and waits for it if that is asked for. */
  private void perform(String doing, Runnable post, Deadline deadline, boolean awaited)
      throws InterruptedException {
    lock(sending, doing, deadline);
    try {
      requireConnected(doing);
      requireDone(outbox.awaitRoom(deadline), doing);
      post.run();
      if (awaited) {
        requireDone(outbox.awaitAll(deadline), doing);
      }
    } finally {
      sending.unlock();
    }
  }

  private void lock(ReentrantLock lock, String doing, Deadline deadline)
      throws InterruptedException {
    if (!lock.tryLock(deadline.remainingNanos(), TimeUnit.NANOSECONDS)) {
      throw timedOut(doing);
    }
  }

  /** What was done before the connection ended outlives the end. */
  private void requireDone(boolean inTime, String doing) {
    if (!inTime) {
      throw timedOut(doing);
    }
    if (outbox.failure() != null) {
      throw broken(doing, outbox.failure());
    }
  }

  private VerbsException timedOut(String doing) {
    return new VerbsException(
        "ibv_poll_cq", Errno.ETIMEDOUT, doing + " over " + this + ": not completed in time");
  }

  private void requireConnected(String doing) {
    requireOpen();
    if (outbox.failure() != null || endpoint.end().isPresent()) {
      throw broken(doing, outbox.failure());
    }
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException(this + " is closed");
    }
  }

  /**
   * Why the connection cannot be used any more: a request that failed by itself comes before the
   * end that it may have led to, and the end before the requests that it flushed.
   */
  private RuntimeException broken(String doing, @Nullable String failure) {
    requireOpen();
    String first = outbox.failure();
    if (first != null && !outbox.wasFlushed()) {
      return failed(doing, first);
    }
    return endpoint
        .end()
        .<RuntimeException>map(end -> new ConnectionException(lost(doing, end), end))
        .orElseGet(() -> failed(doing, failure));
  }

  private String lost(String doing, ConnectionEvent end) {
    boolean unmarked =
        receiveFailure != null && endsAreMarked && end.type() == EventType.DISCONNECTED;
    return doing
        + " over "
        + this
        + (unmarked
            ? ": the peer ended without closing its Connection, perhaps it was killed"
            : "");
  }

  private VerbsException failed(String doing, @Nullable String failure) {
    return new VerbsException(
        "ibv_poll_cq",
        Errno.EIO,
        doing + " over " + this + ": the connection is broken: " + failure);
  }

  // Receiving

  /**
   * Waits for a message.
   *
   * @return the message, or null if the peer has closed the connection
   * @throws ConnectionException if the peer ended without closing the connection, or the device was
   *     removed
   * @throws VerbsException if the connection broke
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the connection is closed, be it during the wait
   */
  public byte @Nullable [] receive() throws InterruptedException {
    return receive(Deadline.NEVER, message -> message.toArray(ValueLayout.JAVA_BYTE), null);
  }

  /**
   * Waits a while for a message.
   *
   * @param timeout how long to wait at most
   * @return the message, or null if the peer has closed the connection
   * @throws ConnectionException if the peer ended without closing the connection, or the device was
   *     removed
   * @throws VerbsException ETIMEDOUT if none came in time; another if the connection broke
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the connection is closed, be it during the wait
   */
  public byte @Nullable [] receive(Duration timeout) throws InterruptedException {
    return receive(
        Deadline.after(timeout), message -> message.toArray(ValueLayout.JAVA_BYTE), null);
  }

  /**
   * Waits a while for a message, without making an array of it.
   *
   * @param target where it is copied to; its rest stays as it is
   * @param timeout how long to wait at most
   * @return the message's length, or -1 if the peer has closed the connection
   * @throws IndexOutOfBoundsException if the message is longer than the target; it is lost
   * @throws ConnectionException if the peer ended without closing the connection, or the device was
   *     removed
   * @throws VerbsException ETIMEDOUT if none came in time; another if the connection broke
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the connection is closed, be it during the wait
   */
  public int receive(MemorySegment target, Duration timeout) throws InterruptedException {
    return receive(Deadline.after(timeout), message -> copy(message, target), -1);
  }

  private static int copy(MemorySegment message, MemorySegment target) {
    target.copyFrom(message);
    return (int) message.byteSize();
  }

  /** What a message is taken out of its slot as, or what stands for the end of the connection. */
  private <T extends @Nullable Object> T receive(
      Deadline deadline, Function<MemorySegment, T> taking, T end) throws InterruptedException {
    lock(receiving, "receiving", deadline);
    try {
      if (!awaitMessage(deadline)) {
        return end;
      }
      try {
        return taking.apply(inbox.message());
      } finally {
        inbox.release();
      }
    } finally {
      receiving.unlock();
    }
  }

  /** True for a message, false for the end of the connection. */
  private boolean awaitMessage(Deadline deadline) throws InterruptedException {
    requireOpen();
    if (ended) {
      return false;
    }
    if (receiveFailure != null) {
      throw broken("receiving", receiveFailure);
    }
    return switch (inbox.await(deadline)) {
      case MESSAGE -> true;
      case END -> {
        ended = true;
        yield false;
      }
      case NOTHING -> throw timedOut("receiving");
      case FAILURE -> {
        ended = endsWithoutMark();
        if (!ended) {
          receiveFailure = inbox.failure();
          noteFirstFailure();
          throw broken("receiving", receiveFailure);
        }
        yield false;
      }
    };
  }

  /** Whether that the peer disconnected is all that can be known. */
  private boolean endsWithoutMark() {
    requireOpen();
    return !endsAreMarked
        && (outbox.failure() == null || outbox.wasFlushed())
        && endpoint.end().filter(end -> end.type() == EventType.DISCONNECTED).isPresent();
  }

  /** Receives are flushed when a request fails: which one, its completion tells. */
  private void noteFirstFailure() throws InterruptedException {
    Deadline deadline = Deadline.after(CLOSING_TIME);
    if (endpoint.end().isEmpty() && acquire(sending, deadline)) {
      try {
        outbox.awaitAll(deadline);
      } finally {
        sending.unlock();
      }
    }
  }

  // What it is made of

  /**
   * The protection domain of the connection, for memory to be registered.
   *
   * @return the domain, which is closed with the connection
   */
  public ProtectionDomain domain() {
    return endpoint.id().domain();
  }

  /**
   * The endpoint below, for its identifier, its queue pair and its addresses.
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

  /**
   * Ends the connection: waits until the requests that were posted are completed, at most five
   * seconds, tells the peer, whose {@link #receive()} then returns null, and disconnects. If
   * another thread is sending, its request is flushed instead, and the peer sees a connection that
   * was not closed in order.
   */
  @Override
  public void close() {
    closed = true;
    endInOrder(Deadline.after(CLOSING_TIME));
    // Requests complete as flushed, so that whoever waits for one leaves before it is taken away.
    endpoint.id().endQuietly();
    Deadline deadline = Deadline.after(CLOSING_TIME);
    boolean nobodyReceives = acquire(receiving, deadline);
    boolean nobodySends = acquire(sending, deadline);
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

  private void endInOrder(Deadline deadline) {
    if (!endsAreMarked || ended || endpoint.end().isPresent() || !sending.tryLock()) {
      return;
    }
    try {
      if (uninterrupted(() -> outbox.awaitRoom(deadline)) && outbox.failure() == null) {
        outbox.sendEndMark();
        uninterrupted(() -> outbox.awaitAll(deadline));
      }
    } catch (VerbsException | IllegalStateException e) {
      // The connection is broken or closed already: the peer notices that by itself.
    } finally {
      sending.unlock();
    }
  }

  /**
   * Takes a lock within a time, also for a thread that is interrupted: what the lock's holder uses
   * must not be taken away for an interrupt.
   */
  static boolean acquire(ReentrantLock lock, Deadline deadline) {
    return uninterrupted(() -> lock.tryLock(deadline.remainingNanos(), TimeUnit.NANOSECONDS));
  }

  /** Something that waits; whether it came about in time. */
  private interface Wait {
    boolean await() throws InterruptedException;
  }

  /** Waits also in a thread that is interrupted, which it still is afterwards. */
  private static boolean uninterrupted(Wait wait) {
    boolean interrupted = Thread.interrupted();
    try {
      while (true) {
        try {
          return wait.await();
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
