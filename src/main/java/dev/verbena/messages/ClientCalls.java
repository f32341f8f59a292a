package dev.verbena.messages;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.internal.MessageCounter;
import dev.verbena.internal.Tally;
import dev.verbena.internal.io.ServiceLoop;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.WorkRequestException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The calls under way of a client: sends requests, and gives each answer to the thread or the
 * callback that waits for it. A slot is free again when its answer has arrived, also if nobody
 * waits for it any more: then the server says so when the time of the call is over.
 */
final class ClientCalls implements SharedReading.Reader {
  /** The id of a keep-alive. */
  private static final long PROBE = 1L << 33;

  /** Times that are longer are not told apart. */
  private static final long MOST = Long.MAX_VALUE / 2;

  /** Between two looks at the calls of a client that is closed. */
  private static final long PAUSE_NANOS = 100_000;

  private static final Duration LONGEST = Duration.ofNanos(MOST);

  private final String client;
  private final ClientEnd end;
  private final MessageQueues queues;
  private final int limit;
  private final CallSlot[] all;
  private final CallSlots slots;
  private final SharedReading reading;
  private final ScopedLock lock = new ScopedLock();

  /** Written under the lock, but for what {@link CallSlots} counts. */
  final Tally tally = new Tally();

  // Guarded by the lock.

  /** The number of slots whose answers have not arrived. */
  private int due;

  /** The slots whose requests wait for room in the ring. */
  private final Deque<CallSlot> unsent = new ArrayDeque<>();

  private boolean isProbed;

  /** The calls with callbacks; no deadline of them is before the first. */
  private int submitted;

  private long firstDeadline;

  /** What the callback has that is called, whose slot is free already. */
  private Answer spare;

  /** Whether a callback runs. */
  private boolean isCalling;

  /** How many completions were read; changes under the lock. */
  private volatile long completed;

  /** Reads for callbacks; null before the first one. */
  private volatile @Nullable Thread reader;

  /** Whether it waits for a call; and when a thread of the program has read instead. */
  private volatile boolean isIdle;

  private volatile long polledAt = Time.now() - SharedReading.SLICE_NANOS;

  /**
   * Creates the calls of a connection, which is established.
   *
   * @param queues with one more receive request than calls: one for the answer that a callback has
   */
  ClientCalls(
      String client,
      ClientEnd end,
      MessageQueues queues,
      CompletionWaiter waiter,
      RegionPool pool,
      int limit) {
    this.client = client;
    this.end = end;
    this.queues = queues;
    this.limit = limit;
    all = new CallSlot[limit];
    for (int i = 0; i < limit; i++) {
      all[i] = new CallSlot(i, new Answer(client, queues.incoming()));
      all[i].id = i;
    }
    spare = new Answer(client, queues.incoming());
    reading = new SharedReading(waiter, Math.min(64, 2 * limit), this);
    slots = new CallSlots(client, end, pool, reading, all, this::due, tally);
  }

  static long nanos(Duration timeout) {
    return timeout.isNegative() ? 0 : timeout.compareTo(LONGEST) < 0 ? timeout.toNanos() : MOST;
  }

  CallSlots slots() {
    return slots;
  }

  private int due() {
    try (var _ = lock.hold()) {
      return due;
    }
  }

  // Beginning

  /**
   * Sends a request; if this fails, its slot is free again.
   *
   * @param request the bytes; those of a large request are elsewhere
   * @param callback null for the thread of the caller
   */
  void send(
      CallSlot slot, MemorySegment request, long start, RequestClient.@Nullable Callback callback) {
    boolean isPosted = false;
    RuntimeException failure = null;
    lock.lock();
    try {
      if (!end.isKnown()) { // Otherwise endAll() has passed the slot.
        slot.id += limit;
        slot.length = write(slot, request, start);
        unsent.add(slot);
        failure = tryPost();
        if (failure == null) {
          expect(slot, start, callback);
          isPosted = true;
        }
      }
    } finally {
      if (!isPosted) {
        slots.free(slot);
      }
      lock.unlock();
    }
    if (failure != null) {
      end.failPost(failure);
      endAll(null);
    }
    if (!isPosted) {
      throw end.reason();
    }
    if (callback != null) {
      letRead(start);
    }
  }

  /** Posts the requests for which there is room; returns why that fails, or null. */
  private @Nullable RuntimeException tryPost() {
    try {
      while (!unsent.isEmpty() && queues.sends().room() > 0) {
        CallSlot slot = unsent.remove();
        MessageSlots memory = queues.outgoing();
        queues.sends().send(slot.index, memory.region(), memory.offset(slot.index), slot.length);
      }
      queues.sends().post();
      return null;
    } catch (RuntimeException e) {
      return e;
    }
  }

