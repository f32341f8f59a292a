package dev.verbena.cm;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.internal.AfterFailure;
import dev.verbena.internal.KeepAlive;
import dev.verbena.internal.LeakReport;
import dev.verbena.internal.access.VerbsAccess;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionStatus;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairCapacity;
import dev.verbena.verbs.QueuePairType;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.WorkRequestException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
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
 * <p><b>Limit.</b> {@link ConnectionSettings#withSends} limits the requests under way, and both
 * ends have as many receive requests: no message finds none (RNR). A call waits while the limit is
 * reached. A request whose deadline passed, or that was cancelled, counts until its late answer
 * arrives, which is dropped.
 *
 * <p><b>Threads.</b> Any thread may call any method. One of the threads that wait reads the
 * completions for all; only for {@link #submit} a virtual thread does.
 *
 * <p><b>Allocation.</b> {@link #call(MemorySegment, MemorySegment, Duration)} allocates nothing on
 * the Java heap while it polls: see {@link ConnectionSettings#withSpin}. A wait for a completion
 * event, for a free place or for a lock that another thread holds allocates small objects. With
 * software devices, a thread that polls does the work of the other end, too.
 *
 * <p><b>End.</b> When the connection ends, all requests under way and all later ones fail with its
 * reason.
 */
public final class RequestClient implements AutoCloseable {
  private static final long SLICE_NANOS = 20_000_000;
  private static final Duration SLICE = Duration.ofNanos(SLICE_NANOS);
  private static final Duration CLOSING_TIME = Duration.ofSeconds(5);

  /** The ids of send requests are those of their slots and this; those of receives are smaller. */
  private static final long SEND = 1L << 32;

  /** The id of a keep-alive. */
  private static final long PROBE = 1L << 33;

  /** A place for a request under way. Guarded by the lock, but for the volatile field. */
  private static final class Slot {
    private final int index;
    private int sequence;

    /** Whether the answer has not arrived. */
    private boolean answerIsDue;

    /** What keeps the slot from being free: its send completion, and its answer. */
    private int uses;

    /** The receive request of the answer, and the length of the answer. */
    private int receive;

    private int length;
    private long deadline;
    private Duration timeout = Duration.ZERO;
    private @Nullable Thread waiter;
    private @Nullable CompletableFuture<byte[]> future;

    /** Whether the answer arrived for a thread that waits. */
    private volatile boolean isAnswered;

    Slot(int index) {
      this.index = index;
    }
  }

  private final Endpoint endpoint;
  private final int limit;
  private final int messageSize;
  private final long stride;
  private final CompletionWaiter completionWaiter;
  private final Completions completions;
  private final QueuePair queuePair;
  private final MemoryRegion requests;
  private final MemoryRegion answers;
  private final SendList sends;
  private final ReceiveList receives;
  private final Slot[] slots;
  private final int[] free;
  private int freeCount;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition freed = lock.newCondition();

  /** Held by the thread that reads completions. */
  private final ReentrantLock reading = new ReentrantLock();

  /** How many requests completed, and whether a keep-alive is outstanding; guarded by the lock. */
  private long completed;

  private boolean isProbed;

  /** The sends that have not completed; guarded by the lock. */
  private int sending;

  private final AtomicInteger submitted = new AtomicInteger();
  private final LeakReport leak;
  private volatile @Nullable WorkRequestException failure;

  /** Why the keep-alive ended the connection, or null. */
  private volatile @Nullable RdmaTimeoutException silence;

  private @Nullable KeepAlive keepAlive;
  private volatile boolean closed;

  private RequestClient(Endpoint endpoint, ConnectionSettings settings)
      throws InterruptedException {
    this.endpoint = endpoint;
    ProtectionDomain domain = endpoint.id().domain();
    int most = settings.sends();
    CompletionChannel channel = domain.context().createCompletionChannel();
    endpoint.id().queues().belongToIdentifier(channel, domain.context());
    CompletionQueue queue =
        domain.context().completionQueue(2 * most + 1).channel(channel).create();
    endpoint.id().queues().belongToIdentifier(queue, domain.context(), channel);
    completionWaiter = new CompletionWaiter(queue, settings.spin());
    completions = new Completions(Math.min(16, 2 * most));
    queuePair =
        endpoint
            .id()
            .queues()
            .createQueuePair(
                domain
                    .queuePair(QueuePairType.RC)
                    .completions(queue)
                    .capacity(QueuePairCapacity.of(most + 1).withReceiveRequests(most)));
    stride = (RequestFrame.HEADER + Math.max(RemoteMemory.SIZE, settings.messageSize()) + 7L) & -8L;
    requests = domain.allocateMemory(most * stride, AccessFlag.LOCAL_WRITE);
    answers = domain.allocateMemory(most * stride, AccessFlag.LOCAL_WRITE);
    sends = new SendList(most, 1);
    receives = new ReceiveList(most, 1);
    slots = new Slot[most];
    free = new int[most];
    for (int i = 0; i < most; i++) {
      slots[i] = new Slot(i);
      receives.id(i, i);
      receives.local(i, answers, i * stride, stride);
    }
    if (queuePair.post(receives) < most) {
      throw new IllegalStateException(queuePair + " takes fewer receive requests than " + most);
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
    leak = new LeakReport(toString());
    leak.watch(this);
    settings.keepAlive().ifPresent(interval -> keepAlive(interval, settings.keepAliveAnswer()));
  }

  /**
   * Connects to a server, with the default settings.
   *
   * @param server the address of the server
   * @return a client, to be closed by the caller
   * @throws ConnectionException if the server cannot be reached or has no room
   * @throws RdmaTimeoutException if the timeout of the settings expires
   * @throws InterruptedException if the thread is interrupted
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
    Endpoint endpoint = Endpoint.resolve(server, settings);
    try {
      return new RequestClient(endpoint, settings);
    } catch (Throwable t) {
      AfterFailure.close(t, endpoint::close);
      throw t;
    }
  }

  /**
   * Returns the maximum number of requests under way.
   *
   * @return the smaller limit of both ends
   */
  public int limit() {
    return limit;
  }

  /**
   * Returns the maximum size of a request and of an answer.
   *
   * @return the number of bytes
   */
  public int messageSize() {
    return messageSize;
  }

  /**
   * Returns the protection domain of the connection, to register memory for {@link
   * #call(MemoryRegion, long, long, MemorySegment, Duration) large requests}.
   *
   * @return the domain
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
    Slot slot = exchange(bytes(request), false, 0, timeout);
    try {
      return answer(slot);
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
   * @throws RequestFailedException if the server's handler failed
   * @throws RdmaTimeoutException if the timeout expires; the server may have processed the request
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if the connection has failed
   * @throws InterruptedException if the thread is interrupted
   */
  public int call(MemorySegment request, MemorySegment answer, Duration timeout)
      throws InterruptedException {
    return take(exchange(request, false, 0, timeout), answer);
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
   * @throws RequestFailedException if the server's handler failed, or the request is too large for
   *     the server
   * @throws RdmaTimeoutException if the timeout expires
   * @throws ConnectionException if the connection has ended
   * @throws WorkRequestException if the connection has failed
   * @throws InterruptedException if the thread is interrupted
   */
  public int call(
      MemoryRegion region, long offset, long length, MemorySegment answer, Duration timeout)
      throws InterruptedException {
    Objects.checkFromIndexSize(offset, length, region.length());
    if (!VerbsAccess.get().isOneWith(region.domain(), domain())) {
      throw new IllegalArgumentException(region + " is of another protection domain than " + this);
    }
    MemorySegment large = region.memory().asSlice(offset, length);
    return take(exchange(large, true, region.rkey(), timeout), answer);
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
    long start = System.nanoTime();
    Slot slot = acquire(start, timeout);
    CompletableFuture<byte[]> future = new CompletableFuture<>();
    slot.deadline = start + nanos(timeout);
    slot.timeout = timeout;
    send(slot, bytes, false, 0, null, future);
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
  private Slot exchange(MemorySegment request, boolean isLarge, int rkey, Duration timeout)
      throws InterruptedException {
    if (!isLarge) {
      requireFit(request);
    }
    long start = System.nanoTime();
    Slot slot = acquire(start, timeout);
    send(slot, request, isLarge, rkey, Thread.currentThread(), null);
    try {
      await(slot, start, timeout);
      return slot;
    } catch (Throwable t) {
      abandon(slot);
      throw t;
    }
  }

  /** Takes a free slot, after waiting for one. */
  private Slot acquire(long start, Duration timeout) throws InterruptedException {
    long nanos = nanos(timeout);
    long left = nanos;
    while (true) {
      requireUsable();
      lock.lock();
      try {
        if (freeCount > 0) {
          return slots[free[--freeCount]];
        }
      } finally {
        lock.unlock();
      }
      if (left < 0) {
        throw new RdmaTimeoutException(
            limit + " requests are under way over " + this + ", the limit", timeout);
      }
      left = nanos - (System.nanoTime() - start);
      if (reading.tryLock()) {
        try {
          read(Math.max(0, left)); // Once in any case: late answers may be there, unread.
        } finally {
          endReading();
        }
      } else {
        awaitFreed(left);
      }
    }
  }

  @SuppressWarnings("WaitNotInLoop") // The caller's loop.
  private void awaitFreed(long left) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      if (freeCount == 0) {
        long _ = freed.awaitNanos(Math.min(left, SLICE_NANOS));
      }
    } finally {
      lock.unlock();
    }
  }

  /** Sends a request; if this fails, its slot is free again. */
  private void send(
      Slot slot,
      MemorySegment request,
      boolean isLarge,
      int rkey,
      @Nullable Thread waiter,
      @Nullable CompletableFuture<byte[]> future) {
    boolean posted = false;
    lock.lock();
    try {
      if (!closed && failure == null) { // Otherwise endAll() has passed the slot.
        post(slot, request, isLarge, rkey);
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
      throw reason();
    }
  }

  private void post(Slot slot, MemorySegment request, boolean isLarge, int rkey) {
    long at = slot.index * stride;
    MemorySegment memory = requests.memory();
    long length = request.byteSize();
    slot.sequence++;
    RequestFrame.write(
        memory,
        at,
        slot.index,
        slot.sequence,
        isLarge ? RequestFrame.LARGE_REQUEST : RequestFrame.REQUEST);
    if (isLarge) {
      length = RequestFrame.writeRemote(memory, at, request.address(), length, rkey);
    } else {
      MemorySegment.copy(request, 0, memory, at + RequestFrame.HEADER, length);
    }
    sends
        .send(slot.index)
        .id(SEND + slot.index)
        .local(requests, at, RequestFrame.HEADER + length)
        .signaled();
    if (queuePair.post(sends, slot.index, 1) == 0) {
      throw new IllegalStateException(queuePair + " is full, although a slot was free");
    }
    sending++;
  }

  private void free(Slot slot) {
    free[freeCount++] = slot.index;
    freed.signal();
  }

  /** Waits for the answer, and reads completions for all threads if no other thread does. */
  private void await(Slot slot, long start, Duration timeout) throws InterruptedException {
    long nanos = nanos(timeout);
    while (!slot.isAnswered) {
      requireUsable();
      long left = nanos - (System.nanoTime() - start);
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
        LockSupport.parkNanos(this, Math.min(left, SLICE_NANOS));
        if (Thread.interrupted()) {
          throw new InterruptedException();
        }
      }
    }
  }

  /** Leaves a slot to its late answer. */
  private void abandon(Slot slot) {
    lock.lock();
    try {
      slot.waiter = null;
      if (!slot.answerIsDue) {
        releaseLocked(slot);
      }
    } finally {
      lock.unlock();
    }
  }

  private int take(Slot slot, MemorySegment answer) {
    try {
      long at = slot.receive * stride;
      if (RequestFrame.kind(answers.memory(), at) == RequestFrame.FAILURE) {
        throw new RequestFailedException(new String(answer(slot), StandardCharsets.UTF_8));
      }
      Objects.checkFromIndexSize(0, slot.length, answer.byteSize());
      MemorySegment.copy(answers.memory(), at + RequestFrame.HEADER, answer, 0, slot.length);
      return slot.length;
    } finally {
      release(slot);
    }
  }

  /** Returns a copy of an answer. */
  private byte[] answer(Slot slot) {
    long at = slot.receive * stride;
    byte[] bytes =
        answers
            .memory()
            .asSlice(at + RequestFrame.HEADER, slot.length)
            .toArray(ValueLayout.JAVA_BYTE);
    if (RequestFrame.kind(answers.memory(), at) == RequestFrame.FAILURE) {
      throw new RequestFailedException(new String(bytes, StandardCharsets.UTF_8));
    }
    return bytes;
  }

  private void release(Slot slot) {
    lock.lock();
    try {
      slot.waiter = null;
      releaseLocked(slot);
    } finally {
      lock.unlock();
    }
  }

  /** Posts the receive request of an answer again, which is no longer used. */
  private void releaseLocked(Slot slot) {
    post(slot.receive);
    endUse(slot);
  }

  private void post(int receive) {
    if (closed || failure != null) {
      return;
    }
    if (queuePair.post(receives, receive, 1) == 0) {
      throw new IllegalStateException(queuePair + " is full of receive requests");
    }
  }

  private void endUse(Slot slot) {
    slot.uses--;
    if (slot.uses == 0) {
      free(slot);
    }
  }

  // Reading completions

  private void read(long nanos) throws InterruptedException {
    int count =
        completionWaiter.poll(completions, nanos < SLICE_NANOS ? Duration.ofNanos(nanos) : SLICE);
    for (int i = 0; i < count; i++) {
      if (!completions.isSuccess(i)) {
        fail(i);
        return;
      }
      lock.lock();
      try {
        long id = completions.id(i);
        completed++;
        if (id == PROBE) {
          isProbed = false;
        } else if (id >= SEND) {
          sending--;
          endUse(slots[(int) (id - SEND)]);
        } else {
          arrived((int) id, completions.byteLength(i));
        }
      } finally {
        lock.unlock();
      }
    }
  }

  /** Lets another thread read that waits. */
  @SuppressWarnings("ReferenceEquality")
  private void endReading() {
    reading.unlock();
    lock.lock();
    try {
      for (Slot slot : slots) {
        Thread waiter = slot.waiter;
        if (waiter != null && !slot.isAnswered && waiter != Thread.currentThread()) {
          LockSupport.unpark(waiter);
          return;
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** An answer that nobody waits for, or that was not asked for, is dropped. */
  private void arrived(int receive, long length) {
    Slot slot = slotOf(receive, length);
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

  private @Nullable Slot slotOf(int receive, long length) {
    MemorySegment memory = answers.memory();
    long at = receive * stride;
    int index = length < RequestFrame.HEADER ? -1 : RequestFrame.slot(memory, at);
    if (index < 0 || index >= limit) {
      return null;
    }
    Slot slot = slots[index];
    return slot.answerIsDue && RequestFrame.sequence(memory, at) == slot.sequence ? slot : null;
  }

  private void complete(CompletableFuture<byte[]> future, Slot slot) {
    try {
      byte[] bytes = answer(slot);
      inVirtualThread(() -> future.complete(bytes));
    } catch (Throwable t) { // RequestFailedException, or no memory for the bytes.
      inVirtualThread(() -> future.completeExceptionally(t));
    }
  }

  private void endFuture(Slot slot) {
    slot.future = null;
    submitted.getAndDecrement();
  }

  /** The dependents of a future are not run by the thread that reads. */
  private static void inVirtualThread(Runnable action) {
    Thread.ofVirtual().start(action);
  }

  private void readForFutures() {
    try {
      while (submitted.get() > 0 && !closed && failure == null) {
        if (reading.tryLock(SLICE_NANOS, TimeUnit.NANOSECONDS)) {
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

  private void keepAlive(Duration interval, Duration answer) {
    Duration limit = interval.plus(answer);
    keepAlive =
        KeepAlive.start(
            toString(), interval, this::completed, silent -> requireAnswer(silent, limit));
  }

  private long completed() {
    lock.lock();
    try {
      return completed;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Writes zero bytes to the memory of a silent server, which its device acknowledges, unless
   * requests are outstanding: the device retries these. Otherwise the connection ends.
   */
  private boolean requireAnswer(Duration silent, Duration limit) throws InterruptedException {
    if (reading.tryLock()) {
      try {
        read(0);
      } finally {
        endReading();
      }
    }
    lock.lock();
    try {
      if (closed || failure != null) {
        return true;
      }
      if (!isProbed) {
        if (sending > 0) {
          return true;
        }
        SendList nothing = new SendList(1, 1);
        nothing.write(0).id(PROBE).remote(0, 0).signaled();
        isProbed = queuePair.post(nothing) == 1;
        return true;
      }
    } finally {
      lock.unlock();
    }
    if (silent.compareTo(limit) >= 0) {
      silence =
          new RdmaTimeoutException(
              "the server was silent for %d ms, its device does not acknowledge a keep-alive"
                  .formatted(silent.toMillis()),
              limit);
      endpoint.id().endQuietly(); // The write is flushed, which ends all calls.
    }
    return true;
  }

  /** Gives up the futures whose time is over, and those that were cancelled. */
  private void expire() {
    long now = System.nanoTime();
    lock.lock();
    try {
      for (Slot slot : slots) {
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
    } finally {
      lock.unlock();
    }
  }

  // The end

  private void fail(int index) {
    if (failure == null) {
      failure = new WorkRequestException("a request over " + this, completions, index);
    }
    endAll(null);
  }

  /** Ends all calls with a reason, or with that of the connection. */
  private void endAll(@Nullable Throwable reason) {
    lock.lock();
    try {
      freed.signalAll();
      for (Slot slot : slots) {
        LockSupport.unpark(slot.waiter);
        CompletableFuture<byte[]> future = slot.future;
        if (future != null) {
          inVirtualThread(
              () ->
                  future.completeExceptionally(
                      reason == null || closed || failure != null ? reason() : reason));
          endFuture(slot);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  private void requireUsable() {
    if (closed || failure != null) {
      throw reason();
    }
  }

  /** Returns why the connection has ended; waits for the event, which may follow a failure. */
  private RuntimeException reason() {
    WorkRequestException first = failure;
    if (closed || first == null) {
      return new IllegalStateException(this + " is closed");
    }
    RdmaTimeoutException unanswered = silence;
    if (unanswered != null) {
      return new RdmaTimeoutException(
          "a call over " + this + ": " + unanswered.getMessage(), unanswered.timeout());
    }
    Optional<ConnectionEvent> end = endpoint.end();
    if (end.isEmpty() && first.status() == CompletionStatus.WR_FLUSH_ERR) {
      end = endpoint.awaitEndUninterruptibly(Deadline.after(CLOSING_TIME));
    }
    return end.isPresent() && first.status() == CompletionStatus.WR_FLUSH_ERR
        ? new ConnectionException("a call over " + this, end.get())
        : VerbsAccess.get().during(first, "a call over " + this);
  }

  /** Disconnects. Calls of other threads end with {@link IllegalStateException}. */
  @Override
  public void close() {
    closed = true;
    if (keepAlive != null) {
      keepAlive.stop();
    }
    endpoint.id().endQuietly();
    endAll(null);
    boolean nobodyReads = Uninterrupted.acquire(reading, Deadline.after(CLOSING_TIME));
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
