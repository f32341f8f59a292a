package dev.verbena.messages;

import dev.verbena.internal.Ranges;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.PolledMemory;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;

/**
 * The reading end of a one-sided ring: memory into which the {@link RingWriter} of a peer writes
 * messages by RDMA write. The reader polls its memory; it has no receive requests and no
 * completions, and posts nothing.
 *
 * {@snippet :
 * try (RingReader ring = RingReader.allocate(domain, 1 << 20)) {
 *   send(ring.memory().toBytes()); // to the writer, for example as private data
 *   while (isOpen()) {
 *     if (ring.await(Duration.ofSeconds(1))) {
 *       ring.poll((memory, offset, length) -> handle(memory, offset, length), 100);
 *     }
 *   }
 * }
 * }
 *
 * <p>Messages arrive in order, once each, and whole. A message that is there has arrived
 * completely: the writer increases a counter by a second RDMA write of its queue pair, after the
 * data. The writer learns by RDMA read what was read here, and does not overwrite what was not.
 *
 * <p>The peer is not believed: lengths and counters outside the ring are a {@link RingException}. A
 * peer that does not keep to the protocol can still change a message while a handler reads it: a
 * handler that checks a value copies it before.
 *
 * <p>{@link #poll} allocates nothing. One thread at a time may use a reader; any thread may close
 * it.
 */
public final class RingReader implements AutoCloseable {
  private final MemoryRegion region;
  private final MemorySegment memory;
  private final PolledMemory counters;
  private final long capacity;
  private long position;

  private RingReader(MemoryRegion region, long capacity, long position) {
    this.region = region;
    this.memory = region.memory().asReadOnly();
    this.counters = new PolledMemory(region);
    this.capacity = capacity;
    this.position = position;
    counters.putLongRelease(RingLayout.PUBLISHED, position);
    counters.putLongRelease(RingLayout.CONSUMED, position);
  }

  /** What is done with a message. */
  @FunctionalInterface
  public interface Handler {
    /**
     * Handles a message. If this throws an exception, the message is read again by the next poll.
     *
     * @param memory the memory of the ring, read-only
     * @param offset where the message begins, a multiple of 8
     * @param length the length of the message in bytes
     */
    void onMessage(MemorySegment memory, long offset, int length);
  }

  /**
   * Allocates and registers an empty ring.
   *
   * @param domain the domain of the queue pair through which the writer writes
   * @param capacity the size in bytes, a power of two; a message takes its length, rounded up to a
   *     multiple of 8, and 8 bytes
   * @return the ring, to be closed by the caller
   * @throws IllegalArgumentException if the capacity is not a power of two from 64 bytes to 1 GiB
   */
  public static RingReader allocate(ProtectionDomain domain, long capacity) {
    return allocate(domain, capacity, 0);
  }

  /**
   * Allocates and registers a ring that continues another one which was lost: the writer writes
   * again what follows a position, if it still has it.
   *
   * @param domain the domain of the queue pair through which the writer writes
   * @param capacity the size in bytes, as before
   * @param position the {@link #position} after the last message that was handled
   * @return the ring, to be closed by the caller
   * @throws IllegalArgumentException if the capacity is not a power of two from 64 bytes to 1 GiB,
   *     or the position is negative, not a multiple of 8, or exceeds 2<sup>62</sup>
   */
  public static RingReader allocate(ProtectionDomain domain, long capacity, long position) {
    if (position < 0 || position > RingLayout.LAST_START || position % Long.BYTES != 0) {
      throw new IllegalArgumentException(
          "a position must be a multiple of 8, from 0 to 2^62: " + position);
    }
    MemoryRegion region =
        RingLayout.allocate(
            domain,
            capacity,
            0,
            AccessFlag.LOCAL_WRITE,
            AccessFlag.REMOTE_WRITE,
            AccessFlag.REMOTE_READ);
    return new RingReader(region, capacity, position);
  }

  /** {@return the memory of the ring, for {@link RingWriter#attach}} */
  public RemoteMemory memory() {
    return RemoteMemory.of(region);
  }

  /**
   * Handles the messages that are there.
   *
   * @param handler what is done with each
   * @param limit the maximum number of messages
   * @return the number of messages that were handled
   * @throws IllegalArgumentException if the limit is not positive
   * @throws RingException if the peer has written what is not a ring's; no message after that can
   *     be read
   * @throws IllegalStateException if the reader is closed
   */
  public int poll(Handler handler, int limit) {
    Objects.requireNonNull(handler, "handler");
    Ranges.positive(limit, "limit");
    long next = position;
    int count = 0;
    try {
      long published = published();
      while (count < limit && next != published) {
        long at = next & (capacity - 1);
        int length = memory.get(RingLayout.LENGTH, RingLayout.DATA + at);
        boolean isPadding = length == RingLayout.PADDING;
        long size = isPadding ? capacity - at : RingLayout.sizeOf(length);
        if ((length < 0 && !isPadding) || size > capacity - at || size > published - next) {
          throw new RingException(
              "the writer has written a message of %d bytes at offset %d of %s, where %d bytes have arrived"
                  .formatted(length, at, this, published - next));
        }
        if (!isPadding) {
          handler.onMessage(memory, RingLayout.DATA + at + RingLayout.HEADER, length);
          count++;
        }
        next += size;
      }
    } catch (IllegalStateException e) {
      throw RingLayout.explained(e, region, this);
    } finally {
      advance(next);
    }
    return count;
  }

  private void advance(long next) {
    if (next != position) {
      position = next;
      try {
        counters.putLongRelease(RingLayout.CONSUMED, next);
      } catch (IllegalStateException e) {
        throw RingLayout.explained(e, region, this);
      }
    }
  }

  private long published() {
    long published = counters.getLongAcquire(RingLayout.PUBLISHED);
    long unread = published - position;
    if (unread < 0 || unread > capacity || published % Long.BYTES != 0) {
      throw new RingException(
          "the writer has published %d bytes of %s, of which %d were read"
              .formatted(published, this, position));
    }
    return published;
  }

  /**
   * Waits until a message is there: polls, and after some time lets other threads run.
   *
   * @param timeout the maximum time to wait
   * @return whether a message is there; false if the timeout elapsed
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the reader is closed, also during the wait
   */
  public boolean await(Duration timeout) throws InterruptedException {
    try {
      return counters.awaitChange(RingLayout.PUBLISHED, position, timeout);
    } catch (IllegalStateException e) {
      throw RingLayout.explained(e, region, this);
    }
  }

  /** {@return the number of bytes that were read, counted from the first message of the writer} */
  public long position() {
    return position;
  }

  /** Deregisters and frees the memory: the peer can no longer write to it. */
  @Override
  public void close() {
    region.close();
  }

  @Override
  public String toString() {
    return "ring of %d bytes in %s".formatted(capacity, region);
  }
}
