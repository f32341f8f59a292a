package dev.verbena.soft.transport;

import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.Slots;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A send queue: a ring of requests. Positions count all requests that the queue ever held, so that
 * {@code freed <= retired <= started <= posted}.
 */
public final class SendQueue implements Slots {
  private final SoftSendRequest[] ring;
  private final int capacity;
  private final int maxElements;
  public final int maxInline;
  public final int maxHeader;

  /** Whether it is that of an SRD queue pair: RDMA operations have at most one SGE. */
  private final boolean srd;

  private final boolean inlineWrites;

  /** For each slot inline data, and the header of a TSO request. */
  private final MemorySegment buffers;

  /** Held by the thread that posts, also from {@code ibv_wr_start} to {@code ibv_wr_complete}. */
  public final ReentrantLock posting = new ReentrantLock();

  /** The requests that are built between {@code ibv_wr_start} and {@code ibv_wr_complete}. */
  public int pending;

  public int pendingError;
  public @Nullable SoftSendRequest current;

  /** The number of requests that were posted; changed under the lock. */
  private volatile long posted;

  /** Requests that are done. */
  private volatile long retired;

  /** Requests whose slots are free: a completion of them or of a later request was polled. */
  private volatile long freed;

  /** Requests that the requester has begun. */
  long started;

  SendQueue(
      int capacity,
      int maxElements,
      int maxInline,
      int maxHeader,
      boolean srd,
      boolean inlineWrites) {
    ring = new SoftSendRequest[Math.max(1, capacity)];
    this.capacity = capacity;
    this.maxElements = maxElements;
    this.maxInline = maxInline;
    this.maxHeader = maxHeader;
    this.srd = srd;
    this.inlineWrites = inlineWrites;
    buffers =
        maxInline + maxHeader == 0
            ? MemorySegment.NULL
            : Arena.ofAuto().allocate((long) ring.length * (maxInline + maxHeader), Long.BYTES);
  }

  public int maxElements() {
    return maxElements;
  }

  /** Whether a request may have a number of SGEs. */
  public boolean takesElements(SoftSendRequest request, long count) {
    return count >= 0
        && count <= request.elements.capacity()
        && (!srd || request.isSend() || count <= 1);
  }

  /** Whether a request may have inline data. */
  public boolean takesInline(SoftSendRequest request) {
    return !srd || request.isSend() || (inlineWrites && request.isWrite());
  }

  /** Whether requests may have some flags. */
  public boolean takesFlags(int flags) {
    return !srd || (flags & ~(rdma_h.IBV_SEND_SIGNALED() | rdma_h.IBV_SEND_INLINE())) == 0;
  }

  int capacity() {
    return capacity;
  }

  public boolean isFull(int pending) {
    return posted + pending - freed >= capacity;
  }

  /** The slot of the next request, or of one of several that are to be posted at once. */
  public SoftSendRequest free(int pending) {
    int slot = (int) ((posted + pending) % ring.length);
    SoftSendRequest request = ring[slot];
    if (request == null) {
      long buffer = buffers.address() + (long) slot * (maxInline + maxHeader);
      request =
          new SoftSendRequest(
              maxElements, maxInline == 0 ? 0 : buffer, maxHeader == 0 ? 0 : buffer + maxInline);
      ring[slot] = request;
    }
    request.clear();
    return request;
  }

  /** Adds requests that were written to free slots. */
  @SuppressWarnings("NonAtomicVolatileUpdate")
  public void post(int count) {
    posted += count; // Only who holds the lock writes it.
  }

  SoftSendRequest at(long position) {
    return ring[(int) (position % ring.length)];
  }

  long posted() {
    return posted;
  }

  long retired() {
    return retired;
  }

  /** Whether all requests that were begun are done. */
  boolean isDrained() {
    return retired == started;
  }

  /** Whether all requests that were posted are done. */
  public boolean isEmpty() {
    return retired == posted;
  }

  /** Whether it is full of requests that are done, and none has a completion. */
  boolean isFullForEver() {
    long position = freed; // Another thread may poll.
    if (!isEmpty() || capacity == 0 || posted - position < capacity) {
      return false;
    }
    while (position < posted && !at(position).has(rdma_h.IBV_SEND_SIGNALED())) {
      position++;
    }
    return position == posted;
  }

  /**
   * Lets a request that was begun change places with the oldest one that is not done, so that it
   * can be retired before it.
   */
  void toFront(SoftSendRequest request) {
    SoftSendRequest oldest = at(retired);
    ring[(int) (request.position % ring.length)] = oldest;
    ring[(int) (retired % ring.length)] = request;
    oldest.position = request.position;
    request.position = retired;
  }

  @SuppressWarnings("NonAtomicVolatileUpdate")
  void retire() {
    retired++; // Only the network's lock holder writes it.
  }

  @Override
  public void free(long position) {
    freed = Math.max(freed, position + 1); // Under the lock of the completion queue.
  }

  /** Discards all requests. */
  void reset() {
    retired = posted;
    started = posted;
    freed = posted;
  }
}
