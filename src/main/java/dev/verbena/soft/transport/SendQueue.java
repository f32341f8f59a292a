package dev.verbena.soft.transport;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A send queue: a ring of requests. Positions count all requests that the queue ever held, so that
 * {@code retired <= started <= posted}.
 */
public final class SendQueue {
  private final SendRequest[] ring;
  private final int capacity;
  private final int maxElements;
  public final int maxInline;
  public final int maxHeader;

  /** For each slot inline data, and the header of a TSO request. */
  private final MemorySegment buffers;

  /** Held by the thread that posts, also from {@code ibv_wr_start} to {@code ibv_wr_complete}. */
  public final ReentrantLock posting = new ReentrantLock();

  /** The requests that are built between {@code ibv_wr_start} and {@code ibv_wr_complete}. */
  public int pending;

  public int pendingError;
  public SendRequest current;

  /** The number of requests that were posted; changed under the lock. */
  private volatile long posted;

  /** Requests that are done. */
  private volatile long retired;

  /** Requests that the requester has begun. */
  long started;

  SendQueue(int capacity, int maxElements, int maxInline, int maxHeader) {
    ring = new SendRequest[Math.max(1, capacity)];
    this.capacity = capacity;
    this.maxElements = maxElements;
    this.maxInline = maxInline;
    this.maxHeader = maxHeader;
    buffers =
        maxInline + maxHeader == 0
            ? MemorySegment.NULL
            : Arena.ofAuto().allocate((long) ring.length * (maxInline + maxHeader), Long.BYTES);
  }

  public int maxElements() {
    return maxElements;
  }

  int capacity() {
    return capacity;
  }

  public boolean isFull(int pending) {
    return posted + pending - retired >= capacity;
  }

  /** The slot of the next request, or of one of several that are to be posted at once. */
  public SendRequest free(int pending) {
    int slot = (int) ((posted + pending) % ring.length);
    SendRequest request = ring[slot];
    if (request == null) {
      long buffer = buffers.address() + (long) slot * (maxInline + maxHeader);
      request =
          new SendRequest(
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

  SendRequest at(long position) {
    return ring[(int) (position % ring.length)];
  }

  long posted() {
    return posted;
  }

  long retired() {
    return retired;
  }

  boolean isEmpty() {
    return retired == posted;
  }

  @SuppressWarnings("NonAtomicVolatileUpdate")
  void retire() {
    retired++; // Only the network's lock holder writes it.
  }

  /** Discards all requests. */
  void reset() {
    retired = posted;
    started = posted;
  }
}
