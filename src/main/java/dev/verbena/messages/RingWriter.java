package dev.verbena.messages;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.time.Spinning;
import dev.verbena.internal.time.Time;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.WorkRequestException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The writing end of a one-sided ring: writes messages by RDMA write to the memory of a {@link
 * RingReader}, whose processor does nothing for it.
 *
 * {@snippet :
 * RingWriter ring = RingWriter.allocate(domain, 1 << 20);
 * ring.attach(queuePair, completions, memory, Duration.ofSeconds(5));
 * while (!ring.offer(message)) {
 *   Thread.onSpinWait(); // The reader is behind.
 * }
 * ring.flush();
 * }
 *
 * <p>{@code offer} copies a message to a copy of the ring, {@code flush} posts all that were
 * offered: the more there are, the fewer requests each takes. The writer learns by RDMA read what
 * was read, and {@code offer} returns false while there is no room.
 *
 * <p><b>Replay.</b> If the queue pair fails, one call throws, and the messages that were offered
 * remain. Until the next {@link #attach}, {@code offer} takes messages as long as there is room,
 * then throws; {@code flush} and {@code awaitWritten} return false. {@code attach} with a new queue
 * pair writes again what the ring lacks, and the reader reads each message once. Close the queue
 * pair before, at the reader's end, too: what still arrives there would be older.
 *
 * <p>The writer polls the completion queue, which nothing else may use. {@code offer} and {@code
 * flush} allocate nothing. One thread at a time may use a writer; any thread may close it.
 */
public final class RingWriter implements AutoCloseable {
  /** The maximum number of flushes that have not completed, a power of two. */
  private static final int FLUSHES = 32;

  /** The requests of a flush: up to the end of the ring, from its beginning, and the counter. */
  private static final int REQUESTS = 3;

  /** In the identifier of a request: it reads how far the reader is. */
  private static final long READING = 1L << 31;

  private static final int GENERATION_SHIFT = 32;

  private final MemoryRegion copy;
  private final MemorySegment memory;
  private final long capacity;
  private final Completions completions = new Completions(FLUSHES);
  private final SendList writes = new SendList(REQUESTS, 1);
  private final SendList read = new SendList(1, 1);

  /** The counter that each flush that has not completed publishes. */
  private final long[] publishing = new long[FLUSHES];

  private @Nullable QueuePair queuePair;
  private @Nullable CompletionQueue queue;
  private @Nullable RemoteMemory ring;

  /** The number of calls of {@link #attach}: completions of an earlier queue pair do not count. */
  private long generation;

  /** The position from which the copy has messages; negative before a ring is attached. */
  private long oldest = -1;

  private int flushLimit;
  private int begun;
  private int completed;
  private boolean isReading;

  // Counters of bytes since the first message, in ascending order.
  private long consumed;
  private long written;
  private long flushed;
  private long offered;

  private RingWriter(MemoryRegion copy, long capacity) {
    this.copy = copy;
    this.memory = copy.memory();
    this.capacity = capacity;
  }

  /**
   * Allocates and registers the copy of a ring.
   *
   * @param domain the domain of the queue pairs
   * @param capacity the size of the ring in bytes, as the reader has it
   * @return the writer, to be closed by the caller
   * @throws IllegalArgumentException if the capacity is not a power of two from 64 bytes to 1 GiB
   */
  public static RingWriter allocate(ProtectionDomain domain, long capacity) {
    long counters = (long) FLUSHES * Long.BYTES;
    return new RingWriter(
        RingLayout.allocate(domain, capacity, counters, AccessFlag.LOCAL_WRITE), capacity);
  }

  /**
   * Uses a queue pair from now on, and writes what the ring lacks. The first call of a writer
   * continues a ring to which another writer has written, unless a message was offered before.
   *
   * @param queuePair a connected queue pair of type RC that nothing else posts to, with room for at
   *     least 4 send requests
   * @param completions the completion queue of its send requests, which nothing else polls, with at
   *     least 4 entries
   * @param ring the memory of the reader
   * @param timeout the maximum time to wait for the answer of the peer's device
   * @throws IllegalArgumentException if the ring has another capacity, or the queue pair is not of
   *     type RC, is too small, as is the completion queue, or is of another domain
   * @throws RingException if the ring continues at a position that this writer has not reached, or
   *     no longer has
   * @throws WorkRequestException if the ring cannot be read
   * @throws RdmaTimeoutException if the timeout elapses
   * @throws InterruptedException if the thread is interrupted
   */
  public void attach(
      QueuePair queuePair, CompletionQueue completions, RemoteMemory ring, Duration timeout)
      throws InterruptedException {
    if (ring.length() != RingLayout.DATA + capacity) {
      throw new IllegalArgumentException(
          "%s is not a ring of %d bytes (RingReader.memory)".formatted(ring, capacity));
    }
    if (queuePair.type() != QueuePairType.RC) {
      throw new IllegalArgumentException(
          "a ring needs a queue pair of type RC, whose writes are executed in order: " + queuePair);
    }
    if (!copy.domain().isOneWith(queuePair.domain())) {
      throw new IllegalArgumentException(
          "%s is of another protection domain than %s; RDMA CM creates queue pairs in a domain of its own, or in one of a context of Contexts.list()"
              .formatted(queuePair, this));
    }
    Core.requireSame(queuePair.context(), completions, completions.context());
    // All requests of a queue pair that fails have completions.
    int room = Math.min(queuePair.capacity().sendRequests(), completions.capacity());
    int flushes = Math.min(FLUSHES, (room - 1) / REQUESTS);
    if (flushes < 1) {
      throw new IllegalArgumentException(
          "a ring needs room for %d send requests and their completions: %s, %s"
              .formatted(REQUESTS + 1, queuePair, completions));
    }
    Deadline deadline = Deadline.after(timeout);
    long start = Time.now();
    long limit = deadline.remainingNanos();
    detach();
    flushLimit = flushes;
    begun = 0;
    completed = 0;
    this.queue = completions;
    this.ring = ring;
    prepare(ring);
    read.local(0, copy, RingLayout.PUBLISHED, RingLayout.CONSUMED + Long.BYTES);
    read.remote(0, ring.address() + RingLayout.PUBLISHED, ring.rkey());
    boolean isPosted = false;
    while (isReading || !isPosted) {
      if (!isPosted) { // The queue may be full of requests of an earlier attachment.
        isPosted = queuePair.post(read) == 1;
        isReading = isPosted;
      }
      take(completions);
      if ((isReading || !isPosted) && !Spinning.isTimeLeft(start, limit)) {
        throw deadline.missedBy("attaching to a ring by " + queuePair);
      }
    }
    resume(memory.get(ValueLayout.JAVA_LONG, RingLayout.PUBLISHED));
    read.local(0, copy, RingLayout.CONSUMED, Long.BYTES);
    read.remote(0, ring.address() + RingLayout.CONSUMED, ring.rkey());
    this.queuePair = queuePair;
    flush();
  }

  private void prepare(RemoteMemory ring) {
    for (int i = 0; i < REQUESTS; i++) {
      writes.write(i);
      writes.id(i, generation << GENERATION_SHIFT); // If it fails, it has a completion, too.
      writes.unsignaled(i);
    }
    writes.signaled(REQUESTS - 1);
    writes.remote(REQUESTS - 1, ring.address() + RingLayout.PUBLISHED, ring.rkey());
    read.read(0).id(generation << GENERATION_SHIFT | READING).signaled();
  }

  /** Continues after what is in the ring. */
  private void resume(long published) {
    boolean isFirst = oldest < 0;
    boolean isAnothers = isFirst && offered == 0;
    long least = Math.max(Math.max(oldest, 0), offered - capacity);
    long most = isAnothers ? RingLayout.LAST_START : isFirst ? 0 : offered;
    if (published < least || published > most || published % Long.BYTES != 0) {
      throw new RingException(
          "%s continues at %d, this writer has messages from %d to %d"
              .formatted(ring, published, least, offered));
    }
    learn(Math.min(consumed, published), published);
    oldest = isFirst ? published : oldest;
    offered = isAnothers ? published : offered;
    flushed = published;
    written = published;
  }

  /** Takes how far the reader is from what was read. */
  private void learn(long before, long end) {
    long now = memory.get(ValueLayout.JAVA_LONG, RingLayout.CONSUMED);
    if (now < before || now > end) {
      detach();
      throw new RingException(
          "the reader of %s has read %d bytes of %d, and %d before"
              .formatted(ring, now, end, before));
    }
    consumed = now;
  }

  /** Uses the queue pair no longer. */
  private void detach() {
    queuePair = null;
    generation++;
  }

  /** {@return the maximum length of a message in bytes: half the capacity without 8 bytes} */
  public long longestMessage() {
    return RingLayout.longest(capacity);
  }

  /**
   * Offers a message; {@link #flush} writes it.
   *
   * @param message the bytes, in native or heap memory, at most {@link #longestMessage}; they are
   *     copied
   * @return false if there is no room, since the reader or the device is behind; nothing was
   *     offered
   * @throws IllegalArgumentException if the message is too long
   * @throws WorkRequestException if the queue pair has failed; nothing was offered
   * @throws RingException if the peer has written what is not a ring's; nothing was offered
   * @throws IllegalStateException if the writer is closed; or if there is no room, and no queue
   *     pair is attached, or it has failed before
   */
  public boolean offer(MemorySegment message) {
    return offer(message, 0, message.byteSize());
  }

  /**
   * Offers a message; {@link #flush} writes it.
   *
   * @param source memory with the bytes, which are copied
   * @param offset where the message begins
   * @param length its length in bytes, at most {@link #longestMessage}
   * @return false if there is no room, since the reader or the device is behind; nothing was
   *     offered
   * @throws IllegalArgumentException if the message is too long
   * @throws IndexOutOfBoundsException if the message is not inside the source
   * @throws WorkRequestException if the queue pair has failed; nothing was offered
   * @throws RingException if the peer has written what is not a ring's; nothing was offered
   * @throws IllegalStateException if the writer is closed; or if there is no room, and no queue
   *     pair is attached, or it has failed before
   */
  public boolean offer(MemorySegment source, long offset, long length) {
    if (length > longestMessage()) {
      throw new IllegalArgumentException(
          "message of %d bytes exceeds half of the ring, %d bytes: %s"
              .formatted(length, longestMessage(), this));
    }
    if ((offset | length) < 0 || length > source.byteSize() - offset) {
      throw new IndexOutOfBoundsException(
          "%d bytes at offset %d are not inside the source of %d bytes"
              .formatted(length, offset, source.byteSize()));
    }
    long at = offered & (capacity - 1);
    long size = RingLayout.sizeOf(length);
    long padding = size > capacity - at ? capacity - at : 0;
    if (!hasRoom(padding + size)) {
      return false;
    }
    long start = RingLayout.DATA + (padding > 0 ? 0 : at);
    try {
      MemorySegment target = copy.memory();
      // If the source is closed, this throws before the copy of older messages has changed.
      MemorySegment.copy(source, offset, target, start + RingLayout.HEADER, length);
      if (padding > 0) {
        target.set(RingLayout.LENGTH, RingLayout.DATA + at, RingLayout.PADDING);
      }
      target.set(RingLayout.LENGTH, start, (int) length);
    } catch (IllegalStateException e) {
      throw RingLayout.explained(e, copy, this);
    }
    offered += padding + size;
    return true;
  }

  /** What the reader has read is free once the device no longer reads this copy. */
  private long free() {
    return capacity - (offered - Math.min(consumed, written));
  }

  private boolean hasRoom(long size) {
    if (free() >= size) {
      return true;
    }
    flush(size);
    if (free() < size && queuePair == null) { // Else a loop that waits for room would not end.
      throw new IllegalStateException(
          this + " is full, and has no queue pair that works: attach another one");
    }
    return free() >= size;
  }

  /**
   * Writes all messages that were offered, unless {@code 32} flushes, or as many as the send queue
   * holds, have not completed. Does not wait.
   *
   * @return whether all were posted; false if another call is necessary, or one of {@link #attach}
   * @throws WorkRequestException if the queue pair has failed
   * @throws RingException if the peer has written what is not a ring's
   * @throws IllegalStateException if the writer is closed
   */
  public boolean flush() {
    return flush(capacity / 2 + 1);
  }

  /** Reads how far the reader is if less is free than is wanted. */
  private boolean flush(long wanted) {
    QueuePair pair = queuePair;
    CompletionQueue ownQueue = queue;
    try {
      MemorySegment _ = copy.memory(); // Throws if it is closed.
      if (pair == null || ownQueue == null) {
        return written == offered;
      }
      take(ownQueue);
      if (!isReading && free() < wanted && consumed < flushed) {
        isReading = pair.post(read) == 1;
      }
      return flushed == offered || (begun - completed < flushLimit && post(pair));
    } catch (IllegalStateException e) {
      throw RingLayout.explained(e, copy, this);
    }
  }

  private boolean post(QueuePair pair) {
    RemoteMemory target = ring;
    long from = flushed & (capacity - 1);
    long size = offered - flushed;
    long first = Math.min(size, capacity - from);
    boolean wraps = first < size;
    if (wraps) {
      piece(0, target, from, first);
      piece(1, target, 0, size - first);
    } else {
      piece(1, target, from, size);
    }
    int slot = begun & (FLUSHES - 1);
    long counter = RingLayout.DATA + capacity + (long) slot * Long.BYTES;
    memory.set(ValueLayout.JAVA_LONG, counter, offered);
    writes.local(REQUESTS - 1, copy, counter, Long.BYTES);
    int count = wraps ? REQUESTS : REQUESTS - 1;
    if (pair.post(writes, REQUESTS - count, count) < count) {
      return false; // Data without its counter is written again.
    }
    publishing[slot] = offered;
    flushed = offered;
    begun++;
    return true;
  }

  private void piece(int request, RemoteMemory target, long from, long size) {
    writes.local(request, copy, RingLayout.DATA + from, size);
    writes.remote(request, target.address() + RingLayout.DATA + from, target.rkey());
  }

  private void take(CompletionQueue from) {
    int count = from.poll(completions);
    for (int i = 0; i < count; i++) {
      long id = completions.id(i);
      if (id >>> GENERATION_SHIFT != generation) {
        continue;
      }
      if (!completions.isSuccess(i)) {
        detach();
        throw new WorkRequestException(
            "writing to a ring after position " + written, completions, i);
      }
      if ((id & READING) != 0) {
        isReading = false;
        if (queuePair != null) {
          learn(consumed, flushed);
        }
      } else {
        written = publishing[completed & (FLUSHES - 1)];
        completed++;
      }
    }
  }

  /**
   * Waits until the device of the reader has acknowledged all messages that were offered. They are
   * in its memory then, or soon.
   *
   * @param timeout the maximum time to wait
   * @return whether they are; false if the timeout elapsed, or the queue pair has failed before
   * @throws WorkRequestException if the queue pair fails
   * @throws InterruptedException if the thread is interrupted
   */
  public boolean awaitWritten(Duration timeout) throws InterruptedException {
    long start = Time.now();
    long limit = Deadline.after(timeout).remainingNanos();
    flush();
    while (written != offered) {
      if (queuePair == null || !Spinning.isTimeLeft(start, limit)) {
        return false;
      }
      flush();
    }
    return true;
  }

  /** {@return the number of bytes that were offered, as {@link RingReader#position} counts them} */
  public long position() {
    return offered;
  }

  /**
   * Returns what the reader has read, as far as is known: what it has read meanwhile is known to a
   * later call. Flushes, and asks the memory of the reader; does not wait.
   *
   * @return a number of bytes, as {@link RingReader#position} counts them; 0 before a ring is
   *     attached
   * @throws WorkRequestException if the queue pair has failed
   * @throws RingException if the peer has written what is not a ring's
   * @throws IllegalStateException if the writer is closed
   */
  public long readerPosition() {
    boolean _ = flush(Long.MAX_VALUE);
    return consumed;
  }

  /** Deregisters and frees the copy of the ring. */
  @Override
  public void close() {
    copy.close();
  }

  @Override
  public String toString() {
    return "writer of a ring of %d bytes from %s".formatted(capacity, copy);
  }
}
