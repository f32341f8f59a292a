package dev.verbena.messages;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.internal.MessageCounter;
import dev.verbena.internal.Tally;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The free slots of a client and its memory for copies, with the threads that wait for them. Any
 * thread may call any method.
 */
final class CallSlots {
  /** The shortest wait for completions while another thread may free a slot. */
  private static final long SOON_NANOS = 200_000;

  private final String client;
  private final ClientEnd end;
  private final RegionPool pool;
  private final SharedReading reading;
  private final IntSupplier due;
  private final CallSlot[] slots;
  private final Tally tally;
  private final BooleanSupplier mayAcquire = this::mayAcquire;
  private final ScopedLock lock = new ScopedLock();

  // Guarded by the lock.
  private final int[] free;
  private int freeCount;

  /** The threads that wait for slots, and those that wait for memory. */
  private final Queue<Thread> forSlots = new ConcurrentLinkedQueue<>();

  private final Queue<Thread> forMemory = new ConcurrentLinkedQueue<>();

  /**
   * Creates slots that are all free.
   *
   * @param due the number of slots whose answers have not arrived
   */
  CallSlots(
      String client,
      ClientEnd end,
      RegionPool pool,
      SharedReading reading,
      CallSlot[] slots,
      IntSupplier due,
      Tally tally) {
    this.client = client;
    this.end = end;
    this.pool = pool;
    this.reading = reading;
    this.slots = slots;
    this.due = due;
    this.tally = tally;
    free = new int[slots.length];
    while (freeCount < free.length) {
      free[freeCount] = free.length - 1 - freeCount;
      freeCount++;
    }
  }

  /** Takes a free slot, after waiting for one. */
  CallSlot acquire(long start, Duration timeout) throws InterruptedException {
    long nanos = ClientCalls.nanos(timeout);
    while (true) {
      end.requireNone();
      CallSlot slot = tryAcquire();
      if (slot != null) {
        slot.timeout = timeout;
        return slot;
      }
      if (!await(forSlots, mayAcquire, nanos - (Time.now() - start))) {
        throw new RdmaTimeoutException(
            slots.length + " requests are under way over " + client + ", the limit", timeout);
      }
    }
  }

  private @Nullable CallSlot tryAcquire() {
    try (var _ = lock.hold()) {
      if (freeCount > 0) {
        return slots[free[--freeCount]];
      }
      tally.add(MessageCounter.CLIENT_WAITS, 1);
      return null;
    }
  }

  private boolean mayAcquire() {
    try (var _ = lock.hold()) {
      return end.isKnown() || freeCount > 0;
    }
  }

  /**
   * Returns how long a thread that reads waits for completions before it looks again: a part of the
   * time that it has waited, if another thread has a slot whose answer has arrived.
   */
  private long slice(long start) {
    return taken() == due.getAsInt()
        ? SharedReading.SLICE_NANOS
        : Math.clamp((Time.now() - start) / 4, SOON_NANOS, SharedReading.SLICE_NANOS);
  }

  private int taken() {
    try (var _ = lock.hold()) {
      return slots.length - freeCount;
    }
  }

  /**
   * Takes memory of the pool for a request, its answer or both at once, after waiting for it: calls
   * that have half of theirs would wait for each other.
   *
   * @param request the bytes for the request; 0 for none
   * @param answer the bytes for the answer; 0 for none
   * @throws IllegalArgumentException if there is never so much
   */
  void take(CallSlot slot, long request, long answer, long start) throws InterruptedException {
    long most = pool.most();
    if (request > most || answer > most || sizeOf(request) + sizeOf(answer) > most) {
      throw new IllegalArgumentException(
          "%d bytes for a request and %d for an answer exceed the %d bytes that %s has for copies (ConnectionSettings.withCopies); register the memory"
              .formatted(request, answer, most, client));
    }
    if (tryTake(slot, request, answer)) {
      return;
    }
    long left = ClientCalls.nanos(slot.timeout) - (Time.now() - start);
    if (!await(forMemory, () -> end.isKnown() || tryTake(slot, request, answer), left)) {
      throw new RdmaTimeoutException(
          "other calls over " + client + " have the memory for copies", slot.timeout);
    }
    end.requireNone();
  }

  /** Waits among other threads, of which {@link #free} wakes the first. */
  private boolean await(Queue<Thread> waiting, BooleanSupplier holds, long nanos)
      throws InterruptedException {
    long start = Time.now();
    waiting.add(Thread.currentThread());
    try {
      return reading.await(holds, nanos, () -> slice(start));
    } finally {
      boolean _ = waiting.remove(Thread.currentThread());
      LockSupport.unpark(waiting.peek()); // There may be enough for it, too.
    }
  }

  private static long sizeOf(long length) {
    return length == 0 ? 0 : RegionPool.sizeOf(length);
  }

  private boolean tryTake(CallSlot slot, long request, long answer) {
    MemoryRegion copied = request == 0 ? null : pool.take(request);
    if (request > 0 && copied == null) {
      return false;
    }
    slot.copied = copied;
    MemoryRegion target = answer == 0 ? null : pool.take(answer);
    if (answer > 0 && target == null) {
      if (copied != null) {
        pool.give(copied); // Without waking a thread, which may be this one.
        slot.copied = null;
      }
      return false;
    }
    if (target != null) {
      slot.answer.expect(slot.timeout, target, 0, answer, true);
      slot.room = RemoteMemory.at(RemoteMemory.of(target).address(), answer, target.rkey());
    }
    return true;
  }

  /** Frees a slot whose request is not sent, or answered, and gives back its memory. */
  void free(CallSlot slot) {
    giveBackOf(slot);
    slot.large = null;
    slot.room = null;
    try (var _ = lock.hold()) {
      free[freeCount++] = slot.index;
    }
    LockSupport.unpark(forSlots.peek());
  }

  /** Gives back the memory of a slot. */
  void giveBackOf(CallSlot slot) {
    giveBack(slot.answer.takePooled());
    giveBack(slot.copied);
    slot.copied = null;
  }

  /** Gives back memory, if there is some. */
  void giveBack(@Nullable MemoryRegion region) {
    if (region != null) {
      pool.give(region);
      LockSupport.unpark(forMemory.peek());
    }
  }
}
