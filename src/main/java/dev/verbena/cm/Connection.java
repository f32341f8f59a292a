package dev.verbena.cm;

import dev.verbena.RdmaException;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.VerbsException;
import dev.verbena.internal.AfterFailure;
import dev.verbena.internal.KeepAlive;
import dev.verbena.internal.LeakReport;
import dev.verbena.internal.access.VerbsAccess;
import dev.verbena.verbs.CompletionStatus;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.Port;
import dev.verbena.verbs.PortState;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePairCapacity;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.TransportType;
import dev.verbena.verbs.WorkRequestException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A reliable connection (RC queue pair) between two programs: sends and receives messages, and
 * reads, writes and atomically updates the peer's memory by RDMA.
 *
 * <p>It consists of an {@link Endpoint} ({@code struct rdma_cm_id}), its queue pair, and registered
 * buffers for messages. {@link #connect} and {@link #accept} create it:
 *
 * {@snippet :
 * try (Listener listener = Listener.open(new InetSocketAddress("::", 7471));
 *     Connection client = Connection.accept(listener)) {
 *   byte[] request = client.receive();
 *   client.send("42".getBytes(UTF_8));
 * }
 *
 * try (Connection server = Connection.connect(new InetSocketAddress("server", 7471))) {
 *   server.send("the answer?".getBytes(UTF_8));
 *   byte[] response = server.receive();
 * }
 * }
 *
 * <p><b>Messages.</b> {@code send} copies the message to a registered buffer; {@code receive}
 * copies it from one. The maximum {@linkplain #messageSize message size} is the smaller one of both
 * ends' settings. If the peer is a C program, both programs must use the same size.
 *
 * <p><b>Waiting.</b> {@code send}, {@code read}, {@code write} and the atomic operations return
 * when the request has completed. {@code postSend}, {@code postRead} and {@code postWrite} return
 * when the request is posted, so that several can be outstanding; {@link #awaitPosted()} waits for
 * all of them. A method without a timeout waits until the operation completes, the thread is
 * interrupted, the connection ends, or it is {@linkplain #close closed}. A method with a {@link
 * Duration} throws {@link RdmaTimeoutException} when the timeout expires. After a timeout or an
 * interrupt the request remains posted, and the next request waits for it.
 *
 * <p><b>Receiver not ready (RNR).</b> If the peer has no free receive request, the device retries
 * the send. The {@linkplain ConnectionSettings#DEFAULT default settings} have an RNR retry count of
 * 6: the connection fails after about 4 seconds (six waits of 655 milliseconds) without a free
 * receive request. A count of 7 retries without end; then only a {@code send} with a {@code
 * Duration} limits the wait.
 *
 * <p><b>States.</b> A connection is established when {@code connect} or {@code accept} returns. It
 * has ended when the peer closes, the device is removed, or a request fails; from then on
 * operations throw {@link ConnectionException} or {@link WorkRequestException}. Requests that are
 * outstanding when the peer disconnects have 200 milliseconds to complete, since the device may
 * process their acknowledgement later than the end; then they are flushed. If requests were flushed
 * and the cause is unknown, operations wait up to five seconds for the event that ended the
 * connection, also beyond a timeout. {@link #receive()} returns null after the peer has closed its
 * {@code Connection}. If the peer's process ends or is killed without closing, {@code receive}
 * throws. A lost link is detected by a send, which fails with {@code IBV_WC_RETRY_EXC_ERR}, and not
 * by a waiting {@code receive}. With a peer that is a C program, or over iWARP, the two cases
 * cannot be distinguished: {@code receive} returns null in both.
 *
 * <p><b>Keep-alive.</b> With {@link ConnectionSettings#withKeepAlive} a lost peer is detected also
 * while nothing is sent: all operations then throw {@link RdmaTimeoutException}, which names the
 * peer and how long it was silent.
 *
 * <p><b>Threads.</b> Any thread may call any method. One thread at a time sends, reads or writes,
 * and one receives; others wait for it. A waiting virtual thread does not occupy its carrier. Any
 * thread may close the connection, which ends all waits with {@link IllegalStateException}.
 *
 * <p>Manual pages: {@code rdma_connect(3)}, {@code rdma_accept(3)}, {@code rdma_cm(7)}.
 */
public final class Connection implements AutoCloseable {
  /** The maximum time for a device to complete or flush requests when the connection is closed. */
  private static final Duration CLOSING_TIME = Duration.ofSeconds(5);

  /**
   * The maximum time for the event of an end to be read after the end has flushed requests: more
   * than a slow machine takes, since without it the flush is all that is known.
   */
  private static final Duration CAUSE_TIME = Duration.ofSeconds(20);

  /** The maximum time for requests to complete when the peer has disconnected. */
  private static final Duration COMPLETION_TIME = Duration.ofMillis(200);

  private final Endpoint endpoint;
  private final Transfers transfers;
  private final Inbox inbox;
  private final Outbox outbox;
  private final Greeting peer;
  private final int messageSize;
  private final boolean endsAreMarked;
  private final ReentrantLock receiving = new ReentrantLock();
  private final ReentrantLock sending = new ReentrantLock();
  private final LeakReport leak;
  private volatile boolean closed;

  /** Whether the peer has closed its {@code Connection}. */
  private volatile boolean ended;

  /** The first failed receive request, or null. */
  private volatile @Nullable WorkRequestException receiveFailure;

  /** Why the keep-alive ended the connection, or null. */
  private volatile @Nullable RdmaTimeoutException silence;

  private @Nullable KeepAlive keepAlive;

  /** The state of the port when the failure was first reported; empty if it was active. */
  private volatile @Nullable String linkFault;

  private volatile boolean endAwaited;

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
    endpoint.owned();
    endpoint.disconnectAfter(outbox::hasOutstanding, COMPLETION_TIME);
    this.leak = new LeakReport(toString());
    leak.watch(this);
  }

  /**
   * Connects to a listener, and waits until the connection is established.
   *
   * @param peer the address of the listener
   * @return a connection, to be closed by the caller
   * @throws ConnectionException if the peer cannot be reached or rejects the connection
   * @throws RdmaTimeoutException if the timeout of the settings expires
   * @throws InterruptedException if the thread is interrupted
   */
  public static Connection connect(InetSocketAddress peer) throws InterruptedException {
    return connect(peer, ConnectionSettings.DEFAULT);
  }

  /**
   * Connects to a listener, and waits until the connection is established.
   *
   * @param peer the address of the listener
   * @param settings the settings of the connection
   * @return a connection, to be closed by the caller
   * @throws ConnectionException if the peer cannot be reached or rejects the connection
   * @throws RdmaTimeoutException if the timeout of the settings expires
   * @throws InterruptedException if the thread is interrupted
   */
  public static Connection connect(InetSocketAddress peer, ConnectionSettings settings)
      throws InterruptedException {
    Deadline deadline = Deadline.after(settings.timeout());
    Endpoint endpoint =
        Endpoint.resolve(
            PortSpace.TCP,
            settings.localAddress().orElse(null),
            peer,
            settings.timeout(),
            settings::setActive);
    return establish(
        endpoint,
        settings,
        greeting -> endpoint.connect(settings.parameters(), greeting, deadline).privateData());
  }

  /**
   * Waits for a connection request, and accepts it, with the default settings.
   *
   * @param listener the listener
   * @return a connection, to be closed by the caller
   * @throws ConnectionException if the connection cannot be established
   * @throws RdmaTimeoutException if a peer does not complete its request in time
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the listener is closed before or during the wait
   * @see #accept(Listener, ConnectionSettings)
   */
  public static Connection accept(Listener listener) throws InterruptedException {
    return accept(listener, ConnectionSettings.DEFAULT);
  }

  /**
   * Waits for connection requests, and accepts them until a connection is established.
   *
   * <p>A peer that does not complete its request delays no other: meanwhile further requests are
   * accepted, up to {@value Acceptor#LIMIT} at a time and {@value
   * dev.verbena.internal.HalfOpenRequests#LIMIT_OF_SOURCE} of one address, and the first
   * established connection is returned. The others are returned by later calls for the same
   * listener, with the settings of the call that began to accept them; closing the listener closes
   * them. A request that fails, at the latest after the timeout of its settings, is reported by an
   * exception of the current or the next call: a server calls this method in a loop, and continues
   * after a {@link dev.verbena.RdmaException}.
   *
   * @param listener the listener
   * @param settings the settings of the connection
   * @return a connection, to be closed by the caller
   * @throws ConnectionException if the connection cannot be established
   * @throws RdmaTimeoutException if a peer does not complete its request in time
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the listener is closed before or during the wait
   */
  public static Connection accept(Listener listener, ConnectionSettings settings)
      throws InterruptedException {
    return listener.acceptor().accept(Objects.requireNonNull(settings, "settings"));
  }

  /**
   * Accepts a connection request, and waits until the connection is established.
   *
   * @param request a request from {@link Listener#take()}; the connection closes it
   * @param settings the settings of the connection
   * @return a connection, to be closed by the caller
   * @throws ConnectionException if the connection cannot be established
   * @throws RdmaTimeoutException if the timeout of the settings expires
   * @throws InterruptedException if the thread is interrupted
   */
  public static Connection accept(Endpoint request, ConnectionSettings settings)
      throws InterruptedException {
    return establish(
        request,
        settings,
        greeting -> {
          byte[] question = request.request().orElseThrow().privateData();
          settings.setPassive(request.id().options());
          request.accept(settings.parameters(), greeting, settings.timeout());
          return question;
        });
  }

  /** Exchanges private data with the peer. */
  private interface Handshake {
    byte[] perform(byte[] greeting) throws InterruptedException;
  }

  /** Creates the queues and connects them. Receive requests are posted before the peer can send. */
  private static Connection establish(
      Endpoint endpoint, ConnectionSettings settings, Handshake handshake)
      throws InterruptedException {
    try {
      int size = settings.messageSize();
      endpoint.onAddressChange(settings.addressChange());
      ConnectionQueues queues = endpoint.id().queues();
      queues.createQueuePairOnOneChannel(
          QueuePairCapacity.of(settings.sends()).withReceiveRequests(settings.receives()));
      Inbox inbox;
      Outbox outbox;
      try {
        ProtectionDomain domain = endpoint.id().domain();
        inbox = new Inbox(queues.transfers(), domain, settings.receives(), size);
        outbox = new Outbox(queues.transfers(), domain, settings.sends(), size);
      } catch (OutOfMemoryError e) {
        throw settings.tooLarge(e);
      }
      byte[] answer = handshake.perform(Greeting.of(settings.privateData(), size));
      Connection made = new Connection(endpoint, inbox, outbox, Greeting.read(answer), size);
      settings
          .keepAlive()
          .ifPresent(interval -> made.keepAlive(interval, settings.keepAliveAnswer()));
      return made;
    } catch (VerbsException e) {
      RuntimeException cause = endpoint.causeOf(e);
      AfterFailure.close(cause, endpoint::close);
      throw cause;
    } catch (Throwable t) {
      AfterFailure.close(t, endpoint::close);
      throw t;
    }
  }

  /**
   * Returns the private data of the peer's connection request or acceptance.
   *
   * @return a copy of the bytes; if the peer is not a {@code Connection}, the transport may have
   *     padded them with zeros
   */
  public byte[] privateData() {
    return peer.privateData().clone();
  }

  /**
   * Returns the maximum size of a message in either direction: the smaller {@linkplain
   * ConnectionSettings#messageSize setting} of both ends.
   *
   * @return the number of bytes
   */
  public int messageSize() {
    return messageSize;
  }

  // Sending

  /**
   * Sends a message, and waits until the peer's device has acknowledged it.
   *
   * @param message the bytes, at most {@link #messageSize}
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if the send fails
   * @throws InterruptedException if the thread is interrupted; the message may still be delivered
   */
  public void send(byte[] message) throws InterruptedException {
    send(bytes(message), Deadline.NEVER, true);
  }

  /**
   * Sends a message, and waits until the peer's device has acknowledged it or the timeout expires.
   *
   * @param message the bytes, at most {@link #messageSize}
   * @param timeout the maximum time to wait
   * @throws ConnectionException if the connection has ended
   * @throws RdmaTimeoutException if the timeout expires; the message may still be delivered
   * @throws WorkRequestException if the send fails
   * @throws InterruptedException if the thread is interrupted; the message may still be delivered
   */
  public void send(byte[] message, Duration timeout) throws InterruptedException {
    send(bytes(message), Deadline.after(timeout), true);
  }

  /**
   * Sends a message, and waits until the peer's device has acknowledged it.
   *
   * @param message the bytes, in native or heap memory, at most {@link #messageSize}
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if the send fails
   * @throws InterruptedException if the thread is interrupted; the message may still be delivered
   */
  public void send(MemorySegment message) throws InterruptedException {
    send(message, Deadline.NEVER, true);
  }

  /**
   * Sends a message, and waits until the peer's device has acknowledged it or the timeout expires.
   *
   * @param message the bytes, in native or heap memory, at most {@link #messageSize}
   * @param timeout the maximum time to wait
   * @throws ConnectionException if the connection has ended
   * @throws RdmaTimeoutException if the timeout expires; the message may still be delivered
   * @throws WorkRequestException if the send fails
   * @throws InterruptedException if the thread is interrupted; the message may still be delivered
   */
  public void send(MemorySegment message, Duration timeout) throws InterruptedException {
    send(message, Deadline.after(timeout), true);
  }

  /**
   * Posts a message without waiting for its completion. Waits only while {@link
   * ConnectionSettings#sends} requests are outstanding.
   *
   * @param message the bytes, at most {@link #messageSize}; they are copied
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if an earlier request failed
   * @throws InterruptedException if the thread is interrupted; the message was not posted
   */
  public void postSend(byte[] message) throws InterruptedException {
    send(bytes(message), Deadline.NEVER, false);
  }

  /**
   * Posts a message without waiting for its completion. Waits, until the timeout expires, while
   * {@link ConnectionSettings#sends} requests are outstanding.
   *
   * @param message the bytes, at most {@link #messageSize}; they are copied
   * @param timeout the maximum time to wait; zero to post only if the limit is not reached
   * @throws RdmaTimeoutException if the timeout expires; the message was not posted
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if an earlier request failed
   * @throws InterruptedException if the thread is interrupted; the message was not posted
   */
  public void postSend(byte[] message, Duration timeout) throws InterruptedException {
    send(bytes(message), Deadline.after(timeout), false);
  }

  /**
   * Posts a message without waiting for its completion. Waits only while {@link
   * ConnectionSettings#sends} requests are outstanding.
   *
   * @param message the bytes, in native or heap memory, at most {@link #messageSize}; they are
   *     copied
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if an earlier request failed
   * @throws InterruptedException if the thread is interrupted; the message was not posted
   */
  public void postSend(MemorySegment message) throws InterruptedException {
    send(message, Deadline.NEVER, false);
  }

  /**
   * Posts a message without waiting for its completion. Waits, until the timeout expires, while
   * {@link ConnectionSettings#sends} requests are outstanding.
   *
   * @param message the bytes, in native or heap memory, at most {@link #messageSize}; they are
   *     copied
   * @param timeout the maximum time to wait; zero to post only if the limit is not reached
   * @throws RdmaTimeoutException if the timeout expires; the message was not posted
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if an earlier request failed
   * @throws InterruptedException if the thread is interrupted; the message was not posted
   */
  public void postSend(MemorySegment message, Duration timeout) throws InterruptedException {
    send(message, Deadline.after(timeout), false);
  }

  private static MemorySegment bytes(byte[] message) {
    return MemorySegment.ofArray(Objects.requireNonNull(message, "message"));
  }

  private void send(MemorySegment message, Deadline deadline, boolean awaited)
      throws InterruptedException {
    if (message.byteSize() > messageSize) {
      throw new IllegalArgumentException(
          "message of "
              + message.byteSize()
              + " bytes exceeds the maximum message size of "
              + this
              + ": "
              + messageSize
              + " (ConnectionSettings.messageSize of both ends)");
    }
    perform("sending", () -> outbox.send(message), deadline, awaited);
  }

  // The peer's memory

  /**
   * Writes to the peer's memory (RDMA write), and waits for the completion. The peer is not
   * notified.
   *
   * @param local the local region, the source
   * @param offset the offset in the region, in bytes
   * @param length the number of bytes
   * @param remote the peer's memory, the destination
   * @param remoteOffset the offset in the remote memory, in bytes
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if the peer's region does not permit the access
   * @throws InterruptedException if the thread is interrupted; the bytes may still be written
   */
  public void write(
      MemoryRegion local, long offset, long length, RemoteMemory remote, long remoteOffset)
      throws InterruptedException {
    write(local, offset, length, remote, remoteOffset, Deadline.NEVER, true);
  }

  /**
   * Writes to the peer's memory (RDMA write), and waits for the completion or the timeout. The peer
   * is not notified.
   *
   * @param local the local region, the source
   * @param offset the offset in the region, in bytes
   * @param length the number of bytes
   * @param remote the peer's memory, the destination
   * @param remoteOffset the offset in the remote memory, in bytes
   * @param timeout the maximum time to wait
   * @throws ConnectionException if the connection has ended
   * @throws RdmaTimeoutException if the timeout expires; the bytes may still be written
   * @throws WorkRequestException if the peer's region does not permit the access
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
   * Posts an RDMA write to the peer's memory without waiting for its completion. Waits only while
   * {@link ConnectionSettings#sends} requests are outstanding.
   *
   * @param local the local region, the source
   * @param offset the offset in the region, in bytes
   * @param length the number of bytes
   * @param remote the peer's memory, the destination
   * @param remoteOffset the offset in the remote memory, in bytes
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if an earlier request failed
   * @throws InterruptedException if the thread is interrupted; the request was not posted
   */
  public void postWrite(
      MemoryRegion local, long offset, long length, RemoteMemory remote, long remoteOffset)
      throws InterruptedException {
    write(local, offset, length, remote, remoteOffset, Deadline.NEVER, false);
  }

  /**
   * Posts an RDMA write to the peer's memory without waiting for its completion. Waits, until the
   * timeout expires, while {@link ConnectionSettings#sends} requests are outstanding.
   *
   * @param local the local region, the source
   * @param offset the offset in the region, in bytes
   * @param length the number of bytes
   * @param remote the peer's memory, the destination
   * @param remoteOffset the offset in the remote memory, in bytes
   * @param timeout the maximum time to wait; zero to post only if the limit is not reached
   * @throws RdmaTimeoutException if the timeout expires; the request was not posted
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if an earlier request failed
   * @throws InterruptedException if the thread is interrupted; the request was not posted
   */
  public void postWrite(
      MemoryRegion local,
      long offset,
      long length,
      RemoteMemory remote,
      long remoteOffset,
      Duration timeout)
      throws InterruptedException {
    write(local, offset, length, remote, remoteOffset, Deadline.after(timeout), false);
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
   * Reads the peer's memory (RDMA read), and waits for the completion. The peer is not notified.
   * The read is not atomic: of memory that the peer writes at the same time, some bytes may be old
   * and others new.
   *
   * @param local the local region, the destination; it needs {@code LOCAL_WRITE}
   * @param offset the offset in the region, in bytes
   * @param length the number of bytes
   * @param remote the peer's memory, the source
   * @param remoteOffset the offset in the remote memory, in bytes
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if the peer's region does not permit the access
   * @throws InterruptedException if the thread is interrupted; the bytes may still be read
   */
  public void read(
      MemoryRegion local, long offset, long length, RemoteMemory remote, long remoteOffset)
      throws InterruptedException {
    read(local, offset, length, remote, remoteOffset, Deadline.NEVER, true);
  }

  /**
   * Reads the peer's memory (RDMA read), and waits for the completion or the timeout. The peer is
   * not notified. The read is not atomic: of memory that the peer writes at the same time, some
   * bytes may be old and others new.
   *
   * @param local the local region, the destination; it needs {@code LOCAL_WRITE}
   * @param offset the offset in the region, in bytes
   * @param length the number of bytes
   * @param remote the peer's memory, the source
   * @param remoteOffset the offset in the remote memory, in bytes
   * @param timeout the maximum time to wait
   * @throws ConnectionException if the connection has ended
   * @throws RdmaTimeoutException if the timeout expires; the bytes may still be read
   * @throws WorkRequestException if the peer's region does not permit the access
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
   * Posts an RDMA read of the peer's memory without waiting for its completion. Waits only while
   * {@link ConnectionSettings#sends} requests are outstanding.
   *
   * @param local the local region, the destination; it needs {@code LOCAL_WRITE}
   * @param offset the offset in the region, in bytes
   * @param length the number of bytes
   * @param remote the peer's memory, the source
   * @param remoteOffset the offset in the remote memory, in bytes
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if an earlier request failed
   * @throws InterruptedException if the thread is interrupted; the request was not posted
   */
  public void postRead(
      MemoryRegion local, long offset, long length, RemoteMemory remote, long remoteOffset)
      throws InterruptedException {
    read(local, offset, length, remote, remoteOffset, Deadline.NEVER, false);
  }

  /**
   * Posts an RDMA read of the peer's memory without waiting for its completion. Waits, until the
   * timeout expires, while {@link ConnectionSettings#sends} requests are outstanding.
   *
   * @param local the local region, the destination; it needs {@code LOCAL_WRITE}
   * @param offset the offset in the region, in bytes
   * @param length the number of bytes
   * @param remote the peer's memory, the source
   * @param remoteOffset the offset in the remote memory, in bytes
   * @param timeout the maximum time to wait; zero to post only if the limit is not reached
   * @throws RdmaTimeoutException if the timeout expires; the request was not posted
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if an earlier request failed
   * @throws InterruptedException if the thread is interrupted; the request was not posted
   */
  public void postRead(
      MemoryRegion local,
      long offset,
      long length,
      RemoteMemory remote,
      long remoteOffset,
      Duration timeout)
      throws InterruptedException {
    read(local, offset, length, remote, remoteOffset, Deadline.after(timeout), false);
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
   * Atomically adds to a 64-bit number in the peer's memory, and waits for the completion ({@code
   * IBV_WR_ATOMIC_FETCH_AND_ADD}). The operation is atomic with respect to other atomic operations
   * of the peer's device. The peer is not notified.
   *
   * @param remote the peer's memory, registered {@linkplain Transfers#registerAtomic for atomics}
   * @param remoteOffset the offset of the number in the remote memory, in bytes; its address must
   *     be a multiple of 8. The number is in the peer's byte order
   * @param addend the value to add
   * @return the previous value
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if the peer's region does not permit the access
   * @throws InterruptedException if the thread is interrupted; the number may still be changed
   */
  public long fetchAndAdd(RemoteMemory remote, long remoteOffset, long addend)
      throws InterruptedException {
    return fetchAndAdd(remote, remoteOffset, addend, Deadline.NEVER);
  }

  /**
   * Atomically adds to a number in the peer's memory as {@link #fetchAndAdd(RemoteMemory, long,
   * long)} does, and waits for the completion or the timeout.
   *
   * @param remote the peer's memory, registered {@linkplain Transfers#registerAtomic for atomics}
   * @param remoteOffset the offset of the number in the remote memory, in bytes; its address must
   *     be a multiple of 8. The number is in the peer's byte order
   * @param addend the value to add
   * @param timeout the maximum time to wait
   * @return the previous value
   * @throws ConnectionException if the connection has ended
   * @throws RdmaTimeoutException if the timeout expires; the number may still be changed
   * @throws WorkRequestException if the peer's region does not permit the access
   * @throws InterruptedException if the thread is interrupted; the number may still be changed
   */
  public long fetchAndAdd(RemoteMemory remote, long remoteOffset, long addend, Duration timeout)
      throws InterruptedException {
    return fetchAndAdd(remote, remoteOffset, addend, Deadline.after(timeout));
  }

  private long fetchAndAdd(RemoteMemory remote, long remoteOffset, long addend, Deadline deadline)
      throws InterruptedException {
    long address = addressOfNumber(remote, remoteOffset);
    return atomic(
        (result, at) -> transfers.fetchAndAdd(0, result, at, address, remote.rkey(), addend),
        deadline);
  }

  /**
   * Atomically replaces a 64-bit number in the peer's memory if it has the expected value, and
   * waits for the completion ({@code IBV_WR_ATOMIC_CMP_AND_SWP}). The operation is atomic with
   * respect to other atomic operations of the peer's device. The peer is not notified.
   *
   * @param remote the peer's memory, registered {@linkplain Transfers#registerAtomic for atomics}
   * @param remoteOffset the offset of the number in the remote memory, in bytes; its address must
   *     be a multiple of 8. The number is in the peer's byte order
   * @param expected the expected value
   * @param desired the new value
   * @return the previous value: the expected value if the number was replaced
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if the peer's region does not permit the access
   * @throws InterruptedException if the thread is interrupted; the number may still be changed
   */
  public long compareAndSwap(RemoteMemory remote, long remoteOffset, long expected, long desired)
      throws InterruptedException {
    return compareAndSwap(remote, remoteOffset, expected, desired, Deadline.NEVER);
  }

  /**
   * Atomically replaces a number in the peer's memory as {@link #compareAndSwap(RemoteMemory, long,
   * long, long)} does, and waits for the completion or the timeout.
   *
   * @param remote the peer's memory, registered {@linkplain Transfers#registerAtomic for atomics}
   * @param remoteOffset the offset of the number in the remote memory, in bytes; its address must
   *     be a multiple of 8. The number is in the peer's byte order
   * @param expected the expected value
   * @param desired the new value
   * @param timeout the maximum time to wait
   * @return the previous value: the expected value if the number was replaced
   * @throws ConnectionException if the connection has ended
   * @throws RdmaTimeoutException if the timeout expires; the number may still be changed
   * @throws WorkRequestException if the peer's region does not permit the access
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
    long address = addressOfNumber(remote, remoteOffset);
    return atomic(
        (result, at) ->
            transfers.compareAndSwap(0, result, at, address, remote.rkey(), expected, desired),
        deadline);
  }

  private long atomic(Outbox.Atomic request, Deadline deadline) throws InterruptedException {
    lock(sending, "an atomic operation", deadline);
    try {
      perform("an atomic operation", () -> outbox.atomic(request), deadline, true);
      return outbox.resultValue();
    } finally {
      sending.unlock();
    }
  }

  /**
   * Waits until all posted requests have completed.
   *
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if a request failed
   * @throws InterruptedException if the thread is interrupted
   */
  public void awaitPosted() throws InterruptedException {
    awaitPosted(Deadline.NEVER);
  }

  /**
   * Waits until all posted requests have completed or the timeout expires.
   *
   * @param timeout the maximum time to wait
   * @throws ConnectionException if the connection has ended
   * @throws RdmaTimeoutException if the timeout expires
   * @throws WorkRequestException if a request failed
   * @throws InterruptedException if the thread is interrupted
   */
  public void awaitPosted(Duration timeout) throws InterruptedException {
    awaitPosted(Deadline.after(timeout));
  }

  private void awaitPosted(Deadline deadline) throws InterruptedException {
    lock(sending, "waiting for requests", deadline);
    try {
      requireOpen();
      requireDone(outbox.awaitAll(deadline), "waiting for requests", deadline);
    } finally {
      sending.unlock();
    }
  }

  /** Posts a request, and waits for its completion if {@code awaited}. */
  private void perform(String doing, Runnable post, Deadline deadline, boolean awaited)
      throws InterruptedException {
    lock(sending, doing, deadline);
    try {
      requireConnected(doing);
      if (!outbox.awaitRoom(deadline)) {
        throw deadline.missedBy(
            "%s over %s: %d requests are under way, the limit (ConnectionSettings.withSends)"
                .formatted(doing, this, outbox.depth()));
      }
      requireDone(true, doing, deadline);
      post.run();
      if (awaited) {
        requireDone(outbox.awaitAll(deadline), doing, deadline);
      }
    } finally {
      sending.unlock();
    }
  }

  private void lock(ReentrantLock lock, String doing, Deadline deadline)
      throws InterruptedException {
    if (!lock.tryLock(deadline.remainingNanos(), TimeUnit.NANOSECONDS)) {
      throw deadline.missedBy(doing + " over " + this);
    }
  }

  /**
   * Throws unless the requests completed. Requests that completed before the end of the connection
   * count as completed.
   */
  private void requireDone(boolean inTime, String doing, Deadline deadline)
      throws InterruptedException {
    if (!inTime) {
      throw deadline.missedBy(doing + " over " + this);
    }
    if (outbox.failure() != null) {
      if (failedByEnd() && !closed) {
        awaitEnd();
      }
      throw broken(doing, outbox.failure());
    }
  }

  private void requireConnected(String doing) {
    requireOpen();
    if (silence != null || outbox.failure() != null || endpoint.end().isPresent()) {
      throw broken(doing, outbox.failure());
    }
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException(this + " is closed");
    }
  }

  /**
   * Returns the reason why the connection is unusable. A failed request takes precedence over the
   * end of the connection, which it may have caused; the end takes precedence over requests that it
   * flushed.
   */
  private RdmaException broken(String doing, @Nullable WorkRequestException failure) {
    requireOpen();
    WorkRequestException first = outbox.failure();
    RdmaTimeoutException unanswered = silence;
    if (unanswered != null) {
      return new RdmaTimeoutException(
          doing + " over " + this + ": " + unanswered.getMessage(), unanswered.timeout());
    }
    if (first != null && !failedByEnd()) {
      return failed(doing, first);
    }
    return endpoint
        .end()
        .<RdmaException>map(end -> new ConnectionException(lost(doing, end), end))
        .orElseGet(() -> failed(doing, Objects.requireNonNull(failure, "no end")));
  }

  /**
   * Returns whether the first failed request has failed by the end of the connection: it was
   * flushed, or the peer had closed its {@code Connection} and acknowledged no more.
   */
  private boolean failedByEnd() {
    WorkRequestException first = outbox.failure();
    return first != null
        && (first.status() == CompletionStatus.WR_FLUSH_ERR
            || (ended && first.status() == CompletionStatus.RETRY_EXC_ERR));
  }

  /**
   * Waits for the event that ended the connection, after requests were flushed: the queue pair may
   * be in state ERR before the event is read. Waits once: there may be another cause.
   */
  private void awaitEnd() throws InterruptedException {
    if (silence == null && endpoint.end().isEmpty() && !endAwaited && !isLinkDown()) {
      endpoint.awaitEnd(Deadline.after(CAUSE_TIME));
      endAwaited = true;
    }
  }

  private String lost(String doing, ConnectionEvent end) {
    boolean unmarked =
        receiveFailure != null && endsAreMarked && end.type() == EventType.DISCONNECTED;
    return doing
        + " over "
        + this
        + (unmarked ? ": the peer's process ended without closing its Connection" : "");
  }

  private WorkRequestException failed(String doing, WorkRequestException failure) {
    return VerbsAccess.get()
        .during(failure, doing + " over " + this + linkFault() + ": the connection has failed");
  }

  /**
   * Returns the state of the port if it was not active when the failure was first reported. Some
   * providers flush requests when the link is down, without a completion that has the cause.
   */
  private String linkFault() {
    String fault = linkFault;
    if (fault == null) {
      fault = portFault();
      linkFault = fault;
    }
    return fault;
  }

  /** Returns false also if the device does not answer: an event about it follows. */
  private boolean isLinkDown() {
    try {
      return port().attributes().state() != PortState.ACTIVE;
    } catch (VerbsException e) {
      return false;
    }
  }

  private Port port() {
    return endpoint.id().context().port(endpoint.id().portNumber());
  }

  private String portFault() {
    try {
      Port port = port();
      PortState state = port.attributes().state();
      return state == PortState.ACTIVE
          ? ""
          : ": the link is lost: " + port + " is in state IBV_PORT_" + state;
    } catch (VerbsException e) {
      return ": the state of the port is unknown: " + e.getMessage();
    }
  }

  // Keep-alive

  private void keepAlive(Duration interval, Duration answer) {
    keepAlive =
        KeepAlive.start(toString(), interval, this::heard, silent -> requireAnswer(silent, answer));
  }

  /** Returns how many messages arrived and requests completed, keep-alives among them. */
  long heard() {
    return inbox.received() + outbox.completed();
  }

  /**
   * Writes zero bytes to the peer's memory, which its device acknowledges, unless requests are
   * outstanding: the device retries these. Without an acknowledgement the connection ends.
   */
  private boolean requireAnswer(Duration silent, Duration limit) throws InterruptedException {
    requireOpen();
    if (outbox.failure() != null || endpoint.end().isPresent() || !sending.tryLock()) {
      return true;
    }
    try {
      if (!outbox.awaitAll(Deadline.after(Duration.ZERO)) || outbox.failure() != null) {
        return true;
      }
      long asked = System.nanoTime();
      outbox.writeNothing();
      boolean answered = outbox.awaitAll(Deadline.after(limit));
      if (!answered || (outbox.failure() != null && !failedByEnd())) {
        Duration waited = Duration.ofNanos(System.nanoTime() - asked);
        silence =
            new RdmaTimeoutException(
                "the peer %s was silent for %d ms, its device does not acknowledge a keep-alive"
                    .formatted(peerAddress(), silent.plus(waited).toMillis()),
                waited);
        endpoint.id().endQuietly();
      }
      return true;
    } finally {
      sending.unlock();
    }
  }

  private String peerAddress() {
    return endpoint.id().peerAddress().map(InetSocketAddress::toString).orElse("");
  }

  // Receiving

  /**
   * Waits for a message, and returns it.
   *
   * @return the message, or null if the peer has closed the connection
   * @throws ConnectionException if the peer ended without closing the connection, or if the device
   *     was removed
   * @throws WorkRequestException if a request failed
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the connection is closed before or during the wait
   */
  public byte @Nullable [] receive() throws InterruptedException {
    return receive(Deadline.NEVER, message -> message.toArray(ValueLayout.JAVA_BYTE), null);
  }

  /**
   * Waits for a message until the timeout expires, and returns it.
   *
   * @param timeout the maximum time to wait
   * @return the message, or null if the peer has closed the connection
   * @throws ConnectionException if the peer ended without closing the connection, or if the device
   *     was removed
   * @throws RdmaTimeoutException if the timeout expires
   * @throws WorkRequestException if a request failed
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the connection is closed before or during the wait
   */
  public byte @Nullable [] receive(Duration timeout) throws InterruptedException {
    return receive(
        Deadline.after(timeout), message -> message.toArray(ValueLayout.JAVA_BYTE), null);
  }

  /**
   * Waits for a message until the timeout expires, and copies it to memory of the caller. Allocates
   * no array.
   *
   * @param target the memory to copy to; bytes after the message are unchanged
   * @param timeout the maximum time to wait
   * @return the length of the message in bytes, or -1 if the peer has closed the connection
   * @throws IndexOutOfBoundsException if the message is longer than the target; the next {@code
   *     receive} returns it
   * @throws ConnectionException if the peer ended without closing the connection, or if the device
   *     was removed
   * @throws RdmaTimeoutException if the timeout expires
   * @throws WorkRequestException if a request failed
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the connection is closed before or during the wait
   */
  public int receive(MemorySegment target, Duration timeout) throws InterruptedException {
    return receive(Deadline.after(timeout), message -> copy(message, target), -1);
  }

  private int copy(MemorySegment message, MemorySegment target) {
    if (message.byteSize() > target.byteSize()) {
      throw new IndexOutOfBoundsException(
          "message of %d bytes over %s does not fit into the target of %d bytes; the next receive returns it"
              .formatted(message.byteSize(), this, target.byteSize()));
    }
    target.copyFrom(message);
    return (int) message.byteSize();
  }

  /**
   * Takes the next message out of its slot by a function; returns {@code end} at the end of the
   * connection.
   */
  private <T extends @Nullable Object> T receive(
      Deadline deadline, Function<MemorySegment, T> taking, T end) throws InterruptedException {
    lock(receiving, "receiving", deadline);
    try {
      if (!awaitMessage(deadline)) {
        return end;
      }
      T taken = taking.apply(inbox.message()); // If this throws, the message is not lost.
      inbox.release();
      return taken;
    } finally {
      receiving.unlock();
    }
  }

  /** Returns true for a message, false for the end of the connection. */
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
      case NOTHING -> throw deadline.missedBy("receiving over " + this);
      case FAILURE -> {
        receiveFailure = inbox.failure();
        requireOpen(); // Closing flushes them, too.
        awaitCause();
        ended = silence == null && endsWithoutMark();
        if (!ended) {
          throw broken("receiving", receiveFailure);
        }
        yield false;
      }
    };
  }

  /** Returns whether a close and a failure of the peer cannot be distinguished. */
  private boolean endsWithoutMark() {
    requireOpen();
    return !endsAreMarked
        && (outbox.failure() == null || failedByEnd())
        && endpoint.end().filter(end -> end.type() == EventType.DISCONNECTED).isPresent();
  }

  /**
   * Waits until it is known what failed the receive requests: a send that failed before them, or
   * the end of the connection, whose event may be read after the requests were flushed.
   */
  private void awaitCause() throws InterruptedException {
    Deadline deadline = Deadline.after(CAUSE_TIME);
    if (endpoint.end().isEmpty() && acquire(sending, deadline)) {
      try {
        outbox.awaitAll(deadline);
      } finally {
        sending.unlock();
      }
      boolean unknown = receivesWereFlushed() && (outbox.failure() == null || failedByEnd());
      if (unknown) {
        awaitEnd();
      }
    }
  }

  private boolean receivesWereFlushed() {
    WorkRequestException first = receiveFailure;
    return first != null && first.status() == CompletionStatus.WR_FLUSH_ERR;
  }

  // Components

  /**
   * Returns the protection domain of the connection, to register memory with.
   *
   * @return the protection domain; closing the connection closes it
   */
  public ProtectionDomain domain() {
    return endpoint.id().domain();
  }

  /**
   * Returns the endpoint of the connection, with its identifier, queue pair and addresses.
   *
   * @return the endpoint
   */
  public Endpoint endpoint() {
    return endpoint;
  }

  /**
   * Returns the queue pair's operations of {@code rdma_verbs.h}, for other kinds of requests and
   * registrations. The caller must poll the completions of all requests that it posts there before
   * it calls another method of this connection.
   *
   * @return the operations
   */
  public Transfers transfers() {
    return transfers;
  }

  /**
   * Closes the connection: waits up to five seconds until all posted requests have completed,
   * notifies the peer, whose {@link #receive()} then returns null, and disconnects. If another
   * thread is sending, its request is flushed instead, and the peer is not notified of an orderly
   * close.
   */
  @Override
  public void close() {
    closed = true;
    if (keepAlive != null) {
      keepAlive.stop();
    }
    endInOrder(Deadline.after(CLOSING_TIME));
    // All requests are flushed, so that waiting threads return before the queue pair is destroyed.
    endpoint.id().endQuietly();
    Deadline deadline = Deadline.after(CLOSING_TIME);
    boolean nobodyReceives = acquire(receiving, deadline);
    boolean nobodySends = acquire(sending, deadline);
    try {
      endpoint.close();
      leak.closed();
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
    } catch (RdmaException | IllegalStateException e) {
      // The connection has failed or ended: the peer cannot be notified.
    } finally {
      sending.unlock();
    }
  }

  /**
   * Acquires a lock within a time, also in an interrupted thread: objects that the holder of the
   * lock uses must not be destroyed because of an interrupt.
   */
  static boolean acquire(ReentrantLock lock, Deadline deadline) {
    return uninterrupted(() -> lock.tryLock(deadline.remainingNanos(), TimeUnit.NANOSECONDS));
  }

  /** An operation that waits, and returns whether it succeeded before the deadline. */
  interface Wait {
    boolean await() throws InterruptedException;
  }

  /** Waits also in an interrupted thread, and restores its interrupt status. */
  static boolean uninterrupted(Wait wait) {
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

  /** Returns the address of a 64-bit number for atomic operations. */
  static long addressOfNumber(RemoteMemory remote, long offset) {
    long number = remote.addressOf(offset, Long.BYTES);
    if (number % Long.BYTES != 0) {
      throw new IllegalArgumentException(
          "the address of an atomic operation must be a multiple of 8: offset "
              + offset
              + " of "
              + remote
              + " is at 0x"
              + Long.toHexString(number));
    }
    return number;
  }
}