  private void expect(CallSlot slot, long start, RequestClient.@Nullable Callback callback) {
    slot.isDue = true;
    due++;
    tally.add(MessageCounter.CLIENT_REQUESTS, 1);
    slot.isAwaited = true;
    slot.over(false);
    slot.callback = callback;
    slot.waiter = callback == null ? Thread.currentThread() : null;
    if (callback != null) {
      slot.deadline = start + nanos(slot.timeout);
      boolean isFirst = submitted == 0 || slot.deadline - firstDeadline < 0;
      firstDeadline = isFirst ? slot.deadline : firstDeadline;
      submitted++;
    }
  }

  /** Writes the frame of a request; returns its length. */
  private long write(CallSlot slot, MemorySegment request, long start) {
    MemorySegment memory = queues.outgoing().region().memory();
    long at = queues.outgoing().offset(slot.index);
    int kind =
        RequestFrame.REQUEST
            | (slot.large == null ? 0 : RequestFrame.LARGE)
            | (slot.room == null ? 0 : RequestFrame.TARGET);
    long left = nanos(slot.timeout) - (Time.now() - start); // It may have waited for the slot.
    RequestFrame.write(memory, at, slot.id, kind, milliseconds(left));
    long next = write(memory, at + RequestFrame.HEADER, slot.large);
    next = write(memory, next, slot.room);
    if (slot.large == null) {
      MemorySegment.copy(request, 0, memory, next, request.byteSize());
      next += request.byteSize();
    }
    return next - at;
  }

  private static long write(MemorySegment memory, long at, @Nullable RemoteMemory described) {
    if (described == null) {
      return at;
    }
    RequestFrame.writeMemory(memory, at, described.address(), described.length(), described.rkey());
    return at + RequestFrame.MEMORY;
  }

  /** Returns the milliseconds after which the server may give up a request; 0 for never. */
  private static int milliseconds(long nanos) {
    long milliseconds = Math.max(0, nanos) / 1_000_000 + 1;
    return milliseconds > Integer.MAX_VALUE ? 0 : (int) milliseconds;
  }

  // Waiting

  /** Waits for the answer of a slot; leaves the slot to its late answer if that fails. */
  Answer await(CallSlot slot, long start) throws InterruptedException {
    try {
      long left = nanos(slot.timeout) - (Time.now() - start);
      if (left <= 0 || !reading.await(slot, left)) {
        throw late(slot);
      }
      if (isDue(slot)) { // endAll() has woken this thread.
        throw end.reason();
      }
      RuntimeException failure = slot.answer.failure();
      if (failure != null) {
        throw counted(slot.answer, failure);
      }
      return slot.answer;
    } catch (Throwable t) {
      end(slot);
      throw t;
    }
  }

  private RdmaTimeoutException late(CallSlot slot) {
    countTimeout();
    return new RdmaTimeoutException("a call over " + client, slot.timeout);
  }

  /** Counts a request that the server has given up before this end has. */
  private RuntimeException counted(Answer answer, RuntimeException failure) {
    if (answer.isExpiry()) {
      countTimeout();
    }
    return failure;
  }

  private void countTimeout() {
    try (var _ = lock.hold()) {
      tally.add(MessageCounter.CLIENT_TIMEOUTS, 1);
    }
  }

  private boolean isDue(CallSlot slot) {
    try (var _ = lock.hold()) {
      return slot.isDue;
    }
  }

  /** Nobody waits for a slot any more: frees it if its answer has arrived. */
  void end(CallSlot slot) {
    try (var _ = lock.hold()) {
      forget(slot);
      if (!slot.isDue) {
        release(slot);
      }
    }
  }

  private void forget(CallSlot slot) {
    if (slot.callback != null) {
      submitted--;
    }
    slot.isAwaited = false;
    slot.waiter = null;
    slot.callback = null;
  }

  /** Posts the receive request of an answer again, which is no longer used, and frees the slot. */
  private void release(CallSlot slot) {
    post(slot.answer.receive);
    slots.free(slot);
  }

  private void post(int receive) {
    if (!end.isKnown()) {
      queues.receives().add(receive);
      try {
        boolean _ = queues.receives().flush();
      } catch (RuntimeException e) { // Those that were read with it go on to their calls.
        end.failPost(e);
        endAll(null);
      }
    }
  }

  // Reading

