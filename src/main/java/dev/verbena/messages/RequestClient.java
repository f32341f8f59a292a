package dev.verbena.messages;

import dev.verbena.RdmaException;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.Endpoint;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.LeakReport;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.internal.io.ServiceLoop;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.WorkRequestException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The client of a {@link RequestServer}: sends requests over a reliable connection, any number of
 * them at a time up to a limit, and receives their answers in any order.
 *
 * {@snippet :
 * try (RequestClient client = RequestClient.connect(new InetSocketAddress("server", 7471))) {
 *   byte[] answer = client.call("question".getBytes(UTF_8), Duration.ofSeconds(1));
 * }
 * }
 *
 * <p><b>Limit.</b> {@link ConnectionSettings#withSends} limits the requests under way. Both ends
 * have receive requests for all of them, so that no message waits for one (RNR): this is {@index
 * "flow control"} by {@index credits}, of which an answer gives one back. A call waits while the
 * limit is reached. A request whose time is over, or that was cancelled, counts until the server
 * has answered it, or has given it up, which it does at the same time.
 *
 * <p><b>Large values.</b> The bytes of a request that is larger than a message are read by the
 * server (RDMA read), those of a large answer are written by it (RDMA write). A {@link
 * MemoryRegion} of the caller is not copied ({@index "zero copy"}); other memory is copied to
 * registered memory of the client, of which there is {@link ConnectionSettings#withCopies as much
 * as the settings say}.
 *
 * <p><b>Threads.</b> Any thread may call any method. One of the threads that wait reads the
 * completions for all; for callbacks and futures a virtual thread reads them, or a thread that
 * calls {@link #poll}.
 *
 * <p><b>Allocation.</b> {@link #call(MemorySegment, MemorySegment, Duration)} and {@link
 * #submit(MemorySegment, Duration, Callback)} allocate nothing on the Java heap while completions
 * are polled: see {@link ConnectionSettings#withSpin}. A wait for a completion event, for a free
 * place or for a lock that another thread holds allocates small objects. With software devices, a
 * thread that polls does the work of the other end, too.
 *
 * <p><b>End.</b> When the connection ends, all requests under way and all later ones fail with its
 * reason: a {@link ConnectionException}, or a {@link WorkRequestException}. With {@link
 * ConnectionSettings#withReconnect} the next call connects again, and with {@link
 * ConnectionSettings#withRepeats} those under way are sent again, but for those with callbacks. A
 * call whose handler failed throws {@link RequestFailedException}.
 */
public final class RequestClient implements AutoCloseable {
  /**
   * Receives the answer of a request. Its methods are called by a thread that reads completions for
   * others, too: they may submit a further request, and must not wait.
   */
  public interface Callback {
    /**
     * The request was answered.
     *
     * @param answer the answer, valid until this method returns
     */
    void answered(Answer answer);

    /**
     * The request was not answered; called instead of {@link #answered}.
     *
     * @param reason what a {@linkplain #call(byte[], Duration) call} would throw
     */
    void failed(RuntimeException reason);
  }

  private final InetSocketAddress server;
  private final ConnectionSettings settings;
  private final LeakReport leak;

  /** Held by the thread that connects. */
  private final ScopedLock connecting = new ScopedLock();

  // Change under the lock.

  private volatile ClientMemory memory;
  private volatile ClientLink link;
  private volatile boolean isClosed;

  /** How long to wait before connecting again, and until when. */
  private long pause;

  private long pausedUntil;

  /** Why the last attempt failed; null if it did not. */
  private volatile @Nullable RdmaException pausedBy;

  private RequestClient(InetSocketAddress server, ConnectionSettings settings)
      throws InterruptedException {
    this.server = server;
    this.settings = settings;
    link = settings.connect(server, this::connect);
    leak = new LeakReport(toString());
    leak.watch(this);
  }

  /** Connects an endpoint, with the domain of the connection before if that has its device. */
  private ClientLink connect(Endpoint resolved, Deadline deadline) throws InterruptedException {
    return resolved.establish(endpoint -> establish(endpoint, deadline));
  }

  private ClientLink establish(Endpoint endpoint, Deadline deadline) throws InterruptedException {
    if (isClosed) { // While RDMA CM gave up the request of the attempt before.
      throw new IllegalStateException("client of " + server + " is closed");
    }
    ClientMemory before = memory;
    ClientMemory used =
        before != null && before.fits(endpoint)
            ? before
            : new ClientMemory(endpoint, settings.copies());
    try {
      ClientLink made = new ClientLink(endpoint, used, settings, deadline);
      memory = used;
      if (before != null && used != before) {
        boolean _ = ServiceLoop.attempt(before::close);
      }
      return made;
    } catch (Throwable t) {
      if (used != before) {
        AfterFailure.close(t, () -> AfterFailure.closeAll(endpoint::close, used::close));
      }
      throw t;
    }
  }

  /**
   * Connects to a server, with the default settings.
   *
   * @param server the address of the server
   * @return a client, to be closed by the caller
   * @throws InterruptedException if the thread is interrupted
   * @see #connect(InetSocketAddress, ConnectionSettings)
   */
  public static RequestClient connect(InetSocketAddress server) throws InterruptedException {
    return connect(server, ConnectionSettings.DEFAULT);
  }

  /**
   * Connects to a server.
   *
   * @param server the address of the server
   * @param settings the settings: {@code withSends} is the limit of requests under way, of which
   *     the smaller one of both ends applies, as of the message size
   * @return a client, to be closed by the caller
   * @throws ConnectionException if the server cannot be reached or has no room
   * @throws IllegalStateException if the peer is not a {@code RequestServer}
   * @throws RdmaTimeoutException if the timeout of the settings expires
   * @throws InterruptedException if the thread is interrupted
   */
  public static RequestClient connect(InetSocketAddress server, ConnectionSettings settings)
      throws InterruptedException {
    settings.requireNoDomain();
    return new RequestClient(server, settings);
  }

  /** {@return the maximum number of requests under way: the smaller limit of both ends} */
  public int limit() {
    return link.terms().limit();
  }

  /**
   * {@return the maximum size of a request and of an answer that is a message, in bytes: larger
   * ones are read and written by the server}
   */
  public int messageSize() {
    return link.terms().messageSize();
  }

  /** {@return the protection domain of the connection, to register memory for large values} */
  public ProtectionDomain domain() {
    return memory.domain();
  }

  /**
   * Sends a request, and waits for its answer, of at most {@link #messageSize} bytes.
   *
   * @param request the bytes
   * @param timeout the maximum time to wait
   * @return the answer
   * @throws RequestFailedException if the server's handler failed, or the server refused the
   *     request
   * @throws RdmaTimeoutException if the timeout expires; the server may have processed the request
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if the connection has failed
   * @throws InterruptedException if the thread is interrupted
   */
  public byte[] call(byte[] request, Duration timeout) throws InterruptedException {
    MemorySegment bytes = bytes(request);
    for (long start = Time.now(); ; ) {
      ClientLink used = link(start, timeout);
      try {
        CallSlot slot = used.take(bytes, 0, start, timeout);
        Answer answer = used.exchange(slot, bytes, start);
        try {
          return answer.bytes().toArray(ValueLayout.JAVA_BYTE);
        } finally {
          used.calls.end(slot);
        }
      } catch (RdmaException e) {
        requireRepeated(e, used);
      }
    }
  }

  /**
   * Sends a request, and waits for its answer; allocates nothing while it {@linkplain
   * ConnectionSettings#withSpin polls}.
   *
   * @param request the bytes
   * @param answer memory for the answer
   * @param timeout the maximum time to wait
   * @return the length of the answer in bytes
   * @throws IndexOutOfBoundsException if the answer is longer than its memory; it is lost
   * @throws RdmaException as {@link #call(byte[], Duration)}
   * @throws InterruptedException if the thread is interrupted
   */
  public long call(MemorySegment request, MemorySegment answer, Duration timeout)
      throws InterruptedException {
    for (long start = Time.now(); ; ) {
      ClientLink used = link(start, timeout);
      try {
        CallSlot slot = used.take(request, answer.byteSize(), start, timeout);
        return exchange(used, slot, request, answer, start);
      } catch (RdmaException e) {
        requireRepeated(e, used);
      }
    }
  }

  /**
   * Sends a request that the server reads from registered memory, and waits for its answer.
   *
   * @param region the region of the request, of {@link #domain}, with {@code REMOTE_READ}
   * @param offset the offset of the request in the region
   * @param length the length of the request in bytes
   * @param answer memory for the answer
   * @param timeout the maximum time to wait; if it expires, the server may still read the region
   * @return the length of the answer in bytes
   * @throws IndexOutOfBoundsException if the request is not inside the region, or the answer is
   *     longer than its memory
   * @throws IllegalArgumentException if the region is of another protection domain
   * @throws RequestFailedException also if the request is too large for the server
   * @throws RdmaException as {@link #call(byte[], Duration)}
   * @throws InterruptedException if the thread is interrupted
   */
  public long call(
      MemoryRegion region, long offset, long length, MemorySegment answer, Duration timeout)
      throws InterruptedException {
    for (long start = Time.now(); ; ) {
      ClientLink used = link(start, timeout);
      try {
        RemoteMemory large = described(region, offset, length);
        CallSlot slot = used.take(MemorySegment.NULL, answer.byteSize(), start, timeout);
        slot.large = large;
        return exchange(used, slot, MemorySegment.NULL, answer, start);
      } catch (RdmaException e) {
        requireRepeated(e, used);
      }
    }
  }

  /**
   * Sends a request, and waits for its answer, which the server writes to registered memory.
   *
   * @param request the bytes
   * @param region the region for the answer, of {@link #domain}, with {@code LOCAL_WRITE} and
   *     {@code REMOTE_WRITE}
   * @param offset the offset of the answer in the region
   * @param room the maximum length of the answer in bytes
   * @param timeout the maximum time to wait; if it expires, the server may still write to the
   *     region
   * @return the length of the answer in bytes
   * @throws IndexOutOfBoundsException if the memory is not inside the region
   * @throws IllegalArgumentException if the region is of another protection domain
   * @throws RequestFailedException also if the answer is longer than its memory
   * @throws RdmaException as {@link #call(byte[], Duration)}
   * @throws InterruptedException if the thread is interrupted
   */
  public long call(
      MemorySegment request, MemoryRegion region, long offset, long room, Duration timeout)
      throws InterruptedException {
    for (long start = Time.now(); ; ) {
      ClientLink used = link(start, timeout);
      try {
        RemoteMemory described = described(region, offset, room);
        CallSlot slot = used.take(request, 0, start, timeout);
        slot.room = described;
        slot.answer.expect(timeout, region, offset, room, false);
        return exchange(used, slot, request, null, start);
      } catch (RdmaException e) {
        requireRepeated(e, used);
      }
    }
  }

  /**
   * Sends a request, and returns. Waits only while the limit of requests under way is reached, and
   * for another connection; in a callback it throws {@link IllegalStateException} or the reason of
   * the end instead.
   *
   * @param request the bytes, which are copied
   * @param timeout the maximum time until the answer
   * @param callback receives the answer, of at most {@link #messageSize} bytes, unless this method
   *     throws
   * @throws RdmaTimeoutException if the limit is reached until the timeout expires
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if the connection has failed
   * @throws InterruptedException if the thread is interrupted
   */
  public void submit(MemorySegment request, Duration timeout, Callback callback)
      throws InterruptedException {
    Objects.requireNonNull(callback, "callback");
    long start = Time.now();
    ClientLink used = link(start, timeout);
    used.calls.send(used.take(request, 0, start, timeout), request, start, callback);
  }

  /**
   * Sends a request, and returns a future of its answer, as {@link #submit(MemorySegment, Duration,
   * Callback)} does.
   *
   * @param request the bytes, which are copied
   * @param timeout the maximum time until the answer; then the future completes with {@link
   *     RdmaTimeoutException}
   * @return a future, which completes in a virtual thread; cancelling it drops the answer
   * @throws RdmaTimeoutException if the limit is reached until the timeout expires
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if the connection has failed
   * @throws InterruptedException if the thread is interrupted
   */
  public CompletableFuture<byte[]> submit(byte[] request, Duration timeout)
      throws InterruptedException {
    FutureAnswer future = new FutureAnswer(bytes(request), timeout);
    future.send();
    return future;
  }

  /** The thread that reads does not run the dependents of a future. */
  private final class FutureAnswer extends CompletableFuture<byte[]> implements Callback {
    private final MemorySegment request;
    private final Duration timeout;
    private final long start = Time.now();
    private volatile ClientLink used = link;

    FutureAnswer(MemorySegment request, Duration timeout) {
      this.request = request;
      this.timeout = timeout;
    }

    /** Sends the request, over another connection if the one ends before. */
    void send() throws InterruptedException {
      while (true) {
        ClientLink current = link(start, timeout);
        used = current;
        try {
          current.calls.send(current.take(request, 0, start, timeout), request, start, this);
          return;
        } catch (RdmaException e) {
          requireRepeated(e, current);
        }
      }
    }

    @Override
    public void answered(Answer answer) {
      byte[] bytes = answer.bytes().toArray(ValueLayout.JAVA_BYTE);
      Thread _ = Thread.ofVirtual().start(() -> complete(bytes));
    }

    @Override
    public void failed(RuntimeException reason) {
      Thread _ = Thread.ofVirtual().start(() -> repeatOrEnd(reason));
    }

    private void repeatOrEnd(RuntimeException reason) {
      if (isDone()) { // Cancelled: nobody wants the answer.
        return;
      }
      try {
        if (!(reason instanceof RdmaException e)) {
          throw reason;
        }
        requireRepeated(e, used);
        send();
      } catch (Throwable t) {
        boolean _ = completeExceptionally(t);
      }
    }
  }

  /**
   * Reads the completions that have arrived, or waits for one, and calls the callbacks. A program
   * with a loop of its own calls this instead of leaving it to a virtual thread.
   *
   * @param timeout the maximum time to wait; zero to return at once
   * @throws InterruptedException if the thread is interrupted
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if the connection has failed
   */
  public void poll(Duration timeout) throws InterruptedException {
    link.poll(ClientCalls.nanos(timeout));
  }

  private static MemorySegment bytes(byte[] request) {
    return MemorySegment.ofArray(Objects.requireNonNull(request, "request"));
  }

  /** Describes memory of the caller. */
  private RemoteMemory described(MemoryRegion region, long offset, long length) {
    long address = RemoteMemory.of(region).addressOf(offset, length);
    if (!region.domain().isOneWith(domain())) {
      throw new IllegalArgumentException(region + " is of another protection domain than " + this);
    }
    return RemoteMemory.at(address, length, region.rkey());
  }

  /** Sends a request, and copies its answer unless that is null. */
  private static long exchange(
      ClientLink link,
      CallSlot slot,
      MemorySegment request,
      @Nullable MemorySegment target,
      long start)
      throws InterruptedException {
    Answer answer = link.exchange(slot, request, start);
    try {
      return target == null ? answer.toTarget() : answer.copyTo(target);
    } finally {
      link.calls.end(slot);
    }
  }

  // Connecting again

  /** Throws the failure of a call, unless the call is sent again over another connection. */
  private void requireRepeated(RdmaException failure, ClientLink used) {
    if (!settings.repeats()
        || !failure.isTransient()
        || !used.hasEnded()
        || used.calls.isInCallback()
        || isClosed) {
      throw failure;
    }
  }

  /** Returns the connection for a call: another one, if it has ended and the settings say so. */
  private ClientLink link(long start, Duration timeout) throws InterruptedException {
    ClientLink current = link;
    if (!current.hasEnded()
        || isClosed
        || settings.reconnect().isEmpty()
        || current.calls.isInCallback()) {
      return current; // Its calls throw why it has ended.
    }
    long nanos = ClientCalls.nanos(timeout);
    if (!Time.tryLock(connecting, nanos - (Time.now() - start))) {
      throw notConnected(timeout);
    }
    try (connecting) {
      while (link.hasEnded() && !isClosed) {
        long left = nanos - (Time.now() - start);
        long wait = Math.max(0, pausedUntil - Time.now());
        if (wait >= left) {
          throw notConnected(timeout);
        }
        Time.sleep(wait);
        connectAgain(Duration.ofNanos(left - wait), settings.reconnect().get());
      }
      if (isClosed) { // Perhaps before the connection was made.
        closeAll();
      }
      return link;
    }
  }

  private void connectAgain(Duration atMost, ConnectionSettings.Reconnect policy)
      throws InterruptedException {
    link.close(false);
    boolean isShorter = atMost.compareTo(settings.timeout()) < 0;
    try {
      link = (isShorter ? settings.withTimeout(atMost) : settings).connect(server, this::connect);
      pause = 0;
      pausedBy = null;
    } catch (RdmaException e) { // The server, or the device, may be back later.
      pause = Math.clamp(2 * pause, policy.first().toNanos(), policy.most().toNanos());
      pausedUntil = Time.now() + pause;
      pausedBy = e;
    }
  }

  private RdmaTimeoutException notConnected(Duration timeout) {
    RdmaTimeoutException late = new RdmaTimeoutException("connecting again to " + server, timeout);
    RdmaException last = pausedBy;
    if (last != null) {
      Throwable _ = late.initCause(last);
    }
    return late;
  }

  /**
   * Disconnects. Calls of other threads end with {@link IllegalStateException}. The regions of
   * {@link #domain} are closed.
   */
  @Override
  public void close() {
    isClosed = true;
    closeAll();
    leak.closed();
  }

  private void closeAll() {
    AfterFailure.closeAll(() -> link.close(true), memory::close);
  }

  @Override
  public String toString() {
    return link + (isClosed ? " (closed)" : "");
  }
}
