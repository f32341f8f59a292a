package dev.verbena.messages;

import dev.verbena.RdmaException;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.Endpoint;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.Inside;
import dev.verbena.internal.KeepAlive;
import dev.verbena.internal.LeakReport;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import dev.verbena.internal.time.Uninterrupted;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.WorkRequestException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
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
 * have receive requests for all of them, so that no message waits for one (RNR). A call waits while
 * the limit is reached. A request whose deadline passed, or that was cancelled, counts until its
 * late answer arrives, which is dropped.
 *
 * <p><b>Threads.</b> Any thread may call any method. One of the threads that wait reads the
 * completions for all; for {@link #submit} a virtual thread reads them.
 *
 * <p><b>Allocation.</b> {@link #call(MemorySegment, MemorySegment, Duration)} allocates nothing on
 * the Java heap while it polls: see {@link ConnectionSettings#withSpin}. A wait for a completion
 * event, for a free place or for a lock that another thread holds allocates small objects. With
 * software devices, a thread that polls does the work of the other end, too.
 *
 * <p><b>End.</b> When the connection ends, all requests under way and all later ones fail with its
 * reason: a {@link ConnectionException}, or a {@link WorkRequestException}. A call whose handler
 * failed throws {@link RequestFailedException}.
 */
public final class RequestClient implements AutoCloseable {
  private static final long SLICE_NANOS = 20_000_000;
  private static final Duration SLICE = Duration.ofNanos(SLICE_NANOS);
  private static final Duration CLOSING_TIME = Duration.ofSeconds(5);

  /** The id of a keep-alive. */
  private static final long PROBE = 1L << 33;

  private final Endpoint endpoint;
  private final int limit;
  private final int messageSize;
  private final ClientQueues queues;
  private final Completions completions;
  private final RequestSlot[] slots;
  private final int[] free;
  private int freeCount;
  private final ScopedLock lock = new ScopedLock();
  private final Condition freed = lock.newCondition();

  /** Held by the thread that reads completions. */
  private final ScopedLock reading = new ScopedLock();

  /** How many requests completed; changes under the lock. */
  private volatile long completed;

  /** Whether a keep-alive is outstanding; guarded by the lock. */
  private boolean isProbed;

  /** The sends that have not completed; guarded by the lock. */
  private int sending;

  private final AtomicInteger submitted = new AtomicInteger();
  private final LeakReport leak;
  private final ClientEnd end;
  private @Nullable KeepAlive keepAlive;

  private RequestClient(Endpoint endpoint, ConnectionSettings settings)
      throws InterruptedException {
    this.endpoint = endpoint;
    int most = settings.sends();
    queues = new ClientQueues(endpoint, settings);
    completions = new Completions(Math.min(16, 2 * most));
    slots = new RequestSlot[most];
    free = new int[most];
    for (int i = 0; i < most; i++) {
      slots[i] = new RequestSlot(i);
    }
    RequestFrame.Terms terms =
        new RequestFrame.Terms(most, settings.messageSize())
            .agreed(
                endpoint
                    .connect(
                        settings.parameters(),
                        new RequestFrame.Terms(most, settings.messageSize()).toBytes(),
                        settings.timeout())
                    .privateData());
    if (terms == null) {
      throw new IllegalStateException("the peer of " + endpoint + " is not a RequestServer");
    }
    limit = terms.limit();
    messageSize = terms.messageSize();
    for (int i = 0; i < limit; i++) {
      free[freeCount++] = i;
    }
    end = new ClientEnd(toString(), endpoint);
    leak = new LeakReport(toString());
    leak.watch(this);
    settings
        .keepAlive()
        .ifPresent(
            interval -> {
              Duration atMost = interval.plus(settings.keepAliveAnswer());
              keepAlive =
                  KeepAlive.start(
                      toString(),
                      interval,
                      () -> completed,
                      silent -> requireAnswer(silent, atMost));
            });
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
    return settings.resolve(server).establish(endpoint -> new RequestClient(endpoint, settings));
  }

  /** {@return the maximum number of requests under way: the smaller limit of both ends} */
  public int limit() {
    return limit;
  }

  /** {@return the maximum size of a request and of an answer, in bytes} */
  public int messageSize() {
    return messageSize;
  }

  /**
   * {@return the protection domain of the connection, to register memory for {@link
   * #call(MemoryRegion, long, long, MemorySegment, Duration) large requests}}
   */
  public ProtectionDomain domain() {
    return endpoint.id().domain();
  }

  /**
   * Sends a request, and waits for its answer.
   *
   * @param request the bytes, at most {@link #messageSize}
   * @param timeout the maximum time to wait
   * @return the answer
   * @throws RequestFailedException if the server's handler failed
   * @throws RdmaTimeoutException if the timeout expires; the server may have processed the request
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if the connection has failed
   * @throws InterruptedException if the thread is interrupted
   */
  public byte[] call(byte[] request, Duration timeout) throws InterruptedException {
    RequestSlot slot = exchange(bytes(request), null, timeout);
    try {
      return queues.answer(slot);
    } finally {
      release(slot);
    }
  }

  /**
   * Sends a request, and waits for its answer; allocates nothing while it {@linkplain
   * ConnectionSettings#withSpin polls}.
   *
   * @param request the bytes, at most {@link #messageSize}
   * @param answer memory for the answer
   * @param timeout the maximum time to wait
   * @return the length of the answer in bytes
   * @throws IndexOutOfBoundsException if the answer is longer than its memory; it is lost
   * @throws RdmaException as {@link #call(byte[], Duration)}
   * @throws InterruptedException if the thread is interrupted
   */
  public int call(MemorySegment request, MemorySegment answer, Duration timeout)
      throws InterruptedException {
    return take(exchange(request, null, timeout), answer);
  }

  /**
   * Sends a request of any size, which the server reads from registered memory (RDMA read), and
   * waits for its answer.
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
  public int call(
      MemoryRegion region, long offset, long length, MemorySegment answer, Duration timeout)
      throws InterruptedException {
    long address = RemoteMemory.of(region).addressOf(offset, length);
    if (!region.domain().isOneWith(domain())) {
      throw new IllegalArgumentException(region + " is of another protection domain than " + this);
    }
    RemoteMemory large = RemoteMemory.at(address, length, region.rkey());
    return take(exchange(MemorySegment.NULL, large, timeout), answer);
  }

  /**
   * Sends a request, and returns a future of its answer. Waits only while the limit of requests
   * under way is reached.
   *
   * @param request the bytes, at most {@link #messageSize}; they are copied
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
    MemorySegment bytes = bytes(request);
    requireFit(bytes);
    long start = Time.now();
    RequestSlot slot = acquire(start, timeout);
    CompletableFuture<byte[]> future = new CompletableFuture<>();
    slot.deadline = start + nanos(timeout);
    slot.timeout = timeout;
    send(slot, bytes, null, null, future);
    if (submitted.getAndIncrement() == 0) {
      Thread.ofVirtual().name("answers of " + this).start(this::readForFutures);
    }
    return future;
  }

  private static MemorySegment bytes(byte[] request) {
    return MemorySegment.ofArray(Objects.requireNonNull(request, "request"));
  }

  private void requireFit(MemorySegment request) {
    if (request.byteSize() > messageSize) {
      throw new IllegalArgumentException(
          "request of %d bytes exceeds the maximum message size of %s: %d; a larger one is sent as a memory region"
              .formatted(request.byteSize(), this, messageSize));
    }
  }

  private static long nanos(Duration timeout) {
    return Math.clamp(TimeUnit.NANOSECONDS.convert(timeout), 0, Long.MAX_VALUE / 2);
  }

  /** Sends a request, and returns its slot with the answer, to be released. */
  private RequestSlot exchange(
      MemorySegment request, @Nullable RemoteMemory large, Duration timeout)
      throws InterruptedException {
    requireFit(request);
    long start = Time.now();
    RequestSlot slot = acquire(start, timeout);
    send(slot, request, large, Thread.currentThread(), null);
    try {
      await(slot, start, timeout);
      return slot;
    } catch (Throwable t) {
      abandon(slot);
      throw t;
    }
  }

  /** Takes a free slot, after waiting for one. */
  private RequestSlot acquire(long start, Duration timeout) throws InterruptedException {
    long nanos = nanos(timeout);
    long left = Math.max(1, nanos); // Late answers may be there, unread: looks once in any case.
    while (true) {
      end.requireNone();
      try (var _ = lock.hold()) {
        if (freeCount > 0) {
          return slots[free[--freeCount]];
        }
      }
      if (left <= 0) {
        throw new RdmaTimeoutException(
            limit + " requests are under way over " + this + ", the limit", timeout);
      }
      left = nanos - (Time.now() - start);
      if (!tryRead(Math.max(0, left))) {
        awaitFreed(left);
      }
    }
  }

  @SuppressWarnings("WaitNotInLoop") // The caller's loop.
  private void awaitFreed(long left) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      if (freeCount == 0) {
        long _ = Time.await(freed, Math.min(left, SLICE_NANOS));
      }
    } finally {
      lock.unlock();
    }
  }

  /** Sends a request; if this fails, its slot is free again. */
  private void send(
      RequestSlot slot,
      MemorySegment request,
      @Nullable RemoteMemory large,
      @Nullable Thread waiter,
      @Nullable CompletableFuture<byte[]> future) {
    boolean posted = false;
    lock.lock();
    try {
      if (!end.isKnown()) { // Otherwise endAll() has passed the slot.
        queues.send(slot, request, large);
        sending++;
        posted = true;
        slot.uses = 2;
        slot.answerIsDue = true;
        slot.isAnswered = false;
        slot.waiter = waiter;
        slot.future = future;
      }
    } finally {
      if (!posted) {
        free(slot);
      }
      lock.unlock();
    }
    if (!posted) {
      throw end.reason();
    }
  }

  private void free(RequestSlot slot) {
    free[freeCount++] = slot.index;
    freed.signal();
  }

  /** Waits for the answer, and reads completions for all threads if no other thread does. */
  private void await(RequestSlot slot, long start, Duration timeout) throws InterruptedException {
    long nanos = nanos(timeout);
    while (!slot.isAnswered) {
      end.requireNone();
      long left = nanos - (Time.now() - start);
      if (left <= 0) {
        throw new RdmaTimeoutException("a call over " + this, timeout);
      }
      if (reading.tryLock()) {
        try {
          if (!slot.isAnswered) {
            read(left);
          }
        } finally {
          endReading();
        }
      } else {
        Time.park(this, Math.min(left, SLICE_NANOS));
        if (Thread.interrupted()) {
          throw new InterruptedException();
        }
      }
    }
  }

  /** Leaves a slot to its late answer. */
  private void abandon(RequestSlot slot) {
    try (var _ = lock.hold()) {
      slot.waiter = null;
      if (!slot.answerIsDue) {
        releaseLocked(slot);
      }
    }
  }

  private int take(RequestSlot slot, MemorySegment answer) {
    try {
      return queues.copyAnswer(slot, answer);
    } finally {
      release(slot);
    }
  }

  private void release(RequestSlot slot) {
    try (var _ = lock.hold()) {
      slot.waiter = null;
      releaseLocked(slot);
    }
  }

  /** Posts the receive request of an answer again, which is no longer used. */
  private void releaseLocked(RequestSlot slot) {
    post(slot.receive);
    endUse(slot);
  }

  private void post(int receive) {
    if (!end.isKnown()) {
      queues.repost(receive);
    }
  }

  private void endUse(RequestSlot slot) {
    slot.uses--;
    if (slot.uses == 0) {
      free(slot);
    }
  }

  // Reading completions

  /** Reads completions; returns false if another thread does. */
  private boolean tryRead(long nanos) throws InterruptedException {
    if (!reading.tryLock()) {
      return false;
    }
    try {
      read(nanos);
      return true;
    } finally {
      endReading();
    }
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // Under the lock.
  private void read(long nanos) throws InterruptedException {
    int count =
        queues.waiter().poll(completions, nanos < SLICE_NANOS ? Duration.ofNanos(nanos) : SLICE);
    for (int i = 0; i < count; i++) {
      if (!completions.isSuccess(i)) {
        end.fail(new WorkRequestException("a request over " + this, completions, i));
        endAll(null);
        return;
      }
      try (var _ = lock.hold()) {
        long id = completions.id(i);
        completed++;
        if (id == PROBE) {
          isProbed = false;
        } else if (id >= ClientQueues.SEND) {
          sending--;
          endUse(slots[(int) (id - ClientQueues.SEND)]);
        } else {
          arrived((int) id, completions.byteLength(i));
        }
      }
    }
  }

  /** Lets another thread read that waits. */
  @SuppressWarnings("ReferenceEquality")
  private void endReading() {
    reading.unlock();
    try (var _ = lock.hold()) {
      for (RequestSlot slot : slots) {
        Thread waiter = slot.waiter;
        if (waiter != null && !slot.isAnswered && waiter != Thread.currentThread()) {
          LockSupport.unpark(waiter);
          return;
        }
      }
    }
  }

  /** An answer that nobody waits for, or that was not asked for, is dropped. */
  private void arrived(int receive, long length) {
    RequestSlot slot = slotOf(receive, length);
    if (slot == null) {
      post(receive);
      return;
    }
    slot.receive = receive;
    slot.length = (int) length - RequestFrame.HEADER;
    slot.answerIsDue = false;
    if (slot.waiter != null) {
      slot.isAnswered = true;
      LockSupport.unpark(slot.waiter);
      return;
    }
    CompletableFuture<byte[]> future = slot.future;
    if (future != null) {
      complete(future, slot);
      endFuture(slot);
    }
    releaseLocked(slot);
  }

  private @Nullable RequestSlot slotOf(int receive, long length) {
    int index = length < RequestFrame.HEADER ? -1 : queues.slot(receive);
    if (index < 0 || index >= limit) {
      return null;
    }
    RequestSlot slot = slots[index];
    return slot.answerIsDue && queues.sequence(receive) == slot.sequence ? slot : null;
  }

  private void complete(CompletableFuture<byte[]> future, RequestSlot slot) {
    try {
      byte[] bytes = queues.answer(slot);
      inVirtualThread(() -> future.complete(bytes));
    } catch (Throwable t) { // RequestFailedException, or no memory for the bytes.
      inVirtualThread(() -> future.completeExceptionally(t));
    }
  }

  private void endFuture(RequestSlot slot) {
    slot.future = null;
    submitted.getAndDecrement();
  }

  /** The dependents of a future are not run by the thread that reads. */
  private static void inVirtualThread(Runnable action) {
    Thread.ofVirtual().start(action);
  }

  private void readForFutures() {
    try {
      while (submitted.get() > 0 && !end.isKnown()) {
        if (Time.tryLock(reading, SLICE_NANOS)) {
          try {
            read(SLICE_NANOS);
          } finally {
            endReading();
          }
        }
        expire();
      }
    } catch (InterruptedException e) {
      throw new AssertionError("the thread is not accessible to callers", e);
    } catch (RuntimeException | Error e) { // Completions cannot be read: close(), lost device.
      endAll(e);
    }
  }

  /**
   * Writes zero bytes to the memory of a silent server, which its device acknowledges, unless
   * requests are outstanding: the device retries these. Otherwise the connection ends.
   */
  private boolean requireAnswer(Duration silent, Duration limit) throws InterruptedException {
    boolean _ = tryRead(0);
    try (var _ = lock.hold()) {
      if (end.isKnown()) {
        return true;
      }
      if (!isProbed) {
        isProbed = sending == 0 && queues.post(RequestFrame.emptyWrite(PROBE));
        return true;
      }
    }
    if (silent.compareTo(limit) >= 0) {
      end.endBySilence(
          new RdmaTimeoutException(
              "the server was silent for %d ms, its device does not acknowledge a keep-alive"
                  .formatted(silent.toMillis()),
              limit)); // The write is flushed, which ends all calls.
    }
    return true;
  }

  /** Gives up the futures whose time is over, and those that were cancelled. */
  private void expire() {
    long now = Time.now();
    try (var _ = lock.hold()) {
      for (RequestSlot slot : slots) {
        CompletableFuture<byte[]> future = slot.future;
        if (future != null && (future.isDone() || now - slot.deadline >= 0)) {
          Duration timeout = slot.timeout;
          inVirtualThread(
              () ->
                  future.completeExceptionally(
                      new RdmaTimeoutException("a call over " + this, timeout)));
          endFuture(slot);
        }
      }
    }
  }

  // The end

  /** Ends all calls with a reason, or with that of the connection. */
  private void endAll(@Nullable Throwable reason) {
    try (var _ = lock.hold()) {
      freed.signalAll();
      for (RequestSlot slot : slots) {
        LockSupport.unpark(slot.waiter);
        CompletableFuture<byte[]> future = slot.future;
        if (future != null) {
          inVirtualThread(
              () ->
                  future.completeExceptionally(
                      reason == null || end.isKnown() ? end.reason() : reason));
          endFuture(slot);
        }
      }
    }
  }

  /** Disconnects. Calls of other threads end with {@link IllegalStateException}. */
  @Override
  public void close() {
    end.close();
    if (keepAlive != null) {
      keepAlive.stop();
    }
    endpoint.id().endQuietly(Inside.LIBRARY);
    endAll(null);
    boolean nobodyReads =
        Uninterrupted.acquire(reading, Deadline.after(CLOSING_TIME)::remainingNanos);
    try {
      endpoint.close();
      leak.closed();
    } finally {
      if (nobodyReads) {
        reading.unlock();
      }
    }
  }

  @Override
  public String toString() {
    return "client of " + endpoint.id();
  }
}