  /** Reads what has arrived, or waits for it, and gives up what is too late. */
  void poll(long nanos) throws InterruptedException {
    reading.poll(nanos);
    expire();
  }

  /** Returns whether a callback of the connection asks, which must not wait. */
  boolean isInCallback() {
    return reading.isInCallback();
  }

  /** Does so in a thread of the program. */
  void pollInstead(long nanos) throws InterruptedException {
    poll(nanos);
    polledAt = Time.now();
  }

  @Override
  @SuppressWarnings("NonAtomicVolatileUpdate") // Under the lock.
  public void read(Completions completions) {
    for (int i = 0; i < completions.count(); i++) {
      if (!completions.isSuccess(i)) {
        end.fail(new WorkRequestException("a request over " + client, completions, i));
        endAll(null);
        return;
      }
      RequestClient.Callback callback = null;
      try (var _ = lock.hold()) {
        long id = completions.id(i);
        completed++;
        if (id == PROBE) {
          isProbed = false;
        } else if (id >= PostedSends.FIRST_ID) {
          queues.sends().completed(id, ClientCalls::ignore);
          postUnsent();
        } else {
          callback = arrived((int) id, completions.byteLength(i));
        }
      }
      if (callback != null) {
        call(callback);
      }
    }
  }

  /** Posts requests that wait for room. */
  private void postUnsent() {
    if (!unsent.isEmpty() && !end.isKnown()) {
      RuntimeException failure = tryPost();
      if (failure != null) {
        end.failPost(failure);
        endAll(null);
      }
    }
  }

  /** The memory of a request is free when its answer has arrived. */
  private static void ignore(int tag) {}

  /** Returns the callback to call with the spare answer, or null. */
  private RequestClient.@Nullable Callback arrived(int receive, long length) {
    CallSlot slot = slotOf(receive, length);
    if (slot == null) { // Not asked for.
      post(receive);
      return null;
    }
    tally.add(MessageCounter.CLIENT_ANSWERS, 1);
    slot.isDue = false;
    due--;
    slot.answer.arrived(receive, length);
    RequestClient.Callback callback = slot.callback;
    if (!slot.isAwaited) {
      release(slot);
    } else if (callback == null) {
      slot.over(true);
      LockSupport.unpark(slot.waiter);
    } else {
      Answer answer = slot.answer;
      slot.answer = spare;
      spare = answer;
      isCalling = true;
      forget(slot);
      slots.free(slot); // The callback may send another request.
    }
    return callback;
  }

