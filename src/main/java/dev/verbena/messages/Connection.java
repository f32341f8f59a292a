package dev.verbena.messages;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.attributes.TransportType;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Listener;
import dev.verbena.cm.Transfers;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.HalfOpenRequests;
import dev.verbena.internal.HalfOpenRequests.Establishing;
import dev.verbena.internal.Inside;
import dev.verbena.internal.LeakReport;
import dev.verbena.internal.MessageCounter;
import dev.verbena.internal.MessageCounters;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.time.Uninterrupted;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.WorkRequestException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
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
 * all of them. They wait themselves only while {@link ConnectionSettings#sends} requests are
 * outstanding. A wait ends when the operation completes, the thread is interrupted, the connection
 * ends, it is {@linkplain #close closed}, or the timeout expires, by {@link RdmaTimeoutException}:
 * that of {@link #setTimeout}, or of {@code receive}. After a timeout or an interrupt of a method
 * that waits for a completion, the request remains posted, and the next request waits for it; a
 * method that begins with {@code post} has posted nothing.
 *
 * <p><b>Receiver not ready ({@index RNR}).</b> If the peer has no free receive request, the device
 * retries the send. The {@linkplain ConnectionSettings#DEFAULT default settings} have an RNR retry
 * count of 6: the connection fails after about 4 seconds (six waits of 655 milliseconds) without a
 * free receive request. A count of 7 retries without end; then only a {@linkplain #setTimeout
 * timeout} limits the wait.
 *
 * <p><b>States.</b> A connection is established when {@code connect} or {@code accept} returns. It
 * has ended when the peer closes, the device is removed, or a request fails; from then on
 * operations throw {@link ConnectionException} or {@link WorkRequestException}, also for an access
 * that the peer's region does not permit. Requests that are outstanding when the peer disconnects
 * have 200 milliseconds to complete, since the device may process their acknowledgement later than
 * the end; then they are flushed. If requests were flushed and the cause is unknown, operations
 * wait up to twenty seconds for the event that ended the connection, also beyond a timeout. {@link
 * #receive()} returns null after the peer has closed its {@code Connection}. If the peer's process
 * ends or is killed without closing, {@code receive} throws. With a peer that is a C program, or
 * over iWARP, the two cases cannot be distinguished: {@code receive} returns null in both. A lost
 * link is detected by a send, which fails with {@code IBV_WC_RETRY_EXC_ERR}, and not by a waiting
 * {@code receive}.
 *
 * <p><b>{@index Keep-alive}.</b> With {@link ConnectionSettings#withKeepAlive} a lost peer is
 * detected also while nothing is sent: all operations then throw {@link RdmaTimeoutException},
 * which names the peer and how long it was silent.
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

  /** The maximum time for requests to complete when the peer has disconnected. */
  private static final Duration COMPLETION_TIME = Duration.ofMillis(200);

  private final Endpoint endpoint;
  private final Inbox inbox;
  private final Outbox outbox;
  private final Greeting peer;
  private final int messageSize;
  private final ConnectionEnd end;
  private final Sending sending;
  private final Receiving receiving;
  private final MessageCounters counters;
  private final LeakReport leak;

  private Connection(
      Endpoint endpoint, ConnectionSettings settings, Inbox inbox, Outbox outbox, Greeting peer) {
    this.endpoint = endpoint;
    this.inbox = inbox;
    this.outbox = outbox;
    this.peer = peer;
    int size = settings.messageSize();
    messageSize = Math.min(size, peer.messageSize().orElse(size));
    // iWARP has no immediate data.
    boolean endsAreMarked =
        peer.messageSize().isPresent()
            && endpoint.id().context().device().transportType() != TransportType.IWARP;
    String name = toString();
    end =
        new ConnectionEnd(name, endpoint, outbox::failure, endsAreMarked, ConnectionEnd.CAUSE_TIME);
    sending = new Sending(name, endpoint, outbox, end, messageSize);
    receiving = new Receiving(name, inbox, sending, end);
    endpoint.disconnectAfter(outbox::hasOutstanding, COMPLETION_TIME);
    counters = Core.of(endpoint.id().domain()).device().counters();
    counters.opened(MessageCounter.CONNECTIONS_OPENED, inbox.tally, outbox.tally);
    leak = new LeakReport(name);
    leak.watch(this);
    settings
        .keepAlive()
        .ifPresent(
            interval -> sending.keepAlive(this::heard, interval, settings.keepAliveAnswer()));
  }

  /**
   * Connects to a listener with the default settings.
   *
   * @param peer the address of the listener
   * @return a connection, to be closed by the caller
   * @throws InterruptedException if the thread is interrupted
   * @see #connect(InetSocketAddress, ConnectionSettings)
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
    return settings.connect(
        peer,
        (endpoint, deadline) ->
            establish(
                endpoint,
                settings,
                greeting ->
                    endpoint.connect(settings.parameters(), greeting, deadline).privateData()));
  }

  /**
   * Waits for a connection request, and accepts it, with the default settings.
   *
   * @param listener the listener
   * @return a connection, to be closed by the caller
   * @throws InterruptedException if the thread is interrupted
   * @see #accept(Listener, ConnectionSettings)
   */
  public static Connection accept(Listener listener) throws InterruptedException {
    return accept(listener, ConnectionSettings.DEFAULT);
  }

  /**
   * Waits for connection requests, and accepts them until a connection is established.
   *
   * <p>A peer that does not complete its request delays no other: meanwhile further requests are
   * accepted, up to {@value HalfOpenRequests#LIMIT} at a time and {@value
   * HalfOpenRequests#LIMIT_OF_SOURCE} of one address, and the first established connection is
   * returned. The others are returned by later calls for the same listener, with the settings of
   * the call that began to accept them; closing the listener closes them. A request that fails, at
   * the latest after the timeout of its settings, is reported by an exception of the current or the
   * next call: a server calls this method in a loop, and continues after a {@link
   * dev.verbena.RdmaException}.
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
    Objects.requireNonNull(settings, "settings");
    return listener.accept(request -> accept(request, settings), Connection::close);
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

  /** Posts the receive requests, before the peer can send; closes the endpoint after a failure. */
  private static Connection establish(
      Endpoint endpoint, ConnectionSettings settings, Establishing<byte[], byte[]> handshake)
      throws InterruptedException {
    return endpoint.establish(
        _ -> {
          int size = settings.messageSize();
          endpoint.onAddressChange(settings.addressChange());
          ConnectionId id = endpoint.id();
          ProtectionDomain domain = settings.domain().orElseGet(id::domain);
          MessageSlots incoming;
          MessageSlots outgoing;
          try { // Before the queue pair, which is then destroyed before they are freed.
            incoming = new MessageSlots(domain, settings.receives(), size).closedWith(id);
            outgoing = new MessageSlots(domain, settings.sends(), size).closedWith(id);
          } catch (OutOfMemoryError e) {
            throw settings.tooLarge(e);
          }
          id.queues()
              .createQueuePairOnOneChannel(
                  domain,
                  QueuePairCapacity.of(settings.sends()).withReceiveRequests(settings.receives()));
          Transfers transfers = id.queues().transfers();
          Inbox inbox = new Inbox(transfers, incoming, settings.receives());
          Outbox outbox = new Outbox(transfers, outgoing, settings.sends());
          byte[] answer = handshake.establish(Greeting.of(settings.privateData(), size));
          return new Connection(endpoint, settings, inbox, outbox, Greeting.read(answer));
        });
  }

  /**
   * {@return a copy of the private data of the peer's connection request or acceptance; if the peer
   * is not a {@code Connection}, the transport may have padded it with zeros}
   */
  public byte[] privateData() {
    return peer.privateData().clone();
  }

  /**
   * {@return the maximum size of a message in either direction, in bytes: the smaller {@linkplain
   * ConnectionSettings#messageSize setting} of both ends}
   */
  public int messageSize() {
    return messageSize;
  }

  /**
   * Limits the waits of all operations but {@code receive} from now on, whichever thread calls
   * them. By default they are unlimited.
   *
   * @param timeout the maximum time to wait; with zero, {@code postSend}, {@code postRead} and
   *     {@code postWrite} post only if the number of outstanding requests is below the limit
   */
  public void setTimeout(Duration timeout) {
    sending.setTimeout(timeout);
  }

  // Sending

  /**
   * Sends a message, and waits until the peer's device has acknowledged it.
   *
   * @param message the bytes, at most {@link #messageSize}
   * @throws InterruptedException if the thread is interrupted; the message may still be delivered
   */
  public void send(byte[] message) throws InterruptedException {
    sending.send(bytes(message), true);
  }

  /**
   * Sends a message, and waits until the peer's device has acknowledged it.
   *
   * @param message the bytes, in native or heap memory, at most {@link #messageSize}
   * @throws InterruptedException if the thread is interrupted; the message may still be delivered
   */
  public void send(MemorySegment message) throws InterruptedException {
    sending.send(message, true);
  }

  /**
   * Posts a message without waiting for its completion.
   *
   * @param message the bytes, at most {@link #messageSize}; they are copied
   * @throws InterruptedException if the thread is interrupted; the message was not posted
   */
  public void postSend(byte[] message) throws InterruptedException {
    sending.send(bytes(message), false);
  }

  /**
   * Posts a message without waiting for its completion.
   *
   * @param message the bytes, in native or heap memory, at most {@link #messageSize}; they are
   *     copied
   * @throws InterruptedException if the thread is interrupted; the message was not posted
   */
  public void postSend(MemorySegment message) throws InterruptedException {
    sending.send(message, false);
  }

  private static MemorySegment bytes(byte[] message) {
    return MemorySegment.ofArray(Objects.requireNonNull(message, "message"));
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
   * @throws InterruptedException if the thread is interrupted; the bytes may still be written
   */
  public void write(
      MemoryRegion local, long offset, long length, RemoteMemory remote, long remoteOffset)
      throws InterruptedException {
    sending.access(true, local, offset, length, remote, remoteOffset, true);
  }

  /**
   * Posts an RDMA write to the peer's memory without waiting for its completion.
   *
   * @param local the local region, the source
   * @param offset the offset in the region, in bytes
   * @param length the number of bytes
   * @param remote the peer's memory, the destination
   * @param remoteOffset the offset in the remote memory, in bytes
   * @throws InterruptedException if the thread is interrupted; the request was not posted
   */
  public void postWrite(
      MemoryRegion local, long offset, long length, RemoteMemory remote, long remoteOffset)
      throws InterruptedException {
    sending.access(true, local, offset, length, remote, remoteOffset, false);
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
   * @throws InterruptedException if the thread is interrupted; the bytes may still be read
   */
  public void read(
      MemoryRegion local, long offset, long length, RemoteMemory remote, long remoteOffset)
      throws InterruptedException {
    sending.access(false, local, offset, length, remote, remoteOffset, true);
  }

  /**
   * Posts an RDMA read of the peer's memory without waiting for its completion.
   *
   * @param local the local region, the destination; it needs {@code LOCAL_WRITE}
   * @param offset the offset in the region, in bytes
   * @param length the number of bytes
   * @param remote the peer's memory, the source
   * @param remoteOffset the offset in the remote memory, in bytes
   * @throws InterruptedException if the thread is interrupted; the request was not posted
   */
  public void postRead(
      MemoryRegion local, long offset, long length, RemoteMemory remote, long remoteOffset)
      throws InterruptedException {
    sending.access(false, local, offset, length, remote, remoteOffset, false);
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
   * @throws InterruptedException if the thread is interrupted; the number may still be changed
   */
  public long fetchAndAdd(RemoteMemory remote, long remoteOffset, long addend)
      throws InterruptedException {
    return sending.fetchAndAdd(remote, remoteOffset, addend);
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
   * @throws InterruptedException if the thread is interrupted; the number may still be changed
   */
  public long compareAndSwap(RemoteMemory remote, long remoteOffset, long expected, long desired)
      throws InterruptedException {
    return sending.compareAndSwap(remote, remoteOffset, expected, desired);
  }

  /**
   * Waits until all posted requests have completed.
   *
   * @throws InterruptedException if the thread is interrupted
   */
  public void awaitPosted() throws InterruptedException {
    sending.awaitPosted();
  }

  /** Returns how many messages arrived and requests completed, keep-alives among them. */
  long heard() {
    return inbox.received() + outbox.completed();
  }

  // Receiving

  /**
   * Waits for a message, and returns it.
   *
   * @return the message, or null if the peer has closed the connection
   * @throws InterruptedException if the thread is interrupted
   */
  public byte @Nullable [] receive() throws InterruptedException {
    return receiving.receive(
        Deadline.NEVER, message -> message.toArray(ValueLayout.JAVA_BYTE), null);
  }

  /**
   * Waits for a message until the timeout expires, and returns it.
   *
   * @param timeout the maximum time to wait
   * @return the message, or null if the peer has closed the connection
   * @throws InterruptedException if the thread is interrupted
   */
  public byte @Nullable [] receive(Duration timeout) throws InterruptedException {
    return receiving.receive(
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
   * @throws InterruptedException if the thread is interrupted
   */
  public int receive(MemorySegment target, Duration timeout) throws InterruptedException {
    return receiving.receive(target, Deadline.after(timeout));
  }

  // The end

  /**
   * {@return whether operations are possible, as far as this end knows: neither it nor its queue
   * pair was closed, no request has failed, and no event has ended the connection} What nobody has
   * noticed is not known: a lost link is noticed by a request that fails, and by a keep-alive.
   */
  public boolean isOpen() {
    return end.isOpen() && endpoint.id().queuePair().filter(QueuePair::isOpen).isPresent();
  }

  /**
   * Runs an action when the connection has ended or was closed, once, in a new virtual thread; at
   * once if it has. It replaces that of an earlier call which has not run. What no event ends is
   * not noticed here, as {@link #isOpen} says.
   *
   * @param action the action, which may wait, and close this connection
   */
  public void whenEnded(Runnable action) {
    Objects.requireNonNull(action, "action");
    endpoint.whenEnded(() -> Thread.startVirtualThread(action), Inside.LIBRARY);
  }

  // Components

  /**
   * {@return the protection domain of the connection, to register memory with; closing the
   * connection closes it, unless it is that of {@link ConnectionSettings#withDomain}}
   */
  public ProtectionDomain domain() {
    return endpoint.id().domain();
  }

  /** {@return the endpoint of the connection, with its identifier, queue pair and addresses} */
  public Endpoint endpoint() {
    return endpoint;
  }

  /**
   * {@return the queue pair's operations of {@code rdma_verbs.h}, for other kinds of requests and
   * registrations} The caller must poll the completions of all requests that it posts there before
   * it calls another method of this connection.
   */
  public Transfers transfers() {
    return sending.transfers();
  }

  /**
   * Closes the connection: waits up to five seconds until all posted requests have completed,
   * notifies the peer, whose {@link #receive()} then returns null, and disconnects. If another
   * thread is sending, its request is flushed instead, and the peer is not notified of an orderly
   * close.
   */
  @Override
  public void close() {
    end.close();
    sending.endInOrder(Deadline.after(CLOSING_TIME));
    // All requests are flushed, so that waiting threads return before the queue pair is destroyed.
    endpoint.id().endQuietly(Inside.LIBRARY);
    Deadline deadline = Deadline.after(CLOSING_TIME);
    boolean nobodyReceives = Uninterrupted.acquire(receiving.lock(), deadline::remainingNanos);
    boolean nobodySends = Uninterrupted.acquire(sending.lock(), deadline::remainingNanos);
    try {
      endpoint.close();
      counters.closed(MessageCounter.CONNECTIONS_CLOSED, inbox.tally, outbox.tally);
      leak.closed();
    } finally {
      if (nobodySends) {
        sending.lock().unlock();
      }
      if (nobodyReceives) {
        receiving.lock().unlock();
      }
    }
  }

  @Override
  public String toString() {
    return "connection of " + endpoint.id();
  }
}