  private @Nullable CallSlot slotOf(int receive, long length) {
    if (length < RequestFrame.HEADER) {
      return null;
    }
    MessageSlots messages = queues.incoming();
    long id = RequestFrame.id(messages.region().memory(), messages.offset(receive));
    CallSlot slot = id < 0 ? null : all[(int) (id % limit)];
    return slot != null && slot.isDue && slot.id == id ? slot : null;
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // Under the lock.
  private void call(RequestClient.Callback callback) {
    try {
      RuntimeException failure = spare.failure();
      if (failure == null) {
        callback.answered(spare);
      } else {
        callback.failed(counted(spare, failure));
      }
    } catch (Throwable t) { // Of the program, or no memory.
      ServiceLoop.log(t);
    } finally {
      try (var _ = lock.hold()) {
        isCalling = false;
        completed++; // The callback may have taken long.
        slots.giveBack(spare.takePooled());
        post(spare.receive);
      }
    }
  }

  // Callbacks

  /** To wake a virtual thread allocates; it looks by itself while the program polls. */
  private void letRead(long now) {
    Thread thread = reader;
    if (thread != null && !isIdle && now - polledAt < SharedReading.SLICE_NANOS) {
      return;
    }
    if (thread == null) {
      try (var _ = lock.hold()) {
        thread = reader;
        if (thread == null) {
          thread = Thread.ofVirtual().name("answers of " + client).start(this::readForCallbacks);
          reader = thread;
        }
      }
    }
    LockSupport.unpark(thread);
  }

  private void readForCallbacks() {
    try {
      while (!end.isKnown()) {
        boolean _ = Thread.interrupted(); // By a callback: nobody else has this thread.
        if (hasSubmitted()) {
          pollInterrupted();
        } else {
          isIdle = true;
          if (!hasSubmitted()) {
            LockSupport.park(this);
          }
          isIdle = false;
        }
      }
    } catch (RuntimeException | Error e) { // Completions cannot be read: close(), lost device.
      try (var _ = lock.hold()) {
        reader = null; // A call that is begun later starts another one, which fails too.
      }
      endAll(e);
    }
  }

  private void pollInterrupted() {
    try {
      if (Time.now() - polledAt < SharedReading.SLICE_NANOS) {
        Time.park(this, SharedReading.SLICE_NANOS); // Its wake-up would allocate in the program.
      } else {
        poll(SharedReading.SLICE_NANOS);
      }
    } catch (InterruptedException e) {
      // By a callback, too.
    }
  }

  private boolean hasSubmitted() {
    try (var _ = lock.hold()) {
      return submitted > 0;
    }
  }

  /** Gives up the calls with callbacks whose time is over. */
  private void expire() {
    long now = Time.now();
    try (var _ = lock.hold()) {
      if (submitted == 0 || now - firstDeadline < 0) {
        return;
      }
      firstDeadline = now + MOST;
      for (CallSlot slot : all) {
        RequestClient.Callback callback = slot.callback;
        if (callback != null && now - slot.deadline >= 0) {
          fail(slot, callback, late(slot));
        } else if (callback != null && slot.deadline - firstDeadline < 0) {
          firstDeadline = slot.deadline;
        }
      }
    }
  }

  private void fail(CallSlot slot, RequestClient.Callback callback, RuntimeException reason) {
    forget(slot);
    Thread.ofVirtual()
        .name("failure of a call over " + client)
        .start(() -> callback.failed(reason));
  }

  // The end

  /** Returns a number that changes when something was heard of the server. */
  long heard() {
    return completed;
  }

  /**
   * Writes zero bytes to the memory of a silent server, which its device acknowledges; otherwise
   * the connection ends.
   */
  boolean requireAnswer(Duration silent, Duration atMost) throws InterruptedException {
    reading.poll(0);
    boolean _ = Thread.interrupted(); // By a callback, or at the end, which is known before.
    try (var _ = lock.hold()) {
      if (end.isKnown()) {
        return false;
      }
      if (!isProbed) {
        isProbed = queues.probe(PROBE);
        return true;
      }
      if (isCalling) { // What has come since is not read.
        return true;
      }
    }
    if (silent.compareTo(atMost) >= 0) {
      end.endBySilence(
          new RdmaTimeoutException(
              "the server was silent for %d ms, its device does not acknowledge a keep-alive"
                  .formatted(silent.toMillis()),
              atMost)); // The write is flushed, which ends all calls.
    }
    return true;
  }

  /** Ends all calls with a reason, or with that of the connection. */
  void endAll(@Nullable Throwable reason) {
    try (var _ = lock.hold()) {
      for (CallSlot slot : all) {
        RequestClient.Callback callback = slot.callback;
        if (callback != null) {
          failLater(slot, callback, reason);
        } else if (slot.isAwaited && slot.isDue) {
          slot.over(true);
          LockSupport.unpark(slot.waiter);
        }
      }
    }
    LockSupport.unpark(reader);
    reading.wakeAll();
  }

  /** The reason of the end may have to be waited for. */
  private void failLater(
      CallSlot slot, RequestClient.Callback callback, @Nullable Throwable reason) {
    forget(slot);
    Thread.ofVirtual()
        .name("end of a call over " + client)
        .start(
            () ->
                callback.failed(
                    reason == null || end.isKnown()
                        ? end.reason()
                        : reason instanceof RuntimeException e
                            ? e
                            : new IllegalStateException("answers cannot be read", reason)));
  }

  /**
   * Gives back the memory of requests whose answers do not arrive any more: the next connection has
   * the same pool.
   */
  void giveBackAll() {
    try (var _ = lock.hold()) {
      for (CallSlot slot : all) {
        if (slot.isDue) { // Otherwise its thread does.
          slots.giveBackOf(slot);
        }
      }
    }
  }

  /**
   * Runs an action when no other thread has an answer that it copies, and none reads completions,
   * or after a time.
   */
  void close(long nanos, Runnable action) {
    long end = Time.now() + nanos;
    while (isAwaited() && end - Time.now() > 0) {
      Time.park(this, PAUSE_NANOS);
    }
    reading.whenNobodyReads(end - Time.now(), action);
  }

  private boolean isAwaited() {
    try (var _ = lock.hold()) {
      return Arrays.stream(all).anyMatch(ClientCalls::isAwaitedByAnother);
    }
  }

  /** A callback may close the client, in a thread whose own call waits. */
  private static boolean isAwaitedByAnother(CallSlot slot) {
    return slot.isAwaited && !Thread.currentThread().equals(slot.waiter);
  }
}
